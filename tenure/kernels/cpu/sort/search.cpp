#include "tenure/kernels/cpu/sort/keys.h"
#include "tenure/kernels/cpu/sort/sort.h"
#include "tenure/kernels/parallel.h"

namespace tenure::kernels {
namespace {

constexpr std::int64_t kSearchGrain = 1 << 10;

/// Where element `flat` in row-major order lies, by the first `axes` axes; the others are at 0.
std::int64_t offset_of(const View& view, const Shape& shape, int axes, std::int64_t flat) {
  std::int64_t offset = 0;
  for (int axis = axes - 1; axis >= 0; --axis) {
    offset += flat % shape[axis] * view.strides[axis];
    flat /= shape[axis];
  }
  return offset;
}

}  // namespace

void search_sorted(const View& sorted, const View& values, bool right, const View& out) {
  const int last = sorted.shape.size() - 1;
  const std::int64_t n = sorted.shape[last];
  const int rank = values.shape.size();
  const std::int64_t width = rank == 0 ? 1 : values.shape[rank - 1];
  auto* const result = out.as<std::int64_t>();
  sort::visit_keys(values.dtype, [&]<class Keys>(const Keys& keys) {
    using U = typename Keys::U;
    parallel_for(values.count(), kSearchGrain, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        const std::int64_t from = last == 0 ? 0 : offset_of(sorted, values.shape, last, i / width);
        const sort::Row<U> row = sort::row_at<U>(sorted, from, last);
        const U value = keys.encode(
            sort::Row<U>{values.as<std::byte>(), 1}[offset_of(values, values.shape, rank, i)]);
        std::int64_t low = 0;
        std::int64_t high = n;
        while (low < high) {
          const std::int64_t middle = low + (high - low) / 2;
          const U element = keys.encode(row[middle]);
          if (right ? element <= value : element < value) {
            low = middle + 1;
          } else {
            high = middle;
          }
        }
        result[i] = low;
      }
    });
  });
}

}  // namespace tenure::kernels
