#include "tenure/kernels/cpu/elementwise/elementwise_slots.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tenure/kernels/cpu/elementwise/comparison.cpp"
#include <hwy/foreach_target.h>

#include "tenure/kernels/cpu/elementwise/bodies-inl.h"
#include "tenure/ops/elementwise/comparison-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tenure::kernels {
namespace HWY_NAMESPACE {

const Bodies* comparison_bodies() { return bodies_of_all(ops::HWY_NAMESPACE::Comparisons()); }

}  // namespace HWY_NAMESPACE
}  // namespace tenure::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenure::kernels {

HWY_EXPORT(comparison_bodies);

std::vector<KernelRow> comparison_kernels() {
  return rows_of(ops::HWY_NAMESPACE::Comparisons(), HWY_DYNAMIC_DISPATCH(comparison_bodies)());
}

}  // namespace tenure::kernels
#endif
