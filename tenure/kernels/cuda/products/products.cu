#pragma once

#include "tenure/kernels/cuda/loops/neighbours.cuh"
#include "tenure/kernels/cuda/places/places.cuh"
#include "tenure/kernels/cuda/products/products_arguments.h"
#include "tenure/kernels/cuda/products/tile.cuh"

namespace tenure::kernels::cuda {

template <class A, class B, class C, class After = NoLoop, class Arguments = ProductArguments>
inline void multiply(const Arguments& p) {
  using Sum = Accumulator<C>;
  const std::int64_t across = (p.n + kTile - 1) / kTile;
  const std::int64_t down = (p.m + kTile - 1) / kTile;
  const std::int64_t tiles = across * down * p.batch.count;
  for (std::int64_t tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
    const std::int64_t product = tile / (across * down);
    const TwoPlaces begin = places_of(p.batch, static_cast<std::uint64_t>(product), 0, 1);
    const A* const a = static_cast<const A*>(p.a) + begin.first;
    const B* const b = static_cast<const B*>(p.b) + begin.second;
    multiply_tile<Sum>(
        tile / across % down * kTile, tile % across * kTile, p.m, p.n, 0, p.k, p.a_column == 1,
        p.b_row == 1, [](std::int64_t, std::int64_t) { return Sum(0); },
        [&](std::int64_t i, std::int64_t k) {
          return static_cast<Sum>(a[i * p.a_row + k * p.a_column]);
        },
        [&](std::int64_t k, std::int64_t j) {
          return static_cast<Sum>(b[k * p.b_row + j * p.b_column]);
        },
        [&](std::int64_t i, std::int64_t j, Sum sum) {
          const std::int64_t at = (product * p.m + i) * p.n + j;
          const Vector<C, 1> result{static_cast<C>(sum)};
          static_cast<ResultOf<After, C>*>(p.c)[at] = followed<After, C, 1>(p, at, result).of[0];
        });
  }
}

}  // namespace tenure::kernels::cuda
