#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "tenure/kernels/cuda/device/view_arguments.h"
#include "tenure/tensor/half.h"

// What every kernel includes. Kernels are written in CUDA C++ that any C++ compiler can read with
// the header of the emulator (tests/cuda_emulator), so without <<<>>>; functions are the device's
// without saying so.

#ifndef TENURE_KERNEL
/// A kernel of at most so many threads in a block, which calls a function with its arguments, a
/// struct that the launch gives by value.
#define TENURE_KERNEL(name, threads, Arguments, ...)                        \
  extern "C" __global__ void __launch_bounds__(threads)                     \
      name(const __grid_constant__ Arguments arguments) {                   \
    __VA_ARGS__(arguments);                                                 \
  }
/// In place of `threads`: what a block may have of the registers is such that a processor has room
/// for so many blocks.
#define TENURE_BOUNDS(threads, blocks) threads, blocks
/// The shared memory that the launch asked for (Grid::shared_bytes), from a multiple of 1024 on.
#define TENURE_SHARED(T, name)                            \
  extern __shared__ __align__(1024) unsigned char shared_bytes[]; \
  T* const name = reinterpret_cast<T*>(shared_bytes)
#endif

namespace tenure::kernels::cuda {

/// This thread's place in the grid, and how many threads that has: the loop over n elements is
///
///     for (std::uint64_t i = thread_index(); i < n; i += thread_count())
inline std::uint64_t thread_index() {
  return static_cast<std::uint64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
}
inline std::uint64_t thread_count() { return static_cast<std::uint64_t>(gridDim.x) * blockDim.x; }

/// The type that elements are computed in.
template <class T>
struct ComputeType {
  using type = T;
};
template <>
struct ComputeType<Half> {
  using type = float;
};
template <>
struct ComputeType<BFloat16> {
  using type = float;
};
template <class T>
using Compute = typename ComputeType<T>::type;

/// An element as another type, rounded once; as `cast` has it on every device.
template <class To, class From>
inline To convert(From value) {
  if constexpr (std::is_same_v<To, From>) {
    return value;
  } else if constexpr (NarrowFloat<From>) {
    return convert<To>(static_cast<float>(value));
  } else if constexpr (std::is_same_v<To, bool>) {
    return value != From(0);
  } else if constexpr (NarrowFloat<To>) {
    return round_to<To>(value);
  } else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    // Both bounds are exact: the lower is a power of two, the upper one past it.
    constexpr From low = static_cast<From>(std::numeric_limits<To>::min());
    constexpr From past = static_cast<From>(std::numeric_limits<To>::max()) + 1;
    if (!(value >= low)) return value == value ? std::numeric_limits<To>::min() : To(0);
    return value < past ? static_cast<To>(value) : std::numeric_limits<To>::max();
  } else {
    return static_cast<To>(value);
  }
}

/// Element `at` of memory whose type is known by its number alone, as a T.
template <class T>
inline T load_as(const void* data, std::int64_t at, int dtype) {
  switch (dtype) {
    case 0:
      return convert<T>(static_cast<const bool*>(data)[at]);
    case 1:
      return convert<T>(static_cast<const std::uint8_t*>(data)[at]);
    case 2:
      return convert<T>(static_cast<const std::int8_t*>(data)[at]);
    case 3:
      return convert<T>(static_cast<const std::int16_t*>(data)[at]);
    case 4:
      return convert<T>(static_cast<const std::int32_t*>(data)[at]);
    case 5:
      return convert<T>(static_cast<const std::int64_t*>(data)[at]);
    case 6:
      return convert<T>(static_cast<const Half*>(data)[at]);
    case 7:
      return convert<T>(static_cast<const BFloat16*>(data)[at]);
    case 8:
      return convert<T>(static_cast<const float*>(data)[at]);
    default:
      return convert<T>(static_cast<const double*>(data)[at]);
  }
}

/// Where element i of a view lies, in row-major order; in elements from its first.
inline std::int64_t offset_of(const DeviceView& view, std::uint64_t i) {
  std::int64_t offset = 0;
  for (int d = view.rank - 1; d >= 0; --d) {
    const auto size = static_cast<std::uint64_t>(view.shape[d]);
    const std::uint64_t row = i / size;
    offset += static_cast<std::int64_t>(i - row * size) * view.strides[d];
    i = row;
  }
  return offset;
}

}  // namespace tenure::kernels::cuda
