#pragma once

#include "tenure/kernels/cuda/reduce/groups_arguments.h"
#include "tenure/kernels/cuda/reduce/held_arguments.h"

namespace tenure::kernels::cuda {

/// Classes, one for each row, int32 or int64.
struct ClassesView {
  FlatView view;
  std::int32_t is_wide;  ///< int64
};

/// Of the search for a class that is none.
struct ClassesArguments {
  ClassesView targets;
  std::int64_t rows;
  std::int64_t classes;
  std::int64_t ignore_index;
  std::uint64_t* answers;  ///< of each block: the first row with one, or all bits; that
};
inline constexpr int kClassAnswers = 2;

/// Of the count of rows that are not ignored.
struct CountClassesArguments {
  ClassesView targets;
  std::int64_t rows;
  std::int64_t chunk;  ///< rows of a block
  std::int64_t ignore_index;
  double* counts;  ///< of each block
};

/// What a block has of the sum of losses.
struct LossPart {
  double loss;
  double rows;  ///< that count
};

/// What losses end with: each element's, or their sum. Where blocks share a sum, each writes its
/// part, and the last one to do so adds them up.
struct LossSum {
  void* out;
  LossPart* parts;  ///< of each block; none: there is one block
  std::int32_t reduces;
  std::int32_t counts;  ///< the sum is divided by the number of rows that count, not scaled
  double scale;
};
/// Of the mean of so many losses.
constexpr double scale_of(double counted) { return 1 / (counted > 1 ? counted : 1); }

/// Of cross entropy and its gradient. Rows are along the last axis.
struct CrossEntropyArguments {
  MatrixView logits;
  ClassesView targets;  ///< no data: there are probabilities
  MatrixView probabilities;
  FlatView dy;  ///< of the gradient; one, or of each row
  std::int32_t dy_dtype;
  MatrixView gradient;
  std::int64_t rows;
  std::int64_t classes;
  std::int64_t row_step;  ///< of long rows: elements from row to row, as far as strips know of them
  std::int64_t ignore_index;
  double label_smoothing;
  RowForm form;
  Groups groups;
  std::int64_t all_groups;  ///< each has the rows from its own on, so many apart
  const double* counts;     ///< of gradients of a mean, parts of the number of rows that count;
                            ///< none: blocks count for themselves
  std::int64_t count_parts;
  LossSum sum;
};
/// Threads of a block that has a row longer than what is held.
inline constexpr unsigned kLongRowThreads = 512;
/// No more than a block has threads.
inline constexpr std::int64_t kMostCountParts = kGroupThreads;

/// As in kernels/cpu/loss/pointwise.h.
enum PointwiseKind : std::int32_t {
  kSquared,
  kAbsolute,
  kHuber,
  kLogitEntropy,
  kProbabilityEntropy,
  kDivergence,
};

/// Of losses of elements, and their gradients.
struct PointwiseArguments {
  FlatView x;
  FlatView targets;
  FlatView dy;  ///< of the gradient; one, or of each element
  std::int64_t n;
  std::int32_t kind;
  double parameter;
  double least_log;
  double least_product;
  LossSum sum;
};

/// Of class_values.
struct ClassValuesArguments {
  MatrixView x;
  ClassesView targets;
  std::int64_t rows;
  std::int64_t ignore_index;
  void* out;
};

}  // namespace tenure::kernels::cuda
