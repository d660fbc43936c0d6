#pragma once

#include "tenure/nn/steps.h"

// What a step is held to before it can change anything: what it is given, and what is traced.

namespace tenure::nn {

/// Throws EmptyTensorError, DisposedError, and SymbolError for what has no data: a step on a symbol
/// would become nodes of its graph.
void require_data(const Tensor& tensor, const char* user, Site site);

/// Throws ValueError, ShapeError or DTypeError, which names `what`, unless it is one floating-point
/// number.
void require_number(const Tensor& tensor, const std::string& what, Site site);

/// Throws ValueError if the model computed `prediction`, symbols of a trace, from trainable
/// variables that are neither its own nor the optimizer's: a layer that was never add()ed would
/// stay as it is without a word. What is frozen, or read behind stop_gradient(), may be anybody's.
void require_own_parameters(const StepParts& parts, const Tensors& prediction);

/// Tensors to plan with on a device: of those that are elsewhere, types and shapes alone.
Tensors specs_on(Device device, Tensors tensors, Site site);

/// Throws ValueError if no parameter has a gradient, though there are some.
void require_use(const std::vector<Tensor>& gradients, Site site);

}  // namespace tenure::nn
