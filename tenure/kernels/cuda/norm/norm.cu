#pragma once

#include "tenure/kernels/cuda/norm/norm_arguments.h"
#include "tenure/kernels/cuda/reduce/held.cuh"

namespace tenure::kernels::cuda {

template <class T>
inline Compute<T> number_of(const FlatView& numbers, std::int64_t i, Compute<T> otherwise) {
  if (numbers.data == nullptr) return otherwise;
  return static_cast<Compute<T>>(static_cast<const T*>(numbers.data)[offset_in(numbers.walk, i)]);
}

template <class C>
struct RowStatistics {
  C mean;
  C scale;  ///< 1 / the deviation
};

/// Of a row, which is read for the first time. All threads of a block take part.
template <class T>
inline RowStatistics<Compute<T>> statistics_of(const RowNormArguments& a, const Row<T>& x,
                                               Held<T>& xs, std::int64_t length, unsigned lane) {
  using C = Compute<T>;
  C sum = 0;
  for_lane(length, a.groups, lane,
           [&](std::int64_t i, int j, auto held) { sum += xs.first(x, i, j, held); });
  const C count = static_cast<C>(a.columns);
  const C mean = a.rms != 0 ? C(0) : sum_of_lanes(sum, a.groups) / count;
  C squares = 0;
  for_lane(length, a.groups, lane, [&](std::int64_t i, int j, auto held) {
    const C deviation = xs.again(x, i, j, held) - mean;
    squares += deviation * deviation;
  });
  const C variance = sum_of_lanes(squares, a.groups) / count;
  return {mean, C(1) / std::sqrt(variance + static_cast<C>(a.epsilon))};
}

template <class T>
inline void row_norm(const RowNormArguments& a) {
  using C = Compute<T>;
  const Place place = place_of(a.groups);
  const bool is_there = place.group < a.rows;
  const std::int64_t length = is_there ? a.columns : 0;
  const Row<T> x(a.x, is_there ? place.group : 0);
  const Row<T> out(a.out, is_there ? place.group : 0);
  Held<T> xs;
  const RowStatistics<C> s = statistics_of<T>(a, x, xs, length, place.lane);
  for_lane(length, a.groups, place.lane, [&](std::int64_t i, int j, auto held) {
    const C normal = (xs.again(x, i, j, held) - s.mean) * s.scale;
    out.set(i, normal * number_of<T>(a.weight, i, C(1)) + number_of<T>(a.bias, i, C(0)));
  });
}

/// Each group has several rows, and adds up what they have for weight and bias: in registers where
/// a lane's columns are held, else in its part of the workspace.
template <class T>
inline void row_norm_gradient(const RowNormArguments& a) {
  using C = Compute<T>;
  const Place place = place_of(a.groups);
  const bool takes_part = place.group < a.all_groups;
  C by_weight[kHeldElements] = {};
  C by_bias[kHeldElements] = {};
  C* const weight_sums =
      static_cast<C*>(a.partials) + (takes_part ? place.group : 0) * 2 * a.columns;
  C* const bias_sums = weight_sums + a.columns;
  const bool holds = is_held(a.columns, a.groups);
  if (takes_part && !holds) {
    for (std::int64_t i = place.lane; i < a.columns; i += a.groups.lanes) {
      weight_sums[i] = 0;
      bias_sums[i] = 0;
    }
  }
  // All groups of the grid take as many turns: they join together.
  const std::int64_t turns = (a.rows + a.all_groups - 1) / a.all_groups;
  for (std::int64_t turn = 0; turn < turns; ++turn) {
    const std::int64_t row = place.group + turn * a.all_groups;
    const bool is_there = takes_part && row < a.rows;
    const std::int64_t length = is_there ? a.columns : 0;
    const Row<T> x(a.x, is_there ? row : 0);
    const Row<T> dy(a.dy, is_there ? row : 0);
    const Row<T> out(a.out, is_there ? row : 0);
    Held<T> xs;
    Held<T> dys;
    const RowStatistics<C> s = statistics_of<T>(a, x, xs, length, place.lane);
    C products = 0;
    C sums = 0;
    for_lane(length, a.groups, place.lane, [&](std::int64_t i, int j, auto held) {
      const C gradient = dys.first(dy, i, j, held);
      const C normal = (xs.again(x, i, j, held) - s.mean) * s.scale;
      const C weighted = gradient * number_of<T>(a.weight, i, C(1));
      products += weighted * normal;
      sums += weighted;
      if constexpr (decltype(held)::value) {
        by_weight[j] += gradient * normal;
        by_bias[j] += gradient;
      } else {
        weight_sums[i] += gradient * normal;
        bias_sums[i] += gradient;
      }
    });
    const C count = static_cast<C>(a.columns);
    const C along = sum_of_lanes(products, a.groups) / count;
    const C all = sum_of_lanes(sums, a.groups) / count;
    const C mean = a.rms != 0 ? C(0) : all;
    for_lane(length, a.groups, place.lane, [&](std::int64_t i, int j, auto held) {
      const C normal = (xs.again(x, i, j, held) - s.mean) * s.scale;
      const C weighted = dys.again(dy, i, j, held) * number_of<T>(a.weight, i, C(1));
      out.set(i, (weighted - mean - normal * along) * s.scale);
    });
  }
  if (!takes_part || !holds) return;
  for_lane(a.columns, a.groups, place.lane, [&](std::int64_t i, int j, auto) {
    weight_sums[i] = by_weight[j];
    bias_sums[i] = by_bias[j];
  });
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
  for (std::int64_t i = place.lane; is_there && i < a.parts; i += a.groups.lanes) {
    own += static_cast<double>(from[i * 2 * a.columns]);
  }
  const double sum = sum_of_lanes(own, a.groups);
  T* const to = static_cast<T*>(blockIdx.y == 0 ? a.by_weight : a.by_bias);
  if (is_there && place.lane == 0) to[place.group] = convert<T>(sum);
}

}  // namespace tenure::kernels::cuda
