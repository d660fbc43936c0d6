#pragma once

#include "tenure/kernels/cuda/loss/loss.cuh"

// Rows that have a class each, some of which may be ignored.

namespace tenure::kernels::cuda {

inline std::int64_t class_at(const ClassesView& targets, std::int64_t row) {
  const std::int64_t at = offset_in(targets.view.walk, row);
  return targets.is_wide != 0 ? static_cast<const std::int64_t*>(targets.view.data)[at]
                              : static_cast<const std::int32_t*>(targets.view.data)[at];
}

/// How many rows from `begin` on a thread of a block finds that are not ignored.
inline double counted_by_thread(const ClassesView& targets, std::int64_t ignore_index,
                                std::int64_t begin, std::int64_t end) {
  double own = 0;
  for (std::int64_t row = begin + threadIdx.x; row < end; row += kGroupThreads) {
    own += class_at(targets, row) == ignore_index ? 0 : 1;
  }
  return own;
}

/// What a thread has of the number of rows, where the mean is of those that count: of what other
/// blocks have left, or of rows that are counted here.
inline double own_counted_rows(const CrossEntropyArguments& a) {
  if (a.sum.counts == 0) return 0;
  if (a.counts == nullptr) return counted_by_thread(a.targets, a.ignore_index, 0, a.rows);
  return threadIdx.x < a.count_parts ? a.counts[threadIdx.x] : 0;
}

/// The loss of a row: `sum` is that of exp(x - shift), `mass` that of the probabilities, `logits`
/// those by their probabilities, and their sum where labels are smoothed.
inline double entropy_of(const CrossEntropyArguments& a, double mass, double shift, double sum,
                         Pair<double> logits) {
  double result = mass * (shift + std::log(sum)) - (1 - a.label_smoothing) * logits.first;
  if (a.label_smoothing != 0) {
    result -= a.label_smoothing / static_cast<double>(a.classes) * logits.second;
  }
  return result;
}

/// What the gradient by the logits of a row is made of.
template <class C>
struct EntropyFactors {
  C weight;  ///< of probabilities that are given
  C constant;
  C factor;

  EntropyFactors(const CrossEntropyArguments& a, std::int64_t row, double counted, double mass,
                 double sum) {
    const std::int64_t at = a.sum.reduces != 0 ? 0 : offset_in(a.dy.walk, row);
    const double scale = a.sum.counts != 0 ? scale_of(counted) : a.sum.scale;
    const double dy = load_as<double>(a.dy.data, at, a.dy_dtype) * scale;
    weight = static_cast<C>(dy * (1 - a.label_smoothing));
    constant = 0;
    if (a.label_smoothing != 0) {
      constant = static_cast<C>(dy * a.label_smoothing / static_cast<double>(a.classes));
    }
    factor = static_cast<C>(dy * mass / sum);
  }
  /// Before the weight: `power` is exp(x - shift).
  C of(C power) const { return std::fma(power, factor, -constant); }
};

}  // namespace tenure::kernels::cuda
