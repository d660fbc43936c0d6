// Logic, and bits of integers.
#if defined(TENURE_OPS_ELEMENTWISE_LOGIC_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TENURE_OPS_ELEMENTWISE_LOGIC_INL_H_
#undef TENURE_OPS_ELEMENTWISE_LOGIC_INL_H_
#else
#define TENURE_OPS_ELEMENTWISE_LOGIC_INL_H_
#endif

#include <cmath>
#include <cstdint>

#include "tenure/ops/elementwise/definition.h"
#include "tenure/ops/elementwise/value_kinds.h"

TENURE_BODIES_BEGIN

struct LogicalAnd : Logic<2> {
  static constexpr auto name = "logical_and";
  static constexpr auto arguments = "a, b";
  static constexpr auto doc = "both are true";
  template <class V>
  static TENURE_BODY V apply(V a, V b) {
    return a & b;
  }
  static long double reference(long double a, long double b) { return a != 0 && b != 0; }
};

struct LogicalOr : Logic<2> {
  static constexpr auto name = "logical_or";
  static constexpr auto arguments = "a, b";
  static constexpr auto doc = "one is true or both are";
  template <class V>
  static TENURE_BODY V apply(V a, V b) {
    return a | b;
  }
  static long double reference(long double a, long double b) { return a != 0 || b != 0; }
};

struct LogicalXor : Logic<2> {
  static constexpr auto name = "logical_xor";
  static constexpr auto arguments = "a, b";
  static constexpr auto doc = "exactly one is true";
  template <class V>
  static TENURE_BODY V apply(V a, V b) {
    return a ^ b;
  }
  static long double reference(long double a, long double b) { return (a != 0) != (b != 0); }
};

struct LogicalNot : Logic<1> {
  static constexpr auto name = "logical_not";
  static constexpr auto doc = "true where x is 0";
  template <class V>
  static TENURE_BODY V apply(V x) {
    return ~x;
  }
  static long double reference(long double x) { return x == 0; }
};

struct BitwiseAnd : Bits<2> {
  static constexpr auto name = "bitwise_and";
  static constexpr auto arguments = "a, b";
  static constexpr auto doc = "a & b";
  template <class V>
  static TENURE_BODY V apply(V a, V b) {
    return a & b;
  }
  static long double reference(long double a, long double b) {
    return static_cast<std::int64_t>(a) & static_cast<std::int64_t>(b);
  }
};

struct BitwiseOr : Bits<2> {
  static constexpr auto name = "bitwise_or";
  static constexpr auto arguments = "a, b";
  static constexpr auto doc = "a | b";
  template <class V>
  static TENURE_BODY V apply(V a, V b) {
    return a | b;
  }
  static long double reference(long double a, long double b) {
    return static_cast<std::int64_t>(a) | static_cast<std::int64_t>(b);
  }
};

struct BitwiseXor : Bits<2> {
  static constexpr auto name = "bitwise_xor";
  static constexpr auto arguments = "a, b";
  static constexpr auto doc = "a ^ b";
  template <class V>
  static TENURE_BODY V apply(V a, V b) {
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
  static TENURE_BODY V apply(V x) {
    return ~x;
  }
  static long double reference(long double x) { return ~static_cast<std::int64_t>(x); }
};

struct LeftShift : Bits<2, kIntegerTypes> {
  static constexpr auto name = "left_shift";
  static constexpr auto arguments = "a, b";
  static constexpr auto doc = "a << b; 0 from the width of a on, and for negative b";
  static constexpr double low = 0;
  static constexpr double high = 4;
  template <class V>
  static TENURE_BODY V apply(V a, V b) {
    return shift_left(a, b);
  }
  static long double reference(long double a, long double b) {
    const auto count = static_cast<std::int64_t>(b);
    return count < 0 ? 0 : static_cast<std::int64_t>(a) * (std::int64_t{1} << count);
  }
};

struct RightShift : Bits<2, kIntegerTypes> {
  static constexpr auto name = "right_shift";
  static constexpr auto arguments = "a, b";
  static constexpr auto doc =
      "a >> b, keeping the sign; all sign from the width of a on, which is 0 of uint8";
  static constexpr double low = 0;
  static constexpr double high = 6;
  template <class V>
  static TENURE_BODY V apply(V a, V b) {
    return shift_right(a, b);
  }
  static long double reference(long double a, long double b) {
    return static_cast<std::int64_t>(a) >> static_cast<std::int64_t>(b);
  }
};

// The list: each line makes a record, its kernels, and the function that the header declares.
#define TENURE_LOGIC_AND_BITS(UNARY, BINARY, TERNARY, BY_HAND) \
  BINARY(logical_and, LogicalAnd)                              \
  BINARY(logical_or, LogicalOr)                                \
  BINARY(logical_xor, LogicalXor)                              \
  UNARY(logical_not, LogicalNot)                               \
  BINARY(bitwise_and, BitwiseAnd)                              \
  BINARY(bitwise_or, BitwiseOr)                                \
  BINARY(bitwise_xor, BitwiseXor)                              \
  UNARY(bitwise_not, BitwiseNot)                               \
  BINARY(left_shift, LeftShift)                                \
  BINARY(right_shift, RightShift)

using LogicAndBits =
    ListOf<void TENURE_LOGIC_AND_BITS(TENURE_LISTED, TENURE_LISTED, TENURE_LISTED, TENURE_LISTED)>;

TENURE_BODIES_END

#endif  // include guard
