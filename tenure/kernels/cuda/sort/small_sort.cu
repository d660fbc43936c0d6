#pragma once

#include "tenure/kernels/cuda/places/places.cuh"
#include "tenure/kernels/cuda/sort/keys.cuh"

// Rows that fit in shared memory: a block sorts one, by keys and places, so that equal elements
// keep their order.

namespace tenure::kernels::cuda {

inline constexpr int kSmallSort = 2048;
inline constexpr int kHeldByThread = 8;

template <class T>
inline void sort_small(const SmallSortArguments& a) {
  using U = std::make_unsigned_t<T>;
  __shared__ U keys[kSmallSort];
  __shared__ std::uint16_t places[kSmallSort];
  const int n = static_cast<int>(a.of.n);
  const int kept = static_cast<int>(a.of.kept);
  const int thread = static_cast<int>(threadIdx.x);
  const int threads = static_cast<int>(blockDim.x);
  int room = 1;
  while (room < n) room *= 2;
  for (std::int64_t row = blockIdx.x; row < a.of.rows.count; row += gridDim.x) {
    const auto at = static_cast<std::uint64_t>(row);
    const TwoPlaces begin = places_of(a.of.rows, at, 0, 1);
    const U* const in = static_cast<const U*>(a.in) + begin.first;
    for (int i = thread; i < room; i += threads) {
      keys[i] = i < n ? key_of(a.of.rule, in[i * a.in_step]) : static_cast<U>(~U(0));
      places[i] = static_cast<std::uint16_t>(i);
    }
    __syncthreads();
    for (int size = 2; size <= room; size *= 2) {
      for (int step = size / 2; step > 0; step /= 2) {
        for (int pair = thread; pair < room / 2; pair += threads) {
          const int i = pair / step * 2 * step + pair % step;
          const int j = i + step;
          const bool is_later = keys[i] != keys[j] ? keys[i] > keys[j] : places[i] > places[j];
          if (is_later == ((i & size) == 0)) {
            const U key = keys[i];
            keys[i] = keys[j];
            keys[j] = key;
            const std::uint16_t place = places[i];
            places[i] = places[j];
            places[j] = place;
          }
        }
        __syncthreads();
      }
    }
    // The result may lie where the elements do.
    U held[kHeldByThread];
    if (a.values != nullptr) {
      for (int k = 0, i = thread; i < kept; ++k, i += threads) {
        held[k] = in[places[i] * a.in_step];
      }
      __syncthreads();
      U* const values = static_cast<U*>(a.values) + begin.second;
      for (int k = 0, i = thread; i < kept; ++k, i += threads) values[i * a.value_step] = held[k];
    }
    if (a.indices != nullptr) {
      std::int64_t* const indices =
          static_cast<std::int64_t*>(a.indices) + place_of(a.of.rows, at, 2);
      for (int i = thread; i < kept; i += threads) indices[i * a.index_step] = places[i];
    }
    if (a.places != nullptr) {
      for (int i = thread; i < kept; i += threads) a.places[row * kept + i] = places[i];
    }
    __syncthreads();
  }
}

}  // namespace tenure::kernels::cuda
