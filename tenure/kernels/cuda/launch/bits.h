#pragma once

#include <cstddef>
#include <vector>

#include "tenure/kernels/cuda/compile/kernels.h"

namespace tenure::kernels::cuda {

/// The type by which kernels that only see bits are called, of elements of so many bytes.
inline DType bits_type(std::size_t bytes) {
  switch (bytes) {
    case 1:
      return DType::uint8;
    case 2:
      return DType::int16;
    case 4:
      return DType::int32;
    default:
      return DType::int64;
  }
}

/// All of them.
inline std::vector<Types> bits_types() {
  return {DType::uint8, DType::int16, DType::int32, DType::int64};
}

}  // namespace tenure::kernels::cuda
