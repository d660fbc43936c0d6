#pragma once

#include "tenure/nn/init.h"

namespace tenure::nn {

/// What an initializer, the option of this name, makes. Throws ValueError for an empty one. In
/// init.cpp.
Tensor initial_of(const char* name, const Initializer& initializer, const Shape& shape,
                  const Fans& fans, DType dtype, Site site);

}  // namespace tenure::nn
