#pragma once

#include <cstdint>

#include "tenure/tensor/dtype.h"

namespace tenure::kernels::reduce {

/// How far apart the elements of a plane lie, in elements.
struct Pitch {
  std::int64_t row = 0;
  std::int64_t column = 0;
};

/// Copies `rows` x `columns` elements from one layout and type to another.
using ConvertPlane = void (*)(const void* src, Pitch from, void* dst, Pitch to, std::int64_t rows,
                              std::int64_t columns);

/// Any type to itself or to bool (zero or not), bool and integers to int64 and back, floats to
/// floats, but not float16 to bfloat16 or back. Throws DTypeError for other pairs.
ConvertPlane find_convert(DType from, DType to);

}  // namespace tenure::kernels::reduce
