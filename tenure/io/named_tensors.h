#pragma once

#include <map>
#include <string>

#include "tenure/tensor/tensor.h"

namespace tenure {

/// Tensors by name, as archives have them: the state of a model, of an optimizer, of a run.
using NamedTensors = std::map<std::string, Tensor>;

}  // namespace tenure
