#pragma once

#include "tenure/kernels/cuda/reduce/groups_arguments.h"
#include "tenure/kernels/cuda/reduce/held_arguments.h"

namespace tenure::kernels::cuda {

/// Of norms along rows, and their gradients.
struct RowNormArguments {
  MatrixView x;
  MatrixView dy;  ///< of gradients
  MatrixView out;
  FlatView weight;
  FlatView bias;
  std::int64_t rows;
  std::int64_t columns;
  double epsilon;
  std::int32_t rms;  ///< the mean is left out
  RowForm form;
  Groups groups;
  std::int64_t all_groups;  ///< of gradients: each has the rows from its own on, so many apart
  void* partials;  ///< of gradients, of each block: its sums of each column, by weight, by bias
};

/// Of the sums of partial sums.
struct NormSumsArguments {
  const void* partials;  ///< of each part, of each column by weight, then by bias
  std::int64_t parts;
  std::int64_t columns;
  Groups groups;
  void* by_weight;
  void* by_bias;  ///< there may be none
};

}  // namespace tenure::kernels::cuda
