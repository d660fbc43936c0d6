// Choice.
#if defined(TENURE_OPS_ELEMENTWISE_SELECTION_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TENURE_OPS_ELEMENTWISE_SELECTION_INL_H_
#undef TENURE_OPS_ELEMENTWISE_SELECTION_INL_H_
#else
#define TENURE_OPS_ELEMENTWISE_SELECTION_INL_H_
#endif

#include <cmath>
#include <cstdint>

#include "tenure/ops/derivatives.h"
#include "tenure/ops/elementwise.h"
#include "tenure/ops/elementwise/definition.h"
#include "tenure/ops/elementwise/gradients.h"
#include "tenure/ops/elementwise/value_kinds.h"

TENURE_BODIES_BEGIN

struct Where : ElementwiseDefaults<3, TypeRule::select, kAllTypes> {
  static constexpr auto name = "where";
  static constexpr auto arguments = "condition, a, b";
  static constexpr auto doc = "a where the condition holds, b elsewhere";
  static constexpr std::uint8_t reuse = 6;
  template <class Condition, class V>
  static TENURE_BODY V apply(Condition condition, V a, V b) {
    return select(condition, a, b);
  }
  static long double reference(long double condition, long double a, long double b) {
    return condition != 0 ? a : b;
  }
  static void backward(Backward& b) {
    if (b.wants(1))
      gradients::give(b, 1, tenure::where(b.input(0), gradients::gradient_for(b, 1), 0.0));
    if (b.wants(2)) gradients::give(b, 2, tenure::where(b.input(0), 0.0, b.take_gradient()));
  }
  static constexpr GradientRule gradient{.needs = {{{}, input_data(0), input_data(0)}},
                                         .run = backward};
};

struct Clamp : Map<3, kNumberTypes> {
  static constexpr auto name = "clamp";
  static constexpr auto arguments = "x, low, high";
  static constexpr auto doc = "x held between low and high; NaN stays";
  template <class V>
  static TENURE_BODY V apply(V x, V low, V high) {
    return min(max(x, low), high);
  }
  static long double reference(long double x, long double low, long double high) {
    if (std::isnan(x) || std::isnan(low)) return x + low;
    const long double raised = x > low ? x : low;
    return raised < high ? raised : high;
  }
  static void backward(Backward& b) {
    // min(max(x, low), high): one of the three passes its value on.
    const Tensor raised = tenure::less(b.input(0), b.input(1));
    const Tensor lowered =
        tenure::greater(b.at(tenure::maximum(b.input(0), b.input(1))), b.input(2));
    const Operand is_raised(raised, b.site);
    const Operand is_lowered(lowered, b.site);
    if (b.wants(0)) {
      const Tensor moved = tenure::logical_or(is_raised, is_lowered);
      gradients::give(b, 0,
                      tenure::where(Operand(moved, b.site), 0.0, gradients::gradient_for(b, 0)));
    }
    if (b.wants(1)) {
      Tensor passed = tenure::where(is_raised, gradients::gradient_for(b, 1), 0.0);
      gradients::give(b, 1, tenure::where(is_lowered, 0.0, b.at(std::move(passed))));
    }
    if (b.wants(2)) gradients::give(b, 2, tenure::where(is_lowered, b.take_gradient(), 0.0));
  }
  static constexpr GradientRule gradient{
      .needs = {{input_data(0, 1, 2), input_data(0, 1, 2), input_data(0, 1, 2)}}, .run = backward};
};

// The list: each line makes a record, its kernels, and the function that the header declares.
#define TENURE_SELECTIONS(UNARY, BINARY, TERNARY, BY_HAND) \
  TERNARY(where, Where)                                    \
  TERNARY(clamp, Clamp)

using Selections =
    ListOf<void TENURE_SELECTIONS(TENURE_LISTED, TENURE_LISTED, TENURE_LISTED, TENURE_LISTED)>;

TENURE_BODIES_END

#endif  // include guard
