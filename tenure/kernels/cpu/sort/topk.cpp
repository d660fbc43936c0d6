#include <algorithm>

#include "tenure/kernels/cpu/index/loop.h"
#include "tenure/kernels/cpu/sort/keys.h"
#include "tenure/kernels/cpu/sort/radix.h"
#include "tenure/kernels/cpu/sort/scratch.h"
#include "tenure/kernels/cpu/sort/sort.h"

namespace tenure::kernels {
namespace {

using namespace sorting;
using indexing::at_least_1d;
using indexing::make_loop;

template <class T>
using Item = Keyed<typename Keys<T>::U, std::uint64_t>;

/// Whether to keep the best k in a heap while reading, rather than to sort everything.
bool use_heap(std::int64_t n, std::int64_t k) { return k <= n / 16 || n <= 64; }

std::size_t row_bytes(DType dtype, std::int64_t n, std::int64_t k) {
  return visit_dtype(dtype, [&]<class T>(TypeTag<T>) {
    return sizeof(Item<T>) * static_cast<std::size_t>(use_heap(n, k) ? k : 2 * n);
  });
}

/// The k items of least key, in order; of equal keys the first. Returns where in `scratch`.
template <class T>
const Item<T>* select(const T* in, std::int64_t step, std::int64_t n, std::int64_t k,
                      typename Keys<T>::U flip, std::byte* scratch) {
  using U = typename Keys<T>::U;
  auto* items = reinterpret_cast<Item<T>*>(scratch);
  const auto item = [&](std::int64_t i) {
    const U bits = Keys<T>::bits(in[i * step]);
    return Item<T>{static_cast<U>(Keys<T>::encode(bits) ^ flip), static_cast<std::uint64_t>(i)};
  };
  if (!use_heap(n, k)) {
    for (std::int64_t i = 0; i < n; ++i) items[i] = item(i);
    return radix_sort(items, items + n, n);
  }
  const auto better = [](const Item<T>& a, const Item<T>& b) {
    return a.key != b.key ? a.key < b.key : a.index < b.index;
  };
  for (std::int64_t i = 0; i < k; ++i) items[i] = item(i);
  std::make_heap(items, items + k, better);
  for (std::int64_t i = k; i < n; ++i) {
    const Item<T> next = item(i);
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
  return scratch_bytes(in.count() / n, row_bytes(in.dtype, n, k));
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
  visit_dtype(in.dtype, [&]<class T>(TypeTag<T>) {
    using U = typename Keys<T>::U;
    const U flip = largest ? static_cast<U>(~U{0}) : U{0};
    const std::size_t bytes = row_bytes(in.dtype, n, k);
    for_rows(loop.count(), n, bytes, workspace, [&](auto begin, auto end, std::byte* scratch) {
      loop.each(begin, end, [&](const auto& at) {
        const T* row = in.as<const T>() + at[0];
        const std::int64_t step = in.strides[axis];
        const Item<T>* best = select<T>(row, step, n, k, flip, scratch);
        T* value = values.as<T>() + at[1];
        std::int64_t* place = indices.as<std::int64_t>() + at[2];
        for (std::int64_t i = 0; i < k; ++i) {
          const auto index = static_cast<std::int64_t>(best[i].index);
          value[i * values.strides[axis]] = row[index * step];
          place[i * indices.strides[axis]] = index;
        }
      });
    });
  });
}

}  // namespace tenure::kernels
