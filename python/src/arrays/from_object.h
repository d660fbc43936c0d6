#pragma once

#include <optional>
#include <string>

#include "python/src/core/object.h"
#include "tenure/tensor/tensor.h"

namespace tenure::python {

/// Whether the object is an array of somebody's: it has a buffer, DLPack or __array__.
bool is_array(PyObject* object) noexcept;

/// Whether the object is a list of Python's, or the like.
bool is_sequence(PyObject* object) noexcept;

/// A tensor of its own of an array, a number or nested lists. `what` names it in errors. Numbers
/// that `dtype` does not hold are refused, arrays are converted.
Tensor tensor_from_object(PyObject* object, const char* what,
                          std::optional<DType> dtype = std::nullopt);

/// tn.tensor(), tn.asarray(), tn.from_dlpack().
void add_array_functions(PyObject* module);

/// A tensor in the memory of an object that has a buffer, which it holds. Raises BufferError and
/// TypeError for what cannot be one.
Tensor tensor_in_buffer(PyObject* object, Site site);

/// The same of an object with __dlpack__.
Tensor tensor_from_dlpack(PyObject* object, Site site);

}  // namespace tenure::python
