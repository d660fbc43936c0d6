#include <algorithm>

#include "tenure/kernels/cpu/index/loop.h"
#include "tenure/kernels/cpu/sort/keys.h"
#include "tenure/kernels/cpu/sort/radix.h"
#include "tenure/kernels/cpu/sort/scratch.h"
#include "tenure/kernels/cpu/sort/sort.h"

namespace tenure::kernels {
namespace {

using namespace sort;
using index::at_least_1d;
using index::make_loop;

template <class U>
using Item = Keyed<U, std::uint64_t>;

/// Whether to keep the best k in a heap while reading, rather than to sort everything.
bool use_heap(std::int64_t n, std::int64_t k) { return k <= n / 16 || n <= 64; }

std::size_t row_bytes(std::int64_t n, std::int64_t k) {
  // Items are of one size: the place is not smaller than any key.
  return sizeof(Item<std::uint64_t>) * static_cast<std::size_t>(use_heap(n, k) ? k : 2 * n);
}

/// The k items of least key, in order; of equal keys the first. Returns where in `scratch`.
template <class K, class U = typename K::U>
const Item<U>* select(const K& order, Row<U> in, std::int64_t n, std::int64_t k, U flip,
                      std::byte* scratch) {
  auto* items = reinterpret_cast<Item<U>*>(scratch);
  const auto item = [&](std::int64_t i) {
    return Item<U>{static_cast<U>(order.encode(in[i]) ^ flip), static_cast<std::uint64_t>(i)};
  };
  if (!use_heap(n, k)) {
    for (std::int64_t i = 0; i < n; ++i) items[i] = item(i);
    return radix_sort(items, items + n, n);
  }
  const auto better = [](const Item<U>& a, const Item<U>& b) {
    return a.key != b.key ? a.key < b.key : a.index < b.index;
  };
  for (std::int64_t i = 0; i < k; ++i) items[i] = item(i);
  std::make_heap(items, items + k, better);
  for (std::int64_t i = k; i < n; ++i) {
    const Item<U> next = item(i);
    if (next.key >= items[0].key) continue;  // A later equal is not better.
    std::pop_heap(items, items + k, better);
    items[k - 1] = next;
    std::push_heap(items, items + k, better);
  }
  std::sort_heap(items, items + k, better);
  return items;
}

}  // namespace

std::size_t topk_workspace(const View& view, int axis, std::int64_t k) {
  const View in = at_least_1d(view);
  const std::int64_t n = in.shape[axis];
  if (in.count() == 0 || k == 0) return 0;
  return scratch_bytes(in.count() / n, row_bytes(n, k));
}

void topk(const View& view, int axis, std::int64_t k, bool largest, const View& value_view,
          const View& index_view, std::span<std::byte> workspace) {
  const View in = at_least_1d(view);
  const View values = at_least_1d(value_view);
  const View indices = at_least_1d(index_view);
  const std::int64_t n = in.shape[axis];
  internal_check(k >= 0 && k <= n, "k in [0, size of the axis]");
  internal_check(indices.dtype == int64, "indices of int64");
  if (in.count() == 0 || k == 0) return;

  Shape others = in.shape;
  others[axis] = 1;
  const auto loop = make_loop(others, in.strides, values.strides, indices.strides);
  const std::size_t bytes = row_bytes(n, k);
  for_rows(loop.count(), n, bytes, workspace, [&](auto begin, auto end, std::byte* scratch) {
    loop.each(begin, end, [&](const auto& at) {
      const auto place = row_at<std::int64_t>(indices, at[2], axis);
      visit_keys(in.dtype, [&]<class K>(const K& keys) {
        using U = typename K::U;
        const U flip = largest ? static_cast<U>(~U{0}) : U{0};
        const auto from = row_at<U>(in, at[0], axis);
        const auto value = row_at<U>(values, at[1], axis);
        const Item<U>* best = select(keys, from, n, k, flip, scratch);
        for (std::int64_t i = 0; i < k; ++i) {
          const auto index = static_cast<std::int64_t>(best[i].index);
          value.set(i, from[index]);
          place.set(i, index);
        }
      });
    });
  });
}

}  // namespace tenure::kernels
