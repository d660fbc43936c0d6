#pragma once

#include <vector>

#include "tenure/ops/core/record.h"

// What normalization is meant to compute, for references, and the calls that test it.

namespace tenure::ops {

struct NormReference {
  Reference mean;      ///< of each element's group
  Reference variance;  ///< likewise; of rms the mean square
  Reference normal;    ///< before weight and bias
  Reference y;
};
/// Of x, weight and bias, if they are there: `axes` are normalized together.
NormReference norm_reference(const std::vector<Reference>& in, const Axes& axes, bool rms,
                             double epsilon);
/// Of dy, x and weight, if it is there: the gradients by x, weight and, but for rms, bias, where
/// the last `weight_dims` dimensions have weights.
std::vector<Reference> norm_gradient_reference(const std::vector<Reference>& in, const Axes& axes,
                                               int weight_dims, bool rms, double epsilon);

/// Calls of ops that normalize the last dimensions: with x, or dy and x, and as many weights as
/// make up to `inputs` inputs.
std::vector<Sample> norm_samples(int inputs, bool gradient);

}  // namespace tenure::ops
