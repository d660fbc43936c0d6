#include <cmath>

#include "tenure/ops/elementwise.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tenure/ops/elementwise/trigonometric.cpp"
#include <hwy/foreach_target.h>

#include "tenure/kernels/cpu/elementwise/math-inl.h"
#include "tenure/ops/elementwise/bodies-inl.h"
#include "tenure/ops/elementwise/gradients.h"

HWY_BEFORE_NAMESPACE();
namespace tenure::ops {
namespace HWY_NAMESPACE {

struct Sin : Float<1> {
  static constexpr auto name = "sin";
  static constexpr GradientRule gradient = reads_input(gradients::sin);
  static constexpr auto doc = "sine";
  static constexpr double ulp = 3;
  template <class V>
  static HWY_INLINE V apply(V x) {
    return sin(x);
  }
  static long double reference(long double x) { return std::sin(x); }
};

struct Cos : Float<1> {
  static constexpr auto name = "cos";
  static constexpr GradientRule gradient = reads_input(gradients::cos);
  static constexpr auto doc = "cosine";
  static constexpr double ulp = 3;
  template <class V>
  static HWY_INLINE V apply(V x) {
    return cos(x);
  }
  static long double reference(long double x) { return std::cos(x); }
};

struct Tan : Float<1> {
  static constexpr auto name = "tan";
  static constexpr GradientRule gradient = reads_output(gradients::tan);
  static constexpr auto doc = "tangent";
  static constexpr double ulp = 5;
  static constexpr double low = -1.5;
  static constexpr double high = 1.5;
  template <class V>
  static HWY_INLINE V apply(V x) {
    return tan(x);
  }
  static long double reference(long double x) { return std::tan(x); }
};

struct Asin : Float<1> {
  static constexpr auto name = "asin";
  static constexpr GradientRule gradient = reads_input(gradients::asin);
  static constexpr auto doc = "inverse sine";
  static constexpr double low = -1;
  static constexpr double high = 1;
  static constexpr double ulp = 3;
  template <class V>
  static HWY_INLINE V apply(V x) {
    return asin(x);
  }
  static long double reference(long double x) { return std::asin(x); }
};

struct Acos : Float<1> {
  static constexpr auto name = "acos";
  static constexpr GradientRule gradient = reads_input(gradients::acos);
  static constexpr auto doc = "inverse cosine";
  static constexpr double low = -1;
  static constexpr double high = 1;
  static constexpr double ulp = 1.5;
  template <class V>
  static HWY_INLINE V apply(V x) {
    return acos(x);
  }
  static long double reference(long double x) { return std::acos(x); }
};

struct Atan : Float<1> {
  static constexpr auto name = "atan";
  static constexpr GradientRule gradient = reads_input(gradients::atan);
  static constexpr auto doc = "inverse tangent";
  static constexpr double ulp = 3;
  template <class V>
  static HWY_INLINE V apply(V x) {
    return atan(x);
  }
  static long double reference(long double x) { return std::atan(x); }
};

struct Atan2 : Float<2> {
  static constexpr auto name = "atan2";
  static constexpr GradientRule gradient{.needs = {{{.inputs = 3}, {.inputs = 3}}},
                                         .run = gradients::atan2};
  static constexpr auto doc = "angle of the point (x, y)";
  static constexpr double ulp = 2;
  template <class V>
  static HWY_INLINE V apply(V y, V x) {
    return map_lanes([](auto s, auto c) { return std::atan2(s, c); }, y, x);
  }
  static long double reference(long double y, long double x) { return std::atan2(y, x); }
};

struct Sinh : Float<1> {
  static constexpr auto name = "sinh";
  static constexpr GradientRule gradient = reads_input(gradients::sinh);
  static constexpr auto doc = "hyperbolic sine";
  static constexpr double ulp = 4;
  template <class V>
  static HWY_INLINE V apply(V x) {
    return sinh(x);
  }
  static long double reference(long double x) { return std::sinh(x); }
};

struct Cosh : Float<1> {
  static constexpr auto name = "cosh";
  static constexpr GradientRule gradient = reads_input(gradients::cosh);
  static constexpr auto doc = "hyperbolic cosine";
  static constexpr double ulp = 3.5;
  template <class V>
  static HWY_INLINE V apply(V x) {
    return cosh(x);
  }
  static long double reference(long double x) { return std::cosh(x); }
};

struct Asinh : Float<1> {
  static constexpr auto name = "asinh";
  static constexpr GradientRule gradient = reads_input(gradients::asinh);
  static constexpr auto doc = "inverse hyperbolic sine";
  static constexpr double ulp = 3.5;
  template <class V>
  static HWY_INLINE V apply(V x) {
    return asinh(x);
  }
  static long double reference(long double x) { return std::asinh(x); }
};

struct Acosh : Float<1> {
  static constexpr auto name = "acosh";
  static constexpr GradientRule gradient = reads_input(gradients::acosh);
  static constexpr auto doc = "inverse hyperbolic cosine";
  static constexpr double low = 1;
  static constexpr double high = 9;
  static constexpr double ulp = 3;
  template <class V>
  static HWY_INLINE V apply(V x) {
    return acosh(x);
  }
  static long double reference(long double x) { return std::acosh(x); }
};

struct Atanh : Float<1> {
  static constexpr auto name = "atanh";
  static constexpr GradientRule gradient = reads_input(gradients::atanh);
  static constexpr auto doc = "inverse hyperbolic tangent";
  static constexpr double low = -0.95;
  static constexpr double high = 0.95;
  static constexpr double ulp = 3.5;
  template <class V>
  static HWY_INLINE V apply(V x) {
    return atanh(x);
  }
  static long double reference(long double x) { return std::atanh(x); }
};

struct Erf : Float<1> {
  static constexpr auto name = "erf";
  static constexpr GradientRule gradient = reads_input(gradients::erf);
  static constexpr auto doc = "error function";
  static constexpr double ulp = 3;
  template <class V>
  static HWY_INLINE V apply(V x) {
    return erf(x);
  }
  static long double reference(long double x) { return std::erf(x); }
};

using Trigonometric =
    List<Sin, Cos, Tan, Asin, Acos, Atan, Atan2, Sinh, Cosh, Asinh, Acosh, Atanh, Erf>;

const Bodies* trigonometric_bodies() { return bodies_of_all(Trigonometric()); }

}  // namespace HWY_NAMESPACE
}  // namespace tenure::ops
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenure::ops {

HWY_EXPORT(trigonometric_bodies);

const Family& trigonometric_family() {
  static const auto& family =
      *new Family("trigonometric and hyperbolic", HWY_NAMESPACE::Trigonometric(),
                  HWY_DYNAMIC_DISPATCH(trigonometric_bodies)());
  return family;
}

namespace {

template <class Op, class... Operands>
Tensor run(const Operands&... operands) {
  return call(trigonometric_family()[index_of<Op>(HWY_NAMESPACE::Trigonometric())], operands...);
}

}  // namespace
}  // namespace tenure::ops

namespace tenure {

namespace target = ops::HWY_NAMESPACE;
using ops::run;

Tensor sin(const Operand& x) { return run<target::Sin>(x); }
Tensor cos(const Operand& x) { return run<target::Cos>(x); }
Tensor tan(const Operand& x) { return run<target::Tan>(x); }
Tensor asin(const Operand& x) { return run<target::Asin>(x); }
Tensor acos(const Operand& x) { return run<target::Acos>(x); }
Tensor atan(const Operand& x) { return run<target::Atan>(x); }
Tensor atan2(const Operand& y, const Operand& x) { return run<target::Atan2>(y, x); }
Tensor sinh(const Operand& x) { return run<target::Sinh>(x); }
Tensor cosh(const Operand& x) { return run<target::Cosh>(x); }
Tensor asinh(const Operand& x) { return run<target::Asinh>(x); }
Tensor acosh(const Operand& x) { return run<target::Acosh>(x); }
Tensor atanh(const Operand& x) { return run<target::Atanh>(x); }
Tensor erf(const Operand& x) { return run<target::Erf>(x); }

}  // namespace tenure
#endif
