#include "tenure/ops/elementwise/gradients.h"

#include <cmath>

#include "tenure/ops/derivatives.h"
#include "tenure/ops/elementwise.h"

// Arithmetic, roots, exponentials, logarithms, selection. Ops go by their full names here: each has
// a rule of the same name.

namespace tenure::ops::gradients {
namespace {

/// The gradient of input i, from a result that has the op's shape.
void give(Backward& b, std::size_t i, Tensor gradient) {
  b.results[i] = to_input(b, i, std::move(gradient));
}
/// The gradient itself, for input i: used up if no later input wants it.
Operand gradient_for(Backward& b, std::size_t i) {
  for (std::size_t j = i + 1; j < b.specs.size(); ++j) {
    if (b.wants(j)) return b.gradient();
  }
  return b.take_gradient();
}
Tensor handle_for(Backward& b, std::size_t i) {
  for (std::size_t j = i + 1; j < b.specs.size(); ++j) {
    if (b.wants(j)) return b.gradients[0];
  }
  return std::move(b.gradients[0]);
}

/// Where `first`(a, b) holds the whole gradient, where they are equal half of it.
template <class First>
void share(Backward& b, const First& first) {
  const Tensor equals = tenure::equal(b.input(0), b.input(1));
  for (const std::size_t i : {std::size_t{0}, std::size_t{1}}) {
    if (!b.wants(i)) continue;
    const Tensor wins = first(b.input(i), b.input(1 - i));
    Tensor tied = tenure::mul(b.gradient(), 0.5);
    tied = tenure::where(Operand(equals, b.site), b.at(std::move(tied)), 0.0);
    give(b, i, tenure::where(Operand(wins, b.site), gradient_for(b, i), b.at(std::move(tied))));
  }
}

bool is_number(const Backward& b, std::size_t i) { return !b.numbers.empty() && b.numbers[i]; }

}  // namespace

void add(Backward& b) {
  for (const std::size_t i : {std::size_t{0}, std::size_t{1}}) {
    if (b.wants(i)) give(b, i, handle_for(b, i));
  }
}

void sub(Backward& b) {
  if (b.wants(0)) give(b, 0, handle_for(b, 0));
  if (b.wants(1)) give(b, 1, tenure::neg(b.take_gradient()));
}

void mul(Backward& b) {
  if (b.wants(0)) give(b, 0, tenure::mul(gradient_for(b, 0), b.input(1)));
  if (b.wants(1)) give(b, 1, tenure::mul(b.take_gradient(), b.input(0)));
}

void div(Backward& b) {
  Tensor quotient = tenure::div(b.take_gradient(), b.input(1));
  if (b.wants(1)) {
    give(b, 1, tenure::neg(b.at(tenure::mul(Operand(quotient, b.site), b.output()))));
  }
  if (b.wants(0)) give(b, 0, std::move(quotient));
}

void remainder(Backward& b) {
  if (b.wants(0)) give(b, 0, handle_for(b, 0));
  if (b.wants(1)) {
    Tensor times = tenure::floor_divide(b.input(0), b.input(1));
    give(b, 1, tenure::neg(b.at(tenure::mul(b.take_gradient(), b.at(std::move(times))))));
  }
}

void pow(Backward& b) {
  if (b.wants(0) && is_number(b, 1)) {
    const double power = b.numbers[1]->floating;
    Tensor slope = tenure::mul(b.at(tenure::pow(b.input(0), power - 1)), power);
    give(b, 0, tenure::mul(b.take_gradient(), b.at(std::move(slope))));
    return;
  }
  if (b.wants(0)) {
    // A power of 0 has no slope, not even at 0, where the other factor is infinite.
    const Tensor is_zero = tenure::equal(b.input(1), 0);
    const Tensor power = tenure::where(Operand(is_zero, b.site), 1.0, b.input(1));
    Tensor slope = tenure::pow(b.input(0), b.at(tenure::sub(Operand(power, b.site), 1)));
    slope = tenure::mul(b.at(std::move(slope)), b.input(1));
    give(b, 0, tenure::mul(gradient_for(b, 0), b.at(std::move(slope))));
  }
  if (b.wants(1) && is_number(b, 0)) {
    const double base = b.numbers[0]->floating;
    Tensor slope = tenure::mul(b.output(), base == 0 ? 0.0 : std::log(base));
    give(b, 1, tenure::mul(b.take_gradient(), b.at(std::move(slope))));
    return;
  }
  if (b.wants(1)) {
    const Tensor is_zero = tenure::equal(b.input(0), 0);
    Tensor base = tenure::where(Operand(is_zero, b.site), 1.0, b.input(0));
    Tensor slope = tenure::mul(b.output(), b.at(tenure::log(b.at(std::move(base)))));
    give(b, 1, tenure::mul(b.take_gradient(), b.at(std::move(slope))));
  }
}

void maximum(Backward& b) {
  share(b, [](const Operand& x, const Operand& y) { return tenure::greater(x, y); });
}
void minimum(Backward& b) {
  share(b, [](const Operand& x, const Operand& y) { return tenure::less(x, y); });
}

void neg(Backward& b) { b.results[0] = tenure::neg(b.take_gradient()); }
void abs(Backward& b) {
  b.results[0] = tenure::mul(b.take_gradient(), b.at(tenure::sign(b.take_input(0))));
}
void square(Backward& b) {
  b.results[0] = tenure::mul(b.at(tenure::mul(b.take_gradient(), b.take_input(0))), 2.0);
}
void reciprocal(Backward& b) {
  b.results[0] =
      tenure::neg(b.at(tenure::mul(b.take_gradient(), b.at(tenure::square(b.take_output())))));
}

void sqrt(Backward& b) {
  b.results[0] = tenure::mul(b.at(tenure::div(b.take_gradient(), b.take_output())), 0.5);
}
void rsqrt(Backward& b) {
  Tensor cube = tenure::mul(b.at(tenure::square(b.output())), b.output());
  b.results[0] = tenure::mul(b.at(tenure::mul(b.take_gradient(), b.at(std::move(cube)))), -0.5);
}
void cbrt(Backward& b) {
  Tensor slope = tenure::mul(b.at(tenure::square(b.take_output())), 3.0);
  b.results[0] = tenure::div(b.take_gradient(), b.at(std::move(slope)));
}
void exp(Backward& b) { b.results[0] = tenure::mul(b.take_gradient(), b.take_output()); }
void exp2(Backward& b) {
  b.results[0] =
      tenure::mul(b.at(tenure::mul(b.take_gradient(), b.take_output())), 0.69314718055994530942);
}
void expm1(Backward& b) {
  b.results[0] = tenure::mul(b.take_gradient(), b.at(tenure::add(b.take_output(), 1.0)));
}
void log(Backward& b) { b.results[0] = tenure::div(b.take_gradient(), b.take_input(0)); }
void log2(Backward& b) {
  b.results[0] =
      tenure::mul(b.at(tenure::div(b.take_gradient(), b.take_input(0))), 1.4426950408889634074);
}
void log10(Backward& b) {
  b.results[0] =
      tenure::mul(b.at(tenure::div(b.take_gradient(), b.take_input(0))), 0.43429448190325182765);
}
void log1p(Backward& b) {
  b.results[0] = tenure::div(b.take_gradient(), b.at(tenure::add(b.take_input(0), 1.0)));
}

void where(Backward& b) {
  if (b.wants(1)) give(b, 1, tenure::where(b.input(0), gradient_for(b, 1), 0.0));
  if (b.wants(2)) give(b, 2, tenure::where(b.input(0), 0.0, b.take_gradient()));
}

void clamp(Backward& b) {
  // min(max(x, low), high): one of the three passes its value on.
  const Tensor raised = tenure::less(b.input(0), b.input(1));
  const Tensor lowered = tenure::greater(b.at(tenure::maximum(b.input(0), b.input(1))), b.input(2));
  const Operand is_raised(raised, b.site);
  const Operand is_lowered(lowered, b.site);
  if (b.wants(0)) {
    const Tensor moved = tenure::logical_or(is_raised, is_lowered);
    give(b, 0, tenure::where(Operand(moved, b.site), 0.0, gradient_for(b, 0)));
  }
  if (b.wants(1)) {
    Tensor passed = tenure::where(is_raised, gradient_for(b, 1), 0.0);
    give(b, 1, tenure::where(is_lowered, 0.0, b.at(std::move(passed))));
  }
  if (b.wants(2)) give(b, 2, tenure::where(is_lowered, b.take_gradient(), 0.0));
}

void relu_gradient(Backward& b) {
  // Its slope by y is zero wherever it has one.
  if (b.wants(0)) give(b, 0, tenure::relu_gradient(b.take_gradient(), b.input(1)));
}

void tanh_gradient(Backward& b) {
  if (b.wants(1)) {
    Tensor slope = tenure::mul(b.at(tenure::mul(b.gradient(), b.input(0))), b.input(1));
    give(b, 1, tenure::mul(b.at(std::move(slope)), -2.0));
  }
  if (b.wants(0)) give(b, 0, tenure::tanh_gradient(b.take_gradient(), b.input(1)));
}

void sigmoid_gradient(Backward& b) {
  if (b.wants(1)) {
    Tensor slope = tenure::sub(Operand(1.0, b.site), b.at(tenure::mul(b.input(1), 2.0)));
    slope = tenure::mul(b.at(std::move(slope)), b.input(0));
    give(b, 1, tenure::mul(b.at(std::move(slope)), b.gradient()));
  }
  if (b.wants(0)) give(b, 0, tenure::sigmoid_gradient(b.take_gradient(), b.input(1)));
}

}  // namespace tenure::ops::gradients
