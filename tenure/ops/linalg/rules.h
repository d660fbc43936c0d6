#pragma once

#include "tenure/ops/core/gradient.h"

/// The gradients of linear algebra. In rules.cpp and decompose_rules.cpp.
namespace tenure::ops::rules {

void cholesky(Backward& b);
void solve_triangular(Backward& b);
void solve(Backward& b);
void inv(Backward& b);
void det(Backward& b);
void slogdet(Backward& b);
void pinv(Backward& b);

void qr(Backward& b);
void eigh(Backward& b);
void svd(Backward& b);

}  // namespace tenure::ops::rules
