#pragma once

#include "tenure/kernels/cpu/reduce/fold.h"

namespace tenure::kernels::folding {

/// The two translation units behind find_fold; null where they have no instance.
const Fold* find_sum_fold(Rule rule, DType accumulator);
const Fold* find_extremum_fold(Rule rule, DType accumulator);

}  // namespace tenure::kernels::folding
