#include "tenure/kernels/cpu/elementwise/elementwise_slots.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tenure/kernels/cpu/elementwise/derivatives.cpp"
#include <hwy/foreach_target.h>

#include "tenure/kernels/cpu/elementwise/bodies-inl.h"
#include "tenure/ops/elementwise/derivatives-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tenure::kernels {
namespace HWY_NAMESPACE {

const Bodies* derivative_bodies() { return bodies_of_all(ops::HWY_NAMESPACE::Derivatives()); }

}  // namespace HWY_NAMESPACE
}  // namespace tenure::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenure::kernels {

HWY_EXPORT(derivative_bodies);

std::vector<KernelRow> derivative_kernels() {
  return rows_of(ops::HWY_NAMESPACE::Derivatives(), HWY_DYNAMIC_DISPATCH(derivative_bodies)());
}

}  // namespace tenure::kernels
#endif
