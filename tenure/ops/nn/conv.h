#pragma once

#include <functional>
#include <vector>

#include "tenure/ops/core/operand.h"
#include "tenure/ops/core/record.h"
#include "tenure/ops/nn/conv_shape.h"

// What the records of convolutions (conv.cpp) and of their gradients (conv_gradients.cpp) share.

namespace tenure::ops {

const OpRecord& conv_record(bool relu);
const OpRecord& conv_input_gradient_record();
const OpRecord& conv_weight_gradient_record(bool with_bias);

// Calls of the records.
Tensor convolve(const Operand& x, const Operand& weights, const ConvArguments& arguments);
Tensor input_gradient(const Operand& dy, const Operand& weights, const ConvArguments& arguments,
                      const Dims& spatial);
/// That by the weights, and behind it that by the bias.
std::vector<Tensor> weight_gradient(const Operand& x, const Operand& dy,
                                    const ConvArguments& arguments, const Shape& weights,
                                    bool with_bias);

/// Calls `f(x, w, y)` with the places of every product that a convolution sums.
void for_each_product(const Convolution& c,
                      const std::function<void(std::size_t, std::size_t, std::size_t)>& f);

/// One call of the samples, from which those of the gradients are made too.
struct ConvSample {
  Shape x;
  Shape weights;
  ConvArguments arguments;
};

std::vector<ConvSample> conv_samples();

}  // namespace tenure::ops
