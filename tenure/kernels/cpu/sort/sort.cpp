#include "tenure/kernels/cpu/sort/sort.h"

#include <algorithm>

#include "tenure/kernels/cpu/index/loop.h"
#include "tenure/kernels/cpu/sort/keys.h"
#include "tenure/kernels/cpu/sort/radix.h"
#include "tenure/kernels/cpu/sort/scratch.h"

namespace tenure::kernels {
namespace {

using namespace sort;
using index::at_least_1d;
using index::make_loop;

/// Sorts the elements alone. `flip` is xored into the keys and so reverses their order.
template <class K, class U = typename K::U>
void sort_values(const K& order, Row<U> in, std::int64_t n, U flip, Row<U> out,
                 std::byte* scratch) {
  U* keys = reinterpret_cast<U*>(scratch);
  bool lossy = false;
  for (std::int64_t i = 0; i < n; ++i) {
    const U bits = in[i];
    lossy |= order.loses(bits);
    keys[i] = static_cast<U>(order.encode(bits) ^ flip);
  }
  U* sorted = radix_sort(keys, keys + n, n);
  U* zeros = std::lower_bound(sorted, sorted + n, static_cast<U>(order.kZero ^ flip));
  U* nans = std::lower_bound(sorted, sorted + n, static_cast<U>(order.kNan ^ flip));
  for (std::int64_t i = 0; i < n; ++i) sorted[i] = order.decode(static_cast<U>(sorted[i] ^ flip));
  // The signs of zeros and the bits of NaN are lost in the keys. In the result they stand in the
  // order of the input.
  for (std::int64_t i = 0; lossy && i < n; ++i) {
    const U bits = in[i];
    if (order.encode(bits) == order.kZero) *zeros++ = bits;
    if (order.encode(bits) == order.kNan) *nans++ = bits;
  }
  for (std::int64_t i = 0; i < n; ++i) out.set(i, sorted[i]);
}

/// Sorts the elements with their places. `values` may be null, and may be the input.
template <class I, class K, class U = typename K::U>
void sort_pairs(const K& order, Row<U> in, std::int64_t n, U flip, const Row<U>* values,
                Row<std::int64_t> indices, std::byte* scratch) {
  using Item = Keyed<U, I>;
  Item* items = reinterpret_cast<Item*>(scratch);
  for (std::int64_t i = 0; i < n; ++i) {
    items[i] = {static_cast<U>(order.encode(in[i]) ^ flip), static_cast<I>(i)};
  }
  const Item* sorted = items = radix_sort(items, items + n, n);
  for (std::int64_t i = 0; i < n; ++i) indices.set(i, static_cast<std::int64_t>(sorted[i].index));
  if (values == nullptr) return;
  // Read all before the first is written: the output may be the input.
  for (std::int64_t i = 0; i < n; ++i) {
    items[i].key = in[static_cast<std::int64_t>(sorted[i].index)];
  }
  for (std::int64_t i = 0; i < n; ++i) values->set(i, sorted[i].key);
}

bool wide_places(std::int64_t n) { return n > std::int64_t{UINT32_MAX}; }

std::size_t row_bytes(DType dtype, std::int64_t n, bool with_indices) {
  const std::size_t key = size_of(dtype);
  const std::size_t place = wide_places(n) ? 8 : 4;
  const std::size_t item = with_indices ? 2 * std::max(key, place) : key;
  return 2 * static_cast<std::size_t>(n) * item;
}

}  // namespace

std::size_t sort_workspace(const View& view, int axis, bool with_indices) {
  const View in = at_least_1d(view);
  const std::int64_t n = in.shape[axis];
  if (in.count() == 0) return 0;
  return scratch_bytes(in.count() / n, row_bytes(in.dtype, n, with_indices));
}

void sort_axis(const View& view, int axis, Order order, const View* values, const View* indices,
               std::span<std::byte> workspace) {
  const View in = at_least_1d(view);
  if (in.count() == 0) return;
  const View out = at_least_1d(values != nullptr ? *values : view);
  const View places = at_least_1d(indices != nullptr ? *indices : view);
  internal_check(indices == nullptr || indices->dtype == int64, "indices of int64");
  const std::int64_t n = in.shape[axis];

  Shape others = in.shape;
  others[axis] = 1;
  const auto loop = make_loop(others, in.strides, out.strides, places.strides);
  const std::size_t bytes = row_bytes(in.dtype, n, indices != nullptr);
  for_rows(loop.count(), n, bytes, workspace, [&](auto begin, auto end, std::byte* scratch) {
    loop.each(begin, end, [&](const auto& at) {
      visit_keys(in.dtype, [&]<class K>(const K& keys) {
        using U = typename K::U;
        const U flip = order == Order::descending ? static_cast<U>(~U{0}) : U{0};
        const auto from = row_at<U>(in, at[0], axis);
        const auto to = row_at<U>(out, at[1], axis);
        if (indices == nullptr) {
          if (values != nullptr) sort_values(keys, from, n, flip, to, scratch);
          return;
        }
        const Row<U>* wanted = values != nullptr ? &to : nullptr;
        const auto place = row_at<std::int64_t>(places, at[2], axis);
        if (wide_places(n)) {
          sort_pairs<std::uint64_t>(keys, from, n, flip, wanted, place, scratch);
        } else {
          sort_pairs<std::uint32_t>(keys, from, n, flip, wanted, place, scratch);
        }
      });
    });
  });
}

}  // namespace tenure::kernels
