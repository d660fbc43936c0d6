#pragma once

#include "tenure/kernels/cpu/reduce/fold.h"

namespace tenure::kernels::reduce {

/// The two sources of loops behind find_fold, fold_sum.cpp and fold_extremum.cpp; null where they
/// have no instance.
const Fold* find_sum_fold(Rule rule, DType accumulator);
const Fold* find_extremum_fold(Rule rule, DType accumulator);

}  // namespace tenure::kernels::reduce
