#pragma once

#include <cstdint>

#include "tenure/kernels/view.h"

// Selecting elements by their value or by a mask of booleans. Everything that is not zero is true,
// NaN too.
namespace tenure::kernels {

/// How many elements of `in` are true.
std::int64_t nonzero_count(const View& in);

/// The coordinates of the true elements in row-major order. `out` is int64 of shape
/// [nonzero_count(in), rank].
void nonzero(const View& in, const View& out);

/// The elements of `in` where `mask`, a boolean view of the same shape, is true, in row-major
/// order. `out` has nonzero_count(mask) elements.
void mask_select(const View& in, const View& mask, const View& out);

/// The reverse of mask_select: sets the masked elements of `out`, which may be strided but not
/// overlap itself, to the elements of `values`, a vector of nonzero_count(mask) elements of any
/// stride; a stride of zero sets all to one value.
void mask_put(const View& out, const View& mask, const View& values);

}  // namespace tenure::kernels
