#pragma once

#include "tenure/ops/conv_ops.h"

// Normalization. A backward pass holds the input and the weight; means and deviations are computed
// again. Defined in nn/norm_functions.cpp.

namespace tenure {

struct LayerNormOptions {
  int dims = 1;  ///< how many of the last dimensions are normalized together; a weight decides it
  double epsilon = 1e-5;
};
/// (x - mean) / sqrt(variance + epsilon) over the last dimensions, times weight plus bias, which
/// have their shape.
Tensor layer_norm(const Operand& x, const LayerNormOptions& options = {});
Tensor layer_norm(const Operand& x, const Operand& weight, const Operand& bias,
                  const LayerNormOptions& options = {});
/// x / sqrt(mean of squares + epsilon) over the last dimensions, times weight.
Tensor rms_norm(const Operand& x, const LayerNormOptions& options = {});
Tensor rms_norm(const Operand& x, const Operand& weight, const LayerNormOptions& options = {});

struct BatchNormOptions {
  double epsilon = 1e-5;
  Channels channels = Channels::last;
};
/// A normalized batch, and what it was normalized by: mean and variance of each channel, without
/// correction.
struct BatchNorm {
  Tensor y;
  Tensor mean;
  Tensor variance;
};
/// Over all dimensions but the channels. Weight and bias are one number for each channel.
BatchNorm batch_norm(const Operand& x, const Operand& weight, const Operand& bias,
                     const BatchNormOptions& options = {});
/// By a given mean and variance, as in a trained network.
Tensor batch_norm_with(const Operand& x, const Operand& mean, const Operand& variance,
                       const Operand& weight, const Operand& bias,
                       const BatchNormOptions& options = {});

/// Over groups of channels and all spatial positions of each image.
Tensor group_norm(const Operand& x, std::int64_t groups, const Operand& weight, const Operand& bias,
                  const BatchNormOptions& options = {});

}  // namespace tenure
