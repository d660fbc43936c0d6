// Makes the bodies of a list of elementwise ops for one instruction set.
#if defined(TENURE_OPS_ELEMENTWISE_BODIES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TENURE_OPS_ELEMENTWISE_BODIES_INL_H_
#undef TENURE_OPS_ELEMENTWISE_BODIES_INL_H_
#else
#define TENURE_OPS_ELEMENTWISE_BODIES_INL_H_
#endif

#include "tenure/kernels/cpu/elementwise/loops-inl.h"
#include "tenure/ops/elementwise/family.h"

HWY_BEFORE_NAMESPACE();
namespace tenure::ops {
namespace HWY_NAMESPACE {
namespace simd = kernels::HWY_NAMESPACE;

template <class Op, class T>
constexpr kernels::Body body_of() {
  constexpr DType dtype = dtype_of<T>();
  constexpr bool taken = (Op::types >> static_cast<int>(dtype) & 1) != 0;
  if constexpr (Op::rule == TypeRule::select) {
    return Op::template body<T>;
  } else if constexpr (Op::rule == TypeRule::logic) {
    if constexpr (std::is_same_v<T, bool>) return simd::test_body<Op, T>;
  } else if constexpr (Op::rule == TypeRule::floating) {
    if constexpr (std::is_floating_point_v<T>) return simd::map_body<Op, T>();
  } else if constexpr (Op::rule == TypeRule::comparison) {
    if constexpr (taken) return simd::test_body<Op, T>;
  } else {
    if constexpr (taken) return simd::map_body<Op, T>();
  }
  return nullptr;
}

/// 16-bit floats have none: they are computed with in float32.
template <class Op>
constexpr Bodies bodies_of() {
  return {body_of<Op, bool>(),
          body_of<Op, std::uint8_t>(),
          body_of<Op, std::int8_t>(),
          body_of<Op, std::int16_t>(),
          body_of<Op, std::int32_t>(),
          body_of<Op, std::int64_t>(),
          nullptr,
          nullptr,
          body_of<Op, float>(),
          body_of<Op, double>()};
}

template <class... Ops>
const Bodies* bodies_of_all(List<Ops...>) {
  static constexpr Bodies table[] = {bodies_of<Ops>()...};
  return table;
}

}  // namespace HWY_NAMESPACE
}  // namespace tenure::ops
HWY_AFTER_NAMESPACE();

#endif  // include guard
