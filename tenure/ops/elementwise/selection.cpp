#include <cmath>

#include "tenure/ops/elementwise.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tenure/ops/elementwise/selection.cpp"
#include <hwy/foreach_target.h>

#include "tenure/kernels/cpu/elementwise/math-inl.h"
#include "tenure/ops/elementwise/bodies-inl.h"
#include "tenure/ops/elementwise/gradients.h"

HWY_BEFORE_NAMESPACE();
namespace tenure::ops {
namespace HWY_NAMESPACE {

struct Where : ElementwiseDefaults<3, TypeRule::select, kAllTypes> {
  static constexpr auto name = "where";
  static constexpr GradientRule gradient{.needs = {{{}, {.inputs = 1}, {.inputs = 1}}},
                                         .run = gradients::where};
  static constexpr auto doc = "a where the condition holds, b elsewhere";
  static constexpr std::uint8_t reuse = 6;
  template <class T>
  static void body(const void* const* in, void* out, std::size_t n) {
    const auto* const condition = static_cast<const bool*>(in[0]);
    const auto* const a = static_cast<const T*>(in[1]);
    const auto* const b = static_cast<const T*>(in[2]);
    T* const to = static_cast<T*>(out);
    for (std::size_t i = 0; i < n; ++i) to[i] = condition[i] ? a[i] : b[i];
  }
  static long double reference(long double condition, long double a, long double b) {
    return condition != 0 ? a : b;
  }
};

struct Clamp : Map<3, kNumberTypes> {
  static constexpr auto name = "clamp";
  static constexpr GradientRule gradient{.needs = {{{.inputs = 7}, {.inputs = 7}, {.inputs = 7}}},
                                         .run = gradients::clamp};
  static constexpr auto doc = "x held between low and high; NaN stays";
  template <class V>
  static HWY_INLINE V apply(V x, V low, V high) {
    return min(max(x, low), high);
  }
  static long double reference(long double x, long double low, long double high) {
    if (std::isnan(x) || std::isnan(low)) return x + low;
    const long double raised = x > low ? x : low;
    return raised < high ? raised : high;
  }
};

using Selections = List<Where, Clamp>;

const Bodies* selection_bodies() { return bodies_of_all(Selections()); }

}  // namespace HWY_NAMESPACE
}  // namespace tenure::ops
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenure::ops {

HWY_EXPORT(selection_bodies);

const Family& selection_family() {
  static const auto& family = *new Family("selection", HWY_NAMESPACE::Selections(),
                                          HWY_DYNAMIC_DISPATCH(selection_bodies)());
  return family;
}

namespace {

template <class Op, class... Operands>
Tensor run(const Operands&... operands) {
  return call(selection_family()[index_of<Op>(HWY_NAMESPACE::Selections())], {operands...});
}

}  // namespace
}  // namespace tenure::ops

namespace tenure {

namespace target = ops::HWY_NAMESPACE;
using ops::run;

Tensor where(const Operand& condition, const Operand& a, const Operand& b) {
  return run<target::Where>(condition, a, b);
}
Tensor clamp(const Operand& x, const Operand& low, const Operand& high) {
  return run<target::Clamp>(x, low, high);
}

}  // namespace tenure
#endif
