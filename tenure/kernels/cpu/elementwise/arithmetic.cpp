#include "tenure/kernels/cpu/elementwise/elementwise_slots.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tenure/kernels/cpu/elementwise/arithmetic.cpp"
#include <hwy/foreach_target.h>

#include "tenure/kernels/cpu/elementwise/bodies-inl.h"
#include "tenure/kernels/cpu/elementwise/power-inl.h"
#include "tenure/ops/elementwise/arithmetic-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tenure::kernels {
namespace HWY_NAMESPACE {

const Bodies* arithmetic_bodies() { return bodies_of_all(ops::HWY_NAMESPACE::Arithmetic()); }

}  // namespace HWY_NAMESPACE
}  // namespace tenure::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenure::kernels {

HWY_EXPORT(arithmetic_bodies);

std::vector<KernelRow> arithmetic_kernels() {
  return rows_of(ops::HWY_NAMESPACE::Arithmetic(), HWY_DYNAMIC_DISPATCH(arithmetic_bodies)());
}

}  // namespace tenure::kernels
#endif
