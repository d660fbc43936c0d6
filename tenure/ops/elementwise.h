#pragma once

#include <optional>

#include "tenure/ops/core/operand.h"

// Elementwise ops: inputs broadcast as in NumPy, element types meet as docs/promotion.md says, and
// a moved input of the result's shape and size is computed in place. `tenure ops NAME` tells what
// each does and how accurate it is. The lists in the files that are named here define these
// functions, by way of elementwise/elementwise.cpp.

namespace tenure {

// Arithmetic: elementwise/arithmetic-inl.h.
Tensor add(const Operand& a, const Operand& b);
Tensor sub(const Operand& a, const Operand& b);
Tensor mul(const Operand& a, const Operand& b);
Tensor div(const Operand& a, const Operand& b);
Tensor floor_divide(const Operand& a, const Operand& b);
Tensor remainder(const Operand& a, const Operand& b);
Tensor fmod(const Operand& a, const Operand& b);
Tensor pow(const Operand& a, const Operand& b);
Tensor maximum(const Operand& a, const Operand& b);
Tensor minimum(const Operand& a, const Operand& b);
Tensor neg(const Operand& x);
Tensor abs(const Operand& x);
Tensor sign(const Operand& x);
Tensor square(const Operand& x);
Tensor reciprocal(const Operand& x);

// Rounding: elementwise/exponential-inl.h.
Tensor floor(const Operand& x);
Tensor ceil(const Operand& x);
Tensor round(const Operand& x);
Tensor trunc(const Operand& x);

// Roots, exponentials, logarithms: there too.
Tensor sqrt(const Operand& x);
Tensor rsqrt(const Operand& x);
Tensor cbrt(const Operand& x);
Tensor exp(const Operand& x);
Tensor exp2(const Operand& x);
Tensor expm1(const Operand& x);
Tensor log(const Operand& x);
Tensor log2(const Operand& x);
Tensor log10(const Operand& x);
Tensor log1p(const Operand& x);

// Trigonometric and hyperbolic functions, error function: elementwise/trigonometric-inl.h.
Tensor sin(const Operand& x);
Tensor cos(const Operand& x);
Tensor tan(const Operand& x);
Tensor asin(const Operand& x);
Tensor acos(const Operand& x);
Tensor atan(const Operand& x);
Tensor atan2(const Operand& y, const Operand& x);
Tensor sinh(const Operand& x);
Tensor cosh(const Operand& x);
Tensor tanh(const Operand& x);
Tensor asinh(const Operand& x);
Tensor acosh(const Operand& x);
Tensor atanh(const Operand& x);
Tensor erf(const Operand& x);

// Special functions, and such with a care for overflow: elementwise/special-inl.h.
Tensor erfc(const Operand& x);
Tensor erfinv(const Operand& x);
Tensor lgamma(const Operand& x);
Tensor digamma(const Operand& x);
Tensor hypot(const Operand& a, const Operand& b);
Tensor logaddexp(const Operand& a, const Operand& b);

// Activations: elementwise/activation-inl.h.
Tensor relu(const Operand& x);
Tensor relu6(const Operand& x);
Tensor leaky_relu(const Operand& x, const Operand& slope = 0.01);
Tensor elu(const Operand& x, const Operand& alpha = 1.0);
Tensor selu(const Operand& x);
Tensor sigmoid(const Operand& x);
Tensor silu(const Operand& x);
Tensor softplus(const Operand& x);
Tensor softsign(const Operand& x);
Tensor gelu(const Operand& x);
Tensor gelu_tanh(const Operand& x);
Tensor hard_sigmoid(const Operand& x);
Tensor hard_swish(const Operand& x);
Tensor mish(const Operand& x);

// Comparison, in elementwise/comparison-inl.h: the result is bool.
Tensor equal(const Operand& a, const Operand& b);
Tensor not_equal(const Operand& a, const Operand& b);
Tensor less(const Operand& a, const Operand& b);
Tensor less_equal(const Operand& a, const Operand& b);
Tensor greater(const Operand& a, const Operand& b);
Tensor greater_equal(const Operand& a, const Operand& b);
Tensor isnan(const Operand& x);
Tensor isinf(const Operand& x);
Tensor isfinite(const Operand& x);

// Logic, in elementwise/logic-inl.h: anything but zero is true.
Tensor logical_and(const Operand& a, const Operand& b);
Tensor logical_or(const Operand& a, const Operand& b);
Tensor logical_xor(const Operand& a, const Operand& b);
Tensor logical_not(const Operand& x);

// Bits of integers; bool counts as one bit.
Tensor bitwise_and(const Operand& a, const Operand& b);
Tensor bitwise_or(const Operand& a, const Operand& b);
Tensor bitwise_xor(const Operand& a, const Operand& b);
Tensor bitwise_not(const Operand& x);
Tensor left_shift(const Operand& a, const Operand& b);
Tensor right_shift(const Operand& a, const Operand& b);

// Choice: elementwise/selection-inl.h.
Tensor where(const Operand& condition, const Operand& a, const Operand& b);
Tensor clamp(const Operand& x, const Operand& low, const Operand& high);

// Written in others: elementwise/composites.cpp.

/// The derivative of digamma.
Tensor trigamma(const Operand& x);
/// a + weight (b - a): a for a weight of 0, b for 1.
Tensor lerp(const Operand& a, const Operand& b, const Operand& weight);
/// x with `value` where the mask, which broadcasts to x, holds. The result has the type of x.
Tensor masked_fill(const Operand& x, const Operand& mask, const Operand& value);
/// x with numbers in place of NaN and of the infinities: the largest and the lowest of its type
/// unless told.
Tensor nan_to_num(const Operand& x, double nan = 0, std::optional<double> posinf = std::nullopt,
                  std::optional<double> neginf = std::nullopt);
/// Whether |a - b| <= atol + rtol |b|, or a and b are equal, or, if told so, both are NaN.
Tensor isclose(const Operand& a, const Operand& b, double rtol = 1e-5, double atol = 1e-8,
               bool equal_nan = false);
/// Whether isclose holds everywhere.
Tensor allclose(const Operand& a, const Operand& b, double rtol = 1e-5, double atol = 1e-8,
                bool equal_nan = false);
/// Whether a and b have the same shape and equal elements. NaN is equal to nothing.
Tensor array_equal(const Operand& a, const Operand& b);

}  // namespace tenure
