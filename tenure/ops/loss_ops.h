#pragma once

#include <cstdint>

#include "tenure/ops/core/operand.h"

// Losses: a fused op each, which keeps nothing but its inputs for the way back, and a fused
// gradient that computes in place of the predictions when nobody else holds them. Predictions and
// targets have one floating type and one shape, unless said otherwise. Sums are taken in float64;
// the mean over nothing is 0. Defined in nn/cross_entropy.cpp and nn/pointwise_loss.cpp.

namespace tenure {

/// What becomes of the losses of all elements, or rows.
enum class Reduction : std::uint8_t { mean, sum, none };

struct CrossEntropyOptions {
  /// The part of each target that is spread evenly over all classes; from 0 to 1.
  double label_smoothing = 0;
  /// Rows with this class count nothing, neither in the sum nor in the mean.
  std::int64_t ignore_index = -100;
  Reduction reduction = Reduction::mean;
};

/// -log(softmax(logits)) at the target, over the last axis. Targets are classes, int32 or int64, in
/// the shape of the logits without their last axis, or probabilities in the shape of the logits.
/// Throws IndexError if a class is outside [0, classes) and not the ignored one.
Tensor cross_entropy(const Operand& logits, const Operand& targets,
                     const CrossEntropyOptions& options = {});

/// -t log(sigmoid(x)) - (1 - t) log(1 - sigmoid(x)), without overflow.
Tensor binary_cross_entropy_with_logits(const Operand& logits, const Operand& targets,
                                        Reduction reduction = Reduction::mean);
/// (x - t)^2
Tensor mse_loss(const Operand& predictions, const Operand& targets,
                Reduction reduction = Reduction::mean);
/// |x - t|
Tensor l1_loss(const Operand& predictions, const Operand& targets,
               Reduction reduction = Reduction::mean);

struct HuberOptions {
  double delta = 1;  ///< above 0
  Reduction reduction = Reduction::mean;
};
/// (x - t)^2 / 2 up to |x - t| = delta, from there on delta (|x - t| - delta / 2).
Tensor huber_loss(const Operand& predictions, const Operand& targets,
                  const HuberOptions& options = {});

/// t (log(t) - x) of log-probabilities x and probabilities t; 0 where t is. The divergence of one
/// distribution from another is a sum: Reduction::mean divides it by the number of elements.
Tensor kl_divergence(const Operand& log_probabilities, const Operand& targets,
                     Reduction reduction = Reduction::mean);

}  // namespace tenure
