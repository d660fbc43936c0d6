#pragma once

#include "tenure/kernels/cuda/device/prelude.cuh"
#include "tenure/kernels/cuda/places/places_arguments.h"

namespace tenure::kernels::cuda {

/// i / size. Divisions of 64 bits take several times as long as those of 32.
inline std::uint64_t quotient(std::uint64_t i, std::uint64_t size) {
  if ((i | size) >> 32 == 0)
    return static_cast<std::uint32_t>(i) / static_cast<std::uint32_t>(size);
  return i / size;
}

/// Where two operands are at step i of a nest, in row-major order.
struct TwoPlaces {
  std::int64_t first;
  std::int64_t second;
};

template <class Index>
inline TwoPlaces places_at(const Places& nest, Index i, int first, int second) {
  TwoPlaces places{0, 0};
  for (int d = nest.rank - 1; d >= 0; --d) {
    const Index row = d == 0 ? 0 : i / static_cast<Index>(nest.shape[d]);
    const auto at = static_cast<std::int64_t>(i - row * static_cast<Index>(nest.shape[d]));
    places.first += at * nest.strides[first][d];
    places.second += at * nest.strides[second][d];
    i = row;
  }
  return places;
}

inline TwoPlaces places_of(const Places& nest, std::uint64_t i, int first, int second) {
  if (nest.count <= 0xffffffffll) {
    return places_at(nest, static_cast<std::uint32_t>(i), first, second);
  }
  return places_at(nest, i, first, second);
}
inline std::int64_t place_of(const Places& nest, std::uint64_t i, int operand) {
  return places_of(nest, i, operand, operand).first;
}

}  // namespace tenure::kernels::cuda
