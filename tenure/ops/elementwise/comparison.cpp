#include <cmath>

#include "tenure/ops/elementwise.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tenure/ops/elementwise/comparison.cpp"
#include <hwy/foreach_target.h>

#include "tenure/kernels/cpu/elementwise/math-inl.h"
#include "tenure/ops/elementwise/bodies-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tenure::ops {
namespace HWY_NAMESPACE {

struct Equal : Test<2> {
  static constexpr auto name = "equal";
  static constexpr auto doc = "a == b";
  static constexpr std::uint8_t reuse = 3;
  template <class T>
  static HWY_INLINE bool apply(T a, T b) {
    return a == b;
  }
  static long double reference(long double a, long double b) { return a == b; }
};

struct NotEqual : Test<2> {
  static constexpr auto name = "not_equal";
  static constexpr auto doc = "a != b";
  static constexpr std::uint8_t reuse = 3;
  template <class T>
  static HWY_INLINE bool apply(T a, T b) {
    return a != b;
  }
  static long double reference(long double a, long double b) { return a != b; }
};

struct Less : Test<2> {
  static constexpr auto name = "less";
  static constexpr auto doc = "a < b";
  static constexpr std::uint8_t reuse = 3;
  template <class T>
  static HWY_INLINE bool apply(T a, T b) {
    return a < b;
  }
  static long double reference(long double a, long double b) { return a < b; }
};

struct LessEqual : Test<2> {
  static constexpr auto name = "less_equal";
  static constexpr auto doc = "a <= b";
  static constexpr std::uint8_t reuse = 3;
  template <class T>
  static HWY_INLINE bool apply(T a, T b) {
    return a <= b;
  }
  static long double reference(long double a, long double b) { return a <= b; }
};

struct Greater : Test<2> {
  static constexpr auto name = "greater";
  static constexpr auto doc = "a > b";
  static constexpr std::uint8_t reuse = 3;
  template <class T>
  static HWY_INLINE bool apply(T a, T b) {
    return a > b;
  }
  static long double reference(long double a, long double b) { return a > b; }
};

struct GreaterEqual : Test<2> {
  static constexpr auto name = "greater_equal";
  static constexpr auto doc = "a >= b";
  static constexpr std::uint8_t reuse = 3;
  template <class T>
  static HWY_INLINE bool apply(T a, T b) {
    return a >= b;
  }
  static long double reference(long double a, long double b) { return a >= b; }
};

struct IsNan : Test<1> {
  static constexpr auto name = "isnan";
  static constexpr auto doc = "true where x is not a number";
  template <class T>
  static HWY_INLINE bool apply(T x) {
    return x != x;
  }
  static long double reference(long double x) { return std::isnan(x); }
};

struct IsInf : Test<1> {
  static constexpr auto name = "isinf";
  static constexpr auto doc = "true where x is infinite";
  template <class T>
  static HWY_INLINE bool apply(T x) {
    if constexpr (std::is_floating_point_v<T>) {
      return x == simd::kInfinity<T> || x == -simd::kInfinity<T>;
    } else {
      return false;
    }
  }
  static long double reference(long double x) { return std::isinf(x); }
};

struct IsFinite : Test<1> {
  static constexpr auto name = "isfinite";
  static constexpr auto doc = "true where x is neither infinite nor NaN";
  template <class T>
  static HWY_INLINE bool apply(T x) {
    if constexpr (std::is_floating_point_v<T>) {
      return x - x == T(0);
    } else {
      return true;
    }
  }
  static long double reference(long double x) { return std::isfinite(x); }
};

using Comparisons =
    List<Equal, NotEqual, Less, LessEqual, Greater, GreaterEqual, IsNan, IsInf, IsFinite>;

const Bodies* comparison_bodies() { return bodies_of_all(Comparisons()); }

}  // namespace HWY_NAMESPACE
}  // namespace tenure::ops
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenure::ops {

HWY_EXPORT(comparison_bodies);

const Family& comparison_family() {
  static const auto& family = *new Family("comparison", HWY_NAMESPACE::Comparisons(),
                                          HWY_DYNAMIC_DISPATCH(comparison_bodies)());
  return family;
}

namespace {

template <class Op, class... Operands>
Tensor run(const Operands&... operands) {
  return call(comparison_family()[index_of<Op>(HWY_NAMESPACE::Comparisons())], operands...);
}

}  // namespace
}  // namespace tenure::ops

namespace tenure {

namespace target = ops::HWY_NAMESPACE;
using ops::run;

Tensor equal(const Operand& a, const Operand& b) { return run<target::Equal>(a, b); }
Tensor not_equal(const Operand& a, const Operand& b) { return run<target::NotEqual>(a, b); }
Tensor less(const Operand& a, const Operand& b) { return run<target::Less>(a, b); }
Tensor less_equal(const Operand& a, const Operand& b) { return run<target::LessEqual>(a, b); }
Tensor greater(const Operand& a, const Operand& b) { return run<target::Greater>(a, b); }
Tensor greater_equal(const Operand& a, const Operand& b) { return run<target::GreaterEqual>(a, b); }
Tensor isnan(const Operand& x) { return run<target::IsNan>(x); }
Tensor isinf(const Operand& x) { return run<target::IsInf>(x); }
Tensor isfinite(const Operand& x) { return run<target::IsFinite>(x); }

}  // namespace tenure
#endif
