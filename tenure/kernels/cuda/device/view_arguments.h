#pragma once

#include <cstdint>

namespace tenure::kernels::cuda {

inline constexpr int kMaxDims = 8;

/// A view as kernels get it, by value. Shape and strides have `rank` numbers.
struct DeviceView {
  void* data;
  std::int32_t rank;
  std::int32_t dtype;  ///< DType as a number
  std::int64_t count;
  std::int64_t shape[kMaxDims];
  std::int64_t strides[kMaxDims];  ///< in elements
};

}  // namespace tenure::kernels::cuda
