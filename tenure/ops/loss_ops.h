#pragma once

#include <cstdint>

#include "tenure/ops/core/operand.h"

// Losses: a fused op each, which keeps nothing but its inputs for the way back, and a fused
// gradient that computes in place of the predictions when nobody else holds them. Predictions and
// targets have one floating type and one shape, unless said otherwise. Sums are taken in float64;
// the mean over nothing is 0. Those with weights of classes, and those of several vectors, are
// written in other ops. Defined in nn/cross_entropy.cpp, nn/pointwise_loss.cpp, nn/class_loss.cpp,
// nn/vector_loss.cpp and nn/ctc_loss.cpp.

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

/// The same with a weight for each class, [classes], of the type of the logits: what a class adds
/// to the loss is multiplied by its weight. Where targets are classes, the mean is divided by the
/// sum of the rows' weights.
Tensor cross_entropy(const Operand& logits, const Operand& targets, const Operand& weight,
                     const CrossEntropyOptions& options = {});

struct NllOptions {
  std::int64_t ignore_index = -100;
  Reduction reduction = Reduction::mean;
};
/// -x at the class, over the last axis: cross entropy of log-probabilities. Targets are classes as
/// in cross_entropy().
Tensor nll_loss(const Operand& log_probabilities, const Operand& targets,
                const NllOptions& options = {});
/// The same with a weight for each class, as in cross_entropy().
Tensor nll_loss(const Operand& log_probabilities, const Operand& targets, const Operand& weight,
                const NllOptions& options = {});
/// x at the class of each row, over the last axis; 0 where that is `ignore_index`. Throws
/// IndexError as cross_entropy() does.
Tensor class_values(const Operand& x, const Operand& classes, std::int64_t ignore_index = -100);

/// -t log(sigmoid(x)) - (1 - t) log(1 - sigmoid(x)), without overflow.
Tensor binary_cross_entropy_with_logits(const Operand& logits, const Operand& targets,
                                        Reduction reduction = Reduction::mean);
/// -w t log(sigmoid(x)) - (1 - t) log(1 - sigmoid(x)): what is positive counts `positive_weight`
/// times, a number or a tensor that broadcasts to the logits.
Tensor binary_cross_entropy_with_logits(const Operand& logits, const Operand& targets,
                                        const Operand& positive_weight,
                                        Reduction reduction = Reduction::mean);
/// -t log(x) - (1 - t) log(1 - x) of probabilities, whose logarithms are not below -100. Logits are
/// exact where probabilities are 0 or 1: prefer those.
Tensor binary_cross_entropy(const Operand& probabilities, const Operand& targets,
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

struct SmoothL1Options {
  double beta = 1;  ///< not below 0
  Reduction reduction = Reduction::mean;
};
/// (x - t)^2 / (2 beta) up to |x - t| = beta, from there on |x - t| - beta / 2; |x - t| if beta is
/// 0.
Tensor smooth_l1_loss(const Operand& predictions, const Operand& targets,
                      const SmoothL1Options& options = {});

/// t (log(t) - x) of log-probabilities x and probabilities t; 0 where t is. The divergence of one
/// distribution from another is a sum: Reduction::mean divides it by the number of elements.
Tensor kl_divergence(const Operand& log_probabilities, const Operand& targets,
                     Reduction reduction = Reduction::mean);

struct CtcOptions {
  std::int64_t blank = 0;      ///< the class that stands for none
  bool zero_infinity = false;  ///< of targets that have no path: 0 instead of infinity
  /// The mean is over sequences, each divided by the length of its target.
  Reduction reduction = Reduction::mean;
};
/// Connectionist temporal classification: -log of the probability of all paths that are the target
/// without repetitions and blanks. Log-probabilities are [batch, time, classes], targets classes
/// [batch, longest], lengths [batch]; what is behind a length counts nothing. Targets and lengths
/// are int32 or int64. The gradient of a target without a path is 0.
Tensor ctc_loss(const Operand& log_probabilities, const Operand& targets,
                const Operand& input_lengths, const Operand& target_lengths,
                const CtcOptions& options = {});

// Of vectors, which lie along the last axis; each row is one.

/// a b / (|a| |b|) along an axis; lengths are not below epsilon. The shapes broadcast.
Tensor cosine_similarity(const Operand& a, const Operand& b, int axis = -1, double epsilon = 1e-8);

struct CosineLossOptions {
  double margin = 0;
  Reduction reduction = Reduction::mean;
};
/// 1 - cosine_similarity(a, b) where the label is above 0, else max(0, cosine_similarity(a, b) -
/// margin). Labels are numbers, one for each row.
Tensor cosine_embedding_loss(const Operand& a, const Operand& b, const Operand& labels,
                             const CosineLossOptions& options = {});

struct TripletOptions {
  double margin = 1;
  double order = 2;  ///< of the norm; above 0
  double epsilon = 1e-6;
  bool swap = false;  ///< the negative is as near as it is to the positive, if that is nearer
  Reduction reduction = Reduction::mean;
};
/// max(0, margin + d(anchor, positive) - d(anchor, negative)), where d(x, y) is the norm of
/// x - y + epsilon.
Tensor triplet_margin_loss(const Operand& anchor, const Operand& positive, const Operand& negative,
                           const TripletOptions& options = {});

}  // namespace tenure
