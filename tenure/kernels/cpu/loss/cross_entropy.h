#pragma once

#include <cstdint>

#include "tenure/kernels/view.h"

namespace tenure::kernels {

/// Cross entropy of rows of logits, which lie along the last axis. Targets are class indices, one
/// for each row, or probabilities, as many as logits and of their type.
struct CrossEntropy {
  double label_smoothing = 0;
  std::int64_t ignore_index = 0;  ///< rows with this index count nothing
  bool reduces = true;            ///< to one number
  bool averages = true;           ///< over the rows that count; 0 if there is none
};

/// out = the loss of each row, or one number. Throws IndexError, in the name of `op`, before
/// anything is written if an index is no class.
void cross_entropy(const char* op, const CrossEntropy& loss, const View& logits,
                   const View& targets, const View& out);

/// out = the gradient by the logits; dy is what `cross_entropy` has as out. `out` may be `logits`.
void cross_entropy_gradient(const char* op, const CrossEntropy& loss, const View& logits,
                            const View& targets, const View& dy, const View& out);

}  // namespace tenure::kernels
