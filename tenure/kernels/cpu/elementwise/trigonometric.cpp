#include "tenure/kernels/cpu/elementwise/elementwise_slots.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tenure/kernels/cpu/elementwise/trigonometric.cpp"
#include <hwy/foreach_target.h>

#include "tenure/kernels/cpu/elementwise/bodies-inl.h"
#include "tenure/ops/elementwise/special-inl.h"
#include "tenure/ops/elementwise/trigonometric-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tenure::kernels {
namespace HWY_NAMESPACE {

const Bodies* trigonometric_bodies() { return bodies_of_all(ops::HWY_NAMESPACE::Trigonometric()); }
const Bodies* special_bodies() { return bodies_of_all(ops::HWY_NAMESPACE::SpecialFunctions()); }

}  // namespace HWY_NAMESPACE
}  // namespace tenure::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenure::kernels {

HWY_EXPORT(trigonometric_bodies);
HWY_EXPORT(special_bodies);

std::vector<KernelRow> trigonometric_kernels() {
  return rows_of(ops::HWY_NAMESPACE::Trigonometric(), HWY_DYNAMIC_DISPATCH(trigonometric_bodies)());
}
std::vector<KernelRow> special_kernels() {
  return rows_of(ops::HWY_NAMESPACE::SpecialFunctions(), HWY_DYNAMIC_DISPATCH(special_bodies)());
}

}  // namespace tenure::kernels
#endif
