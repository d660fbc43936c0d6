#pragma once

#include "tenure/ops/core/gradient.h"

// The rules of reductions, scans and softmax.

namespace tenure::ops::gradients {

void sum(Backward& b);
void sum_like(Backward& b);
void mean(Backward& b);
void prod(Backward& b);
/// Of max and min. Elements that are equal share the gradient in equal parts.
void extremum(Backward& b);
void var(Backward& b);
void stddev(Backward& b);
void logsumexp(Backward& b);
void norm(Backward& b);
void cumsum(Backward& b);
/// Divides by the elements: NaN where one is zero.
void cumprod(Backward& b);
/// Of cummax or cummin: each result's gradient goes to the first element that it is.
template <bool largest>
void running_extremum(Backward& b);
void softmax(Backward& b);
void log_softmax(Backward& b);
void softmax_gradient(Backward& b);
void log_softmax_gradient(Backward& b);

}  // namespace tenure::ops::gradients
