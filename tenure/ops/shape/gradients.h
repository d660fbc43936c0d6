#pragma once

#include "tenure/ops/core/gradient.h"

// The rules of views, copies and joins.

namespace tenure::ops::gradients {

/// The gradient as it is, in the input's type.
void pass(Backward& b);
void reshape(Backward& b);
void transpose(Backward& b);
void permute(Backward& b);
void broadcast(Backward& b);
void slice(Backward& b);
void split(Backward& b);
void select(Backward& b);
void diagonal(Backward& b);
void unfold(Backward& b);
void moveaxis(Backward& b);
void flip(Backward& b);
void concat(Backward& b);
void stack(Backward& b);

}  // namespace tenure::ops::gradients
