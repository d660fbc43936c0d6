#pragma once

#include "tenure/ops/core/gradient.h"

// The rules of elementwise ops, by the op's name; those of functions are in function_gradients.cpp.

namespace tenure::ops::gradients {

void add(Backward& b);
void sub(Backward& b);
void mul(Backward& b);
void div(Backward& b);
void remainder(Backward& b);
void pow(Backward& b);
void maximum(Backward& b);
void minimum(Backward& b);
void neg(Backward& b);
void abs(Backward& b);
void square(Backward& b);
void reciprocal(Backward& b);
void sqrt(Backward& b);
void rsqrt(Backward& b);
void cbrt(Backward& b);
void exp(Backward& b);
void exp2(Backward& b);
void expm1(Backward& b);
void log(Backward& b);
void log2(Backward& b);
void log10(Backward& b);
void log1p(Backward& b);
void sin(Backward& b);
void cos(Backward& b);
void tan(Backward& b);
void asin(Backward& b);
void acos(Backward& b);
void atan(Backward& b);
void atan2(Backward& b);
void sinh(Backward& b);
void cosh(Backward& b);
void asinh(Backward& b);
void acosh(Backward& b);
void atanh(Backward& b);
void erf(Backward& b);
void relu(Backward& b);
void relu6(Backward& b);
void leaky_relu(Backward& b);
void elu(Backward& b);
void selu(Backward& b);
void sigmoid(Backward& b);
void silu(Backward& b);
void softplus(Backward& b);
void softsign(Backward& b);
void gelu(Backward& b);
void gelu_tanh(Backward& b);
void hard_sigmoid(Backward& b);
void hard_swish(Backward& b);
void mish(Backward& b);
void tanh(Backward& b);
void where(Backward& b);
void clamp(Backward& b);
void relu_gradient(Backward& b);
void tanh_gradient(Backward& b);
void sigmoid_gradient(Backward& b);
void silu_gradient(Backward& b);
void gelu_gradient(Backward& b);
void gelu_tanh_gradient(Backward& b);

}  // namespace tenure::ops::gradients
