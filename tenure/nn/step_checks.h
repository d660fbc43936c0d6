#pragma once

#include "tenure/nn/steps.h"

// What a step is held to when it is traced, before it can change anything.

namespace tenure::nn {

/// Throws ShapeError or DTypeError, which names `what`, unless it is one floating-point number.
void require_number(const Tensor& tensor, const std::string& what, Site site);

/// Throws ValueError if the model computed `prediction`, a symbol of a trace, from trainable
/// variables that are neither its own nor the optimizer's: a layer that was never add()ed would
/// stay as it is without a word. What is frozen, or read behind stop_gradient(), may be anybody's.
void require_own_parameters(const StepParts& parts, const Tensor& prediction);

}  // namespace tenure::nn
