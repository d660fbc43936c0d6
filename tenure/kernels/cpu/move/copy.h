#pragma once

#include "tenure/kernels/view.h"

namespace tenure::kernels {

/// Copies the elements of `in` to `out`, both of one shape and element type, any layout. The two
/// must not overlap.
void copy(const View& in, const View& out);

/// Fills every element of a contiguous view with the element at `value`.
void fill(const View& out, const void* value);

}  // namespace tenure::kernels
