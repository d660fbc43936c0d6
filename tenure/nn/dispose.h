#pragma once

#include <cstdint>
#include <vector>

#include "tenure/nn/layer.h"

namespace tenure::nn {

/// Disposes those that are not disposed yet; the bytes that they had.
std::int64_t dispose_all(const std::vector<NamedVariable>& variables, Site site);

}  // namespace tenure::nn
