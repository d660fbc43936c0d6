#pragma once

#include <string_view>

#include "python/src/core/object.h"
#include "tenure/tensor/tensor.h"

namespace tenure::python {

/// The buffer protocol of tensors: others read their elements in place. Each view is a holder of
/// the data named `numpy`, so that dispose() leaves it whole.
extern PyBufferProcs tensor_buffer;

/// x.numpy(): an array of NumPy's over the elements, read-only unless told.
Ref numpy_array(const Tensor& tensor, bool is_writable);

/// Adds the type of what holds a tensor's data for an array.
void add_export_type(PyObject* module);

/// Gives the elements of a contiguous tensor as bytes of Python's, for pickles.
Ref bytes_of_elements(const Tensor& tensor, Site site);
Tensor tensor_of_bytes(PyObject* bytes, DType dtype, const Shape& shape, Site site);

}  // namespace tenure::python
