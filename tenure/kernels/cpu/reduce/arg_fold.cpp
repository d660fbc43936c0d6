#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tenure/kernels/cpu/reduce/arg_fold.cpp"
#include <hwy/foreach_target.h>
// The order of these includes matters: each target compiles the file again from here.
#include <hwy/highway.h>

#include <string>

#include "tenure/kernels/cpu/reduce/arg_fold.h"

HWY_BEFORE_NAMESPACE();
namespace tenure::kernels::reduce::HWY_NAMESPACE {
namespace {

// Plain loops: compilers turn them into compares and blends of full vectors.
template <bool kMax, class T>
void fold_best(void* best_out, void* best_row, const void* src, std::int64_t stride,
               std::int64_t rows, std::int64_t width, std::int64_t first_row) {
  auto* HWY_RESTRICT best = static_cast<T*>(best_out);
  auto* HWY_RESTRICT found = static_cast<RowNumber<T>*>(best_row);
  for (std::int64_t r = 0; r < rows; ++r) {
    const auto* HWY_RESTRICT row = static_cast<const T*>(src) + r * stride;
    const auto number = static_cast<RowNumber<T>>(first_row + r);
    for (std::int64_t j = 0; j < width; ++j) {
      const T x = row[j];
      const T b = best[j];
      const bool take = replaces<kMax>(x, b);
      best[j] = take ? x : b;
      found[j] = take ? number : found[j];
    }
  }
}

template <bool kMax>
FoldBest find_by_type(DType dtype) {
  if (dtype == DType::float32) return fold_best<kMax, float>;
  if (dtype == DType::float64) return fold_best<kMax, double>;
  if (dtype == DType::int64) return fold_best<kMax, std::int64_t>;
  return nullptr;
}

FoldBest find_best(bool max, DType dtype) {
  return max ? find_by_type<true>(dtype) : find_by_type<false>(dtype);
}

}  // namespace
}  // namespace tenure::kernels::reduce::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenure::kernels::reduce {

HWY_EXPORT(find_best);

FoldBest find_fold_best(bool max, DType dtype) {
  const FoldBest found = HWY_DYNAMIC_DISPATCH(find_best)(max, dtype);
  if (found == nullptr) [[unlikely]] {
    throw DTypeError("arg_reduce", "no loop compares " + std::string(name_of(dtype)));
  }
  return found;
}

}  // namespace tenure::kernels::reduce
#endif
