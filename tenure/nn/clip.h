#pragma once

#include <vector>

#include "tenure/tensor/tensor.h"

namespace tenure::nn {

/// The length of all gradients together, as one vector; a float32.
Tensor global_norm(const std::vector<Tensor>& gradients, Site site = Site::current());

/// Shortens the gradients, moved in, so that together they are no longer than `longest`. Their
/// direction stays.
std::vector<Tensor> clip_by_global_norm(std::vector<Tensor> gradients, double longest,
                                        Site site = Site::current());

/// Brings every element into [-limit, limit].
std::vector<Tensor> clip_by_value(std::vector<Tensor> gradients, double limit,
                                  Site site = Site::current());

}  // namespace tenure::nn
