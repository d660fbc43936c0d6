#include <cmath>
#include <cstdint>

#include "tenure/ops/elementwise.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tenure/ops/elementwise/logic.cpp"
#include <hwy/foreach_target.h>

#include "tenure/kernels/cpu/elementwise/math-inl.h"
#include "tenure/ops/elementwise/bodies-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tenure::ops {
namespace HWY_NAMESPACE {

struct LogicalAnd : Logic<2> {
  static constexpr auto name = "logical_and";
  static constexpr auto doc = "both are true";
  template <class T>
  static HWY_INLINE bool apply(T a, T b) {
    return a & b;
  }
  static long double reference(long double a, long double b) { return a != 0 && b != 0; }
};

struct LogicalOr : Logic<2> {
  static constexpr auto name = "logical_or";
  static constexpr auto doc = "one is true or both are";
  template <class T>
  static HWY_INLINE bool apply(T a, T b) {
    return a | b;
  }
  static long double reference(long double a, long double b) { return a != 0 || b != 0; }
};

struct LogicalXor : Logic<2> {
  static constexpr auto name = "logical_xor";
  static constexpr auto doc = "exactly one is true";
  template <class T>
  static HWY_INLINE bool apply(T a, T b) {
    return a != b;
  }
  static long double reference(long double a, long double b) { return (a != 0) != (b != 0); }
};

struct LogicalNot : Logic<1> {
  static constexpr auto name = "logical_not";
  static constexpr auto doc = "true where x is 0";
  template <class T>
  static HWY_INLINE bool apply(T x) {
    return !x;
  }
  static long double reference(long double x) { return x == 0; }
};

struct BitwiseAnd : Bits<2> {
  static constexpr auto name = "bitwise_and";
  static constexpr auto doc = "a & b";
  template <class V>
  static HWY_INLINE V apply(V a, V b) {
    return a & b;
  }
  static long double reference(long double a, long double b) {
    return static_cast<std::int64_t>(a) & static_cast<std::int64_t>(b);
  }
};

struct BitwiseOr : Bits<2> {
  static constexpr auto name = "bitwise_or";
  static constexpr auto doc = "a | b";
  template <class V>
  static HWY_INLINE V apply(V a, V b) {
    return a | b;
  }
  static long double reference(long double a, long double b) {
    return static_cast<std::int64_t>(a) | static_cast<std::int64_t>(b);
  }
};

struct BitwiseXor : Bits<2> {
  static constexpr auto name = "bitwise_xor";
  static constexpr auto doc = "a ^ b";
  template <class V>
  static HWY_INLINE V apply(V a, V b) {
    return a ^ b;
  }
  static long double reference(long double a, long double b) {
    return static_cast<std::int64_t>(a) ^ static_cast<std::int64_t>(b);
  }
};

struct BitwiseNot : Bits<1> {
  static constexpr auto name = "bitwise_not";
  static constexpr auto doc = "~x; on bool: not";
  static constexpr bool undoes_itself = true;
  static constexpr double low = 0;
  static constexpr double high = 5;
  template <class V>
  static HWY_INLINE V apply(V x) {
    if constexpr (std::is_same_v<V, simd::Truth>) {
      return !x.value;
    } else {
      return static_cast<typename V::Scalar>(~x.value);
    }
  }
  static long double reference(long double x) { return ~static_cast<std::int64_t>(x); }
};

struct LeftShift : Bits<2, kIntegerTypes> {
  static constexpr auto name = "left_shift";
  static constexpr auto doc = "a << b; 0 from the width of a on, and for negative b";
  static constexpr double low = 0;
  static constexpr double high = 4;
  template <class V>
  static HWY_INLINE V apply(V a, V b) {
    constexpr int kWidth = 8 * sizeof(a.value);
    const bool inside = b.value >= 0 && b.value < kWidth;
    const auto bits = static_cast<std::uint64_t>(a.value);
    return inside ? V(static_cast<typename V::Scalar>(bits << (b.value & (kWidth - 1)))) : V(0);
  }
  static long double reference(long double a, long double b) {
    const auto count = static_cast<std::int64_t>(b);
    return count < 0 ? 0 : static_cast<std::int64_t>(a) * (std::int64_t{1} << count);
  }
};

struct RightShift : Bits<2, kIntegerTypes> {
  static constexpr auto name = "right_shift";
  static constexpr auto doc = "a >> b, keeping the sign; all sign from the width of a on";
  static constexpr double low = 0;
  static constexpr double high = 6;
  template <class V>
  static HWY_INLINE V apply(V a, V b) {
    constexpr int kWidth = 8 * sizeof(a.value);
    const bool inside = b.value >= 0 && b.value < kWidth;
    return static_cast<typename V::Scalar>(a.value >>
                                           (inside ? static_cast<int>(b.value) : kWidth - 1));
  }
  static long double reference(long double a, long double b) {
    return static_cast<std::int64_t>(a) >> static_cast<std::int64_t>(b);
  }
};

using LogicAndBits = List<LogicalAnd, LogicalOr, LogicalXor, LogicalNot, BitwiseAnd, BitwiseOr,
                          BitwiseXor, BitwiseNot, LeftShift, RightShift>;

const Bodies* logic_bodies() { return bodies_of_all(LogicAndBits()); }

}  // namespace HWY_NAMESPACE
}  // namespace tenure::ops
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenure::ops {

HWY_EXPORT(logic_bodies);

const Family& logic_family() {
  static const auto& family = *new Family("logic and bits", HWY_NAMESPACE::LogicAndBits(),
                                          HWY_DYNAMIC_DISPATCH(logic_bodies)());
  return family;
}

namespace {

template <class Op, class... Operands>
Tensor run(const Operands&... operands) {
  return call(logic_family()[index_of<Op>(HWY_NAMESPACE::LogicAndBits())], operands...);
}

}  // namespace
}  // namespace tenure::ops

namespace tenure {

namespace target = ops::HWY_NAMESPACE;
using ops::run;

Tensor logical_and(const Operand& a, const Operand& b) { return run<target::LogicalAnd>(a, b); }
Tensor logical_or(const Operand& a, const Operand& b) { return run<target::LogicalOr>(a, b); }
Tensor logical_xor(const Operand& a, const Operand& b) { return run<target::LogicalXor>(a, b); }
Tensor logical_not(const Operand& x) { return run<target::LogicalNot>(x); }
Tensor bitwise_and(const Operand& a, const Operand& b) { return run<target::BitwiseAnd>(a, b); }
Tensor bitwise_or(const Operand& a, const Operand& b) { return run<target::BitwiseOr>(a, b); }
Tensor bitwise_xor(const Operand& a, const Operand& b) { return run<target::BitwiseXor>(a, b); }
Tensor bitwise_not(const Operand& x) { return run<target::BitwiseNot>(x); }
Tensor left_shift(const Operand& a, const Operand& b) { return run<target::LeftShift>(a, b); }
Tensor right_shift(const Operand& a, const Operand& b) { return run<target::RightShift>(a, b); }

}  // namespace tenure
#endif
