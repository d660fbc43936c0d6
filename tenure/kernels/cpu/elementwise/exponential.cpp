#include "tenure/kernels/cpu/elementwise/elementwise_slots.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tenure/kernels/cpu/elementwise/exponential.cpp"
#include <hwy/foreach_target.h>

#include "tenure/kernels/cpu/elementwise/bodies-inl.h"
#include "tenure/ops/elementwise/exponential-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tenure::kernels {
namespace HWY_NAMESPACE {

const Bodies* exponential_bodies() { return bodies_of_all(ops::HWY_NAMESPACE::Exponentials()); }

}  // namespace HWY_NAMESPACE
}  // namespace tenure::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenure::kernels {

HWY_EXPORT(exponential_bodies);

std::vector<KernelRow> exponential_kernels() {
  return rows_of(ops::HWY_NAMESPACE::Exponentials(), HWY_DYNAMIC_DISPATCH(exponential_bodies)());
}

}  // namespace tenure::kernels
#endif
