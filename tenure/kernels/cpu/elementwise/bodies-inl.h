// Makes the bodies of a list of elementwise ops for one instruction set. Included before the ops:
// it says how they are compiled.
#if defined(TENURE_KERNELS_CPU_ELEMENTWISE_BODIES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TENURE_KERNELS_CPU_ELEMENTWISE_BODIES_INL_H_
#undef TENURE_KERNELS_CPU_ELEMENTWISE_BODIES_INL_H_
#else
#define TENURE_KERNELS_CPU_ELEMENTWISE_BODIES_INL_H_
#endif

#include "tenure/kernels/cpu/elementwise/body_target-inl.h"
#include "tenure/kernels/cpu/elementwise/elementwise_slots.h"
#include "tenure/kernels/cpu/elementwise/loops-inl.h"
#include "tenure/kernels/cpu/elementwise/math-inl.h"
#include "tenure/ops/elementwise/definition.h"

HWY_BEFORE_NAMESPACE();
namespace tenure::kernels {
namespace HWY_NAMESPACE {

template <class Op, class T>
constexpr Body body_of() {
  using ops::TypeRule;
  if constexpr (!ops::computes_in<Op>(dtype_of<T>())) {
    return nullptr;
  } else if constexpr (Op::rule == TypeRule::select) {
    return select_loop<Op, T>;
  } else if constexpr (Op::rule == TypeRule::logic || Op::rule == TypeRule::comparison) {
    return test_loop<Op, T>;
  } else {
    return map_body<Op, T>();
  }
}

template <class Op>
constexpr Bodies bodies_of() {
  return {
#define TENURE_ELEMENT(dtype, T, name) body_of<Op, T>(),
      TENURE_ELEMENT_TYPES(TENURE_ELEMENT)
#undef TENURE_ELEMENT
  };
}

template <class... Ops>
const Bodies* bodies_of_all(ops::List<Ops...>) {
  static constexpr Bodies table[] = {bodies_of<Ops>()...};
  return table;
}

}  // namespace HWY_NAMESPACE
}  // namespace tenure::kernels
HWY_AFTER_NAMESPACE();

#endif  // include guard
