#pragma once

#include "tenure/kernels/cuda/norm/norm_arguments.h"
#include "tenure/kernels/cuda/reduce/rows_beside.cuh"

// Norms along rows. Statistics are found in the type that elements are computed in, around the
// mean.

namespace tenure::kernels::cuda {

/// 0 where it is left out. All threads of a block take part.
template <class T, class S>
inline Compute<T> mean_of(const RowNormArguments& a, const HeldRow<T, S>& x, const Lane<S>& lane) {
  using C = Compute<T>;
  if (a.rms != 0) return C(0);
  const C own = lane.template sum<C>([&](At at) { return x[at]; });
  return sum_of_lanes(own, a.groups) / static_cast<C>(a.columns);
}
/// 1 / the deviation, of the sum of squares around the mean.
template <class C>
inline C scale_of(const RowNormArguments& a, C squares) {
  const C variance = squares / static_cast<C>(a.columns);
  return C(1) / std::sqrt(variance + static_cast<C>(a.epsilon));
}

template <RowForm form, class T, class After = NoLoop, class Arguments = RowNormArguments>
inline void row_norm(const Arguments& a) {
  using C = Compute<T>;
  using S = StripsOf<form, T>;
  const Place place = place_of(a.groups);
  const bool is_there = place.group < a.rows;
  const std::int64_t row = is_there ? place.group : 0;
  const Lane<S> lane{a.columns, a.groups.lanes, place.lane};
  const HeldRow<T, S> x(Row<T>(a.x, row), lane);
  const C mean = mean_of(a, x, lane);
  const C squares = lane.template sum<C>([&](At at) {
    const C deviation = x[at] - mean;
    return deviation * deviation;
  });
  const C scale = scale_of(a, sum_of_lanes(squares, a.groups));
  if (!is_there) return;
  write_row(
      result_row<After, T>(a, row), lane,
      [&](At at, C weight, C bias) { return std::fma((x[at] - mean) * scale, weight, bias); },
      ReadRow<T>(Row<T>(a.weight), C(1)), ReadRow<T>(Row<T>(a.bias), C(0)));
}

/// What the groups of a block have of a sum for each element that a lane keeps, in their first one.
template <class S, class C>
inline void join_groups(C* own, const Lane<S>& lane) {
  __shared__ Strip<C, S::kSize> room[kGroupThreads];
#pragma unroll S::kStripsUnrolled
  for (int s = 0; s < S::kMost; ++s) {
    if (s * lane.lanes * S::kSize >= lane.length) break;
    Strip<C, S::kSize> sum;
#pragma unroll S::kElementsUnrolled
    for (int e = 0; e < S::kSize; ++e) sum.of[e] = own[s * S::kSize + e];
    __syncthreads();
    room[threadIdx.x] = sum;
    __syncthreads();
    if (threadIdx.x >= lane.lanes) continue;
    for (unsigned other = threadIdx.x + lane.lanes; other < kGroupThreads; other += lane.lanes) {
#pragma unroll S::kElementsUnrolled
      for (int e = 0; e < S::kSize; ++e) sum.of[e] += room[other].of[e];
    }
#pragma unroll S::kElementsUnrolled
    for (int e = 0; e < S::kSize; ++e) own[s * S::kSize + e] = sum.of[e];
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

/// Each group has several rows, and adds up what they have for weight and bias: in registers where
/// a lane's columns are held; else in its block's part of the workspace, as it is the whole block.
template <RowForm form, class T, class After = NoLoop, class Before = NoLoop,
          class Arguments = RowNormArguments>
inline void row_norm_gradient(const Arguments& a) {
  using C = Compute<T>;
  using S = StripsOf<form, T>;
  const Place place = place_of(a.groups);
  const Lane<S> lane{a.columns, a.groups.lanes, place.lane};
  const ReadRow<T> weights(Row<T>(a.weight), C(1));
  C by_weight[S::kElements] = {};
  C by_bias[S::kElements] = {};
  C* const weight_sums =
      static_cast<C*>(a.partials) + static_cast<std::int64_t>(blockIdx.x) * 2 * a.columns;
  C* const bias_sums = weight_sums + a.columns;
  if constexpr (!S::kHeld) {
    lane.elements([&](At at) { weight_sums[at.i] = bias_sums[at.i] = 0; });
  }
  // All groups of the grid take as many turns: they join together.
  const std::int64_t turns = (a.rows + a.all_groups - 1) / a.all_groups;
  for (std::int64_t turn = 0; turn < turns; ++turn) {
    const std::int64_t own = place.group + turn * a.all_groups;
    const bool is_there = own < a.rows;
    const std::int64_t row = is_there ? own : 0;
    const HeldRow<T, S> x(Row<T>(a.x, row), lane);
    const HeldRow<T, S> dy = first_input<Before, T>(a, a.dy, row, lane);
    const C mean = mean_of(a, x, lane);
    const auto own_sums = lane.template sum<GradientSums<C>>(
        [&](At at, C weight) {
          const C deviation = x[at] - mean;
          const C weighted = dy[at] * weight;
          return GradientSums<C>{deviation * deviation, weighted * deviation, weighted};
        },
        weights);
    const GradientSums<C> sums = sum_of_lanes(own_sums, a.groups);
    if (!is_there) continue;
    const C scale = scale_of(a, sums.squares);
    const C count = static_cast<C>(a.columns);
    const C along = sums.along * scale / count;
    const C weighted_mean = a.rms != 0 ? C(0) : sums.weighted / count;
    write_row(
        Row<T>(a.out, row), lane,
        [&](At at, C weight) {
          const C gradient = dy[at];
          const C normal = (x[at] - mean) * scale;
          C& of_weight = S::kHeld ? by_weight[at.kept] : weight_sums[at.i];
          C& of_bias = S::kHeld ? by_bias[at.kept] : bias_sums[at.i];
          of_weight = std::fma(gradient, normal, of_weight);
          of_bias += gradient;
          return (std::fma(-normal, along, gradient * weight) - weighted_mean) * scale;
        },
        weights);
  }
  if constexpr (S::kHeld) {
    join_groups(by_weight, lane);
    join_groups(by_bias, lane);
    if (threadIdx.x >= a.groups.lanes) return;
    lane.elements([&](At at) {
      weight_sums[at.i] = by_weight[at.kept];
      bias_sums[at.i] = by_bias[at.kept];
    });
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
