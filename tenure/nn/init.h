#pragma once

#include <cstdint>
#include <functional>

#include "tenure/tensor/tensor.h"

namespace tenure::nn {

/// How many numbers meet in one result of a layer, and in how many results one number is read.
struct Fans {
  std::int64_t in = 1;
  std::int64_t out = 1;
};

/// Makes what a parameter holds at first; the site is where its layer was made.
using Initializer = std::function<Tensor(const Shape&, Fans, DType, Site)>;

/// Random ones draw from the default generator: seed() makes them repeatable.
namespace init {

// They throw ValueError for numbers that are not finite and for deviations below zero.
Initializer constant(double value, Site site = Site::current());
Initializer zeros();
Initializer ones();
Initializer normal(double deviation = 0.02, Site site = Site::current());
/// Throws ValueError unless low <= high.
Initializer uniform(double low, double high, Site site = Site::current());
/// Keeps the variance of signals and of gradients as near as it can (Glorot and Bengio, 2010).
Initializer glorot_uniform();
Initializer glorot_normal();
/// Keeps the variance of signals through relu (He et al., 2015).
Initializer he_uniform();
Initializer he_normal();
/// Keeps the variance of signals through selu and tanh (LeCun et al., 1998).
Initializer lecun_normal();

}  // namespace init

}  // namespace tenure::nn
