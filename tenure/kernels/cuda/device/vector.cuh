#pragma once

#include <cstdint>
#include <type_traits>

#include "tenure/kernels/cuda/device/vector_arguments.h"

namespace tenure::kernels::cuda {

/// Elements that are read and written at once: 16 bytes at most.
template <class T, int n>
struct alignas(sizeof(T) * n) Vector {
  T of[n];
};

/// Bytes of elements, in as few registers as hold them.
template <std::size_t bytes>
struct alignas(bytes) Bytes {
  using Word = std::conditional_t<
      bytes == 1, std::uint8_t, std::conditional_t<bytes == 2, std::uint16_t, std::uint32_t>>;
  static constexpr int kWords = bytes / sizeof(Word);
  Word of[kWords];
};

/// How many elements are moved at once where several types are: 16 bytes of the widest.
template <class... T>
constexpr int vector_size() {
  std::size_t widest = 1;
  ((widest = sizeof(T) > widest ? sizeof(T) : widest), ...);
  return static_cast<int>(kVectorBytes / widest);
}

}  // namespace tenure::kernels::cuda
