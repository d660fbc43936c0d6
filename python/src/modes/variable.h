#pragma once

#include "python/src/core/object.h"
#include "tenure/tensor/tensor.h"

namespace tenure::python {

/// Whether it is a tenure.Variable, which is computed with like the tensor that it holds.
bool is_variable(PyObject* object) noexcept;
Tensor value_of_variable(PyObject* object);

}  // namespace tenure::python
