#pragma once

#include "tenure/ops/core/gradient.h"

// The rules of indexing, arrangement and sorting.

namespace tenure::ops::gradients {

void take(Backward& b);
void gather(Backward& b);
void scatter(Backward& b);
void mask_select(Backward& b);
void index_view(Backward& b);
void index_gather(Backward& b);
void index_update(Backward& b);
void index_add(Backward& b);

// In arrange_gradients.cpp.
void pad(Backward& b);
void tile(Backward& b);
void repeat(Backward& b);
void roll(Backward& b);
void tril(Backward& b);
void triu(Backward& b);

// In gradients.cpp.
void sort(Backward& b);
void topk(Backward& b);

}  // namespace tenure::ops::gradients
