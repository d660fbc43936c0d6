#pragma once

#include <cstdint>

#include "tenure/tensor/dtype.h"

namespace tenure::kernels::reduce {

/// Writes a function of each element, a and b; `dst` may be `src`. Planes map rows of `width`
/// elements, with one a and b for each column (padded by 64 bytes); runs have one for all elements.
struct Map {
  void (*plane)(void* dst, std::int64_t dst_stride, const void* src, std::int64_t src_stride,
                std::int64_t rows, std::int64_t width, const void* a, const void* b);
  void (*run)(void* dst, const void* src, std::int64_t count, const void* a, const void* b);
};

enum class MapKind {
  exp,      ///< exp(x - a) * b
  scale,    ///< x * b
  subtract  ///< (x - a) - b
};

/// The best instance for this machine: of float32 or float64.
const Map& find_map(MapKind kind, DType dtype);

}  // namespace tenure::kernels::reduce
