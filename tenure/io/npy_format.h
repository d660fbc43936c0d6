#pragma once

#include <string>

#include "tenure/io/elements.h"

namespace tenure::io {

// In npy.cpp.

/// An array with its header, and the end of `source` after it.
Tensor read_npy(ByteSource& source, Origin origin);

/// The header that NumPy puts before such an array.
std::string npy_header(DType dtype, const Shape& shape, bool fortran_order);

}  // namespace tenure::io
