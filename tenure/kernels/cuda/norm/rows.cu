#pragma once

#include "tenure/kernels/cuda/norm/norm_arguments.h"
#include "tenure/kernels/cuda/reduce/rows_beside.cuh"

// Norms along rows. Statistics are found in the type that elements are computed in, around the
// mean.

namespace tenure::kernels::cuda {

/// 0 where it is left out. All threads of a block take part.
template <class T, class S>
inline Compute<T> mean_of(const RowNormArguments& a, const HeldRow<T, S>& x, const Lane<S>& lane,
                          const Groups& groups) {
  using C = Compute<T>;
  if (a.rms != 0) return C(0);
  const C own = lane.template sum<C>([&](At at) { return x[at]; });
  return sum_of_lanes(own, groups) / static_cast<C>(lane.length);
}
/// 1 / the deviation, of the sum of squares around the mean.
template <class C>
inline C scale_of(const RowNormArguments& a, C squares, std::int64_t columns) {
  const C variance = squares / static_cast<C>(columns);
  return C(1) / std::sqrt(variance + static_cast<C>(a.epsilon));
}

template <RowForm form, class T, class After = NoLoop, class Arguments = RowNormArguments>
inline void row_norm(const Arguments& a) {
  using C = Compute<T>;
  using S = StripsOf<form, T>;
  const Groups groups = groups_of<S>(a.groups);
  const Place place = place_of(groups);
  const bool is_there = place.group < a.rows;
  const std::int64_t row = is_there ? place.group : 0;
  const Lane<S> lane(a.columns, groups, place);
  const HeldRow<T, S> x(Row<T>(a.x, row), lane);
  const C mean = mean_of(a, x, lane, groups);
  const C squares = lane.template sum<C>([&](At at) {
    const C deviation = x[at] - mean;
    return deviation * deviation;
  });
  const C scale = scale_of(a, sum_of_lanes(squares, groups), lane.length);
  if (!is_there) return;
  write_row(
      result_row<After, T>(a, row), lane,
      [&](At at, C weight, C bias) { return std::fma((x[at] - mean) * scale, weight, bias); },
      ReadRow<T>(Row<T>(a.weight), C(1)), ReadRow<T>(Row<T>(a.bias), C(0)));
}

/// Has neighbouring sums, which no other thread reads meanwhile, be `f(e, sum)`, 16 bytes at once.
template <int n, class C, class F>
inline void change(C* sums, F f) {
  constexpr int kAtOnce = n < strip_size(sizeof(C)) ? n : strip_size(sizeof(C));
#pragma unroll
  for (int first = 0; first < n; first += kAtOnce) {
    auto& place = *reinterpret_cast<Strip<C, kAtOnce>*>(sums + first);
    Strip<C, kAtOnce> changed = place;
#pragma unroll
    for (int e = 0; e < kAtOnce; ++e) changed.of[e] = f(first + e, changed.of[e]);
    place = changed;
  }
}

/// Sums along a row.
template <class C>
struct GradientSums {
  C squares;  ///< of what x is off the mean
  C along;    ///< of these, times weighted gradients
  C weighted;
  friend GradientSums operator+(const GradientSums& a, const GradientSums& b) {
    return {a.squares + b.squares, a.along + b.along, a.weighted + b.weighted};
  }
};

/// Each group has several rows, and adds up what they have for weight and bias: in shared memory,
/// where registers are for what is on its way; of rows that are not held in its block's part of the
/// workspace, as it is the whole block.
template <RowForm form, class T, class After = NoLoop, class Before = NoLoop,
          class Arguments = RowNormArguments>
inline void row_norm_gradient(const Arguments& a) {
  using C = Compute<T>;
  using S = StripsOf<form, T>;
  const Groups groups = groups_of<S>(a.groups);
  const Place place = place_of(groups);
  const Lane<S> lane(a.columns, groups, place);
  const std::int64_t columns = lane.length;
  const ReadRow<T> weights(Row<T>(a.weight), C(1));
  TENURE_SHARED(C, room);
  C* const parts = static_cast<C*>(a.partials) + blockIdx.x * 2 * columns;
  C* const weight_sums = S::kHeld ? room + threadIdx.x / groups.lanes * 2 * columns : parts;
  C* const bias_sums = weight_sums + columns;
  lane.elements([&](At at) { weight_sums[at.i] = bias_sums[at.i] = 0; });
  for (std::int64_t row = place.group; row - place.group < a.rows; row += a.all_groups) {
    // All groups of the grid take as many turns, some with another's row: they join together.
    const bool is_there = row < a.rows;
    const HeldRow<T, S> x(Row<T>(a.x, is_there ? row : 0), lane);
    const HeldRow<T, S> dy = first_input<Before, T>(a, a.dy, is_there ? row : 0, lane);
    const C mean = mean_of(a, x, lane, groups);
    const auto own_sums = lane.template sum<GradientSums<C>>(
        [&](At at, C weight) {
          const C deviation = x[at] - mean;
          const C weighted = dy[at] * weight;
          return GradientSums<C>{deviation * deviation, weighted * deviation, weighted};
        },
        weights);
    const GradientSums<C> sums = sum_of_lanes(own_sums, groups);
    if (!is_there) continue;
    const C scale = scale_of(a, sums.squares, columns);
    const C count = static_cast<C>(columns);
    const C along = sums.along * scale / count;
    const C weighted_mean = a.rms != 0 ? C(0) : sums.weighted / count;
    const auto normal = [&](At at) { return (x[at] - mean) * scale; };
    // Before the result is written, which may be in the place of an input.
    lane.strips([&](std::int64_t i, int s) {
      const auto at = [&](int e) { return At{i + e, s * S::kSize + e}; };
      change<S::kSize>(weight_sums + i,
                       [&](int e, C sum) { return std::fma(dy[at(e)], normal(at(e)), sum); });
      change<S::kSize>(bias_sums + i, [&](int e, C sum) { return sum + dy[at(e)]; });
    });
    write_row(
        result_row<After, T>(a, row), lane,
        [&](At at, C weight) {
          return (std::fma(-normal(at), along, dy[at] * weight) - weighted_mean) * scale;
        },
        weights);
  }
  if constexpr (S::kHeld) {
    __syncthreads();
    for (std::int64_t i = threadIdx.x; i < 2 * columns; i += kGroupThreads) {
      C sum = room[i];
      for (unsigned g = 1; g < kGroupThreads / groups.lanes; ++g) sum += room[g * 2 * columns + i];
      parts[i] = sum;
    }
  }
}

/// blockIdx.y: 0 by weight, 1 by bias.
template <class T>
inline void norm_sums(const NormSumsArguments& a) {
  using C = Compute<T>;
  const Place place = place_of(a.groups);
  const bool is_there = place.group < a.columns;
  const C* const from = static_cast<const C*>(a.partials) +
                        static_cast<std::int64_t>(blockIdx.y) * a.columns + place.group;
  double own = 0;
  constexpr int kAtOnce = 8;
  const std::int64_t lanes = a.groups.lanes;
  for (std::int64_t i = place.lane; is_there && i < a.parts; i += kAtOnce * lanes) {
    C read[kAtOnce];
#pragma unroll
    for (int k = 0; k < kAtOnce; ++k) {
      const std::int64_t part = i + k * lanes;
      read[k] = part < a.parts ? from[part * 2 * a.columns] : C(0);
    }
#pragma unroll
    for (int k = 0; k < kAtOnce; ++k) own += static_cast<double>(read[k]);
  }
  const double sum = sum_of_lanes(own, a.groups);
  T* const to = static_cast<T*>(blockIdx.y == 0 ? a.by_weight : a.by_bias);
  if (is_there && place.lane == 0) to[place.group] = convert<T>(sum);
}

}  // namespace tenure::kernels::cuda
