#include "tenure/kernels/cpu/elementwise/elementwise_slots.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tenure/kernels/cpu/elementwise/activation.cpp"
#include <hwy/foreach_target.h>

#include "tenure/kernels/cpu/elementwise/bodies-inl.h"
#include "tenure/ops/elementwise/activation-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tenure::kernels {
namespace HWY_NAMESPACE {

const Bodies* activation_bodies() { return bodies_of_all(ops::HWY_NAMESPACE::Activations()); }

}  // namespace HWY_NAMESPACE
}  // namespace tenure::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenure::kernels {

HWY_EXPORT(activation_bodies);

std::vector<KernelRow> activation_kernels() {
  return rows_of(ops::HWY_NAMESPACE::Activations(), HWY_DYNAMIC_DISPATCH(activation_bodies)());
}

}  // namespace tenure::kernels
#endif
