#pragma once

#include "tenure/kernels/cuda/norm/norm_arguments.h"
#include "tenure/kernels/cuda/reduce/held.cuh"

namespace tenure::kernels::cuda {

template <class T>
inline Compute<T> number_of(const FlatView& numbers, std::int64_t i, Compute<T> otherwise) {
  if (numbers.data == nullptr) return otherwise;
  return static_cast<Compute<T>>(static_cast<const T*>(numbers.data)[offset_in(numbers.walk, i)]);
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

/// Where an element of a matrix is, and what is known of its column.
template <class T>
struct ColumnElement {
  std::int64_t row;
  std::int64_t column;
  Compute<T> normal;
  Compute<T> scale;

  ColumnElement(const ColumnNormArguments& a, std::int64_t row_given, std::int64_t column_given)
      : row(row_given), column(column_given) {
    using C = Compute<T>;
    const Moments moments = a.moments[column];
    scale = static_cast<C>(1 / std::sqrt(moments.variance + a.epsilon));
    normal = static_cast<C>(static_cast<double>(at(a.x)) - moments.mean) * scale;
  }
  Compute<T> at(const MatrixView& matrix) const { return Row<T>(matrix, row)[column]; }
};

template <class T>
inline void batch_norm(const ColumnNormArguments& a) {
  using C = Compute<T>;
  const auto n = static_cast<std::uint64_t>(a.rows * a.columns);
  for (std::uint64_t i = thread_index(); i < n; i += thread_count()) {
    const auto row = static_cast<std::int64_t>(i / static_cast<std::uint64_t>(a.columns));
    const std::int64_t column = static_cast<std::int64_t>(i) - row * a.columns;
    const ColumnElement<T> x(a, row, column);
    Row<T>(a.out, row)
        .set(column,
             x.normal * number_of<T>(a.weight, column, C(1)) + number_of<T>(a.bias, column, C(0)));
    if (row == 0) {
      static_cast<T*>(a.first)[column] = convert<T>(a.moments[column].mean);
      static_cast<T*>(a.second)[column] = convert<T>(a.moments[column].variance);
    }
  }
}

/// The sums over the rows of a chunk, of which blockIdx.y is the number.
template <class T>
inline void batch_norm_partials(const ColumnNormArguments& a) {
  using C = Compute<T>;
  const Place place = place_of(a.groups);
  const bool is_there = place.group < a.columns;
  const std::int64_t begin = static_cast<std::int64_t>(blockIdx.y) * a.chunk;
  const std::int64_t end = begin + a.chunk < a.rows ? begin + a.chunk : a.rows;
  double by_weight = 0;
  double by_bias = 0;
  for (std::int64_t row = begin + place.lane; is_there && row < end; row += a.groups.lanes) {
    const ColumnElement<T> x(a, row, place.group);
    const C gradient = x.at(a.dy);
    by_weight += static_cast<double>(gradient * x.normal);
    by_bias += static_cast<double>(gradient);
  }
  by_weight = sum_of_lanes(by_weight, a.groups);
  by_bias = sum_of_lanes(by_bias, a.groups);
  if (!is_there || place.lane != 0) return;
  C* const to = static_cast<C*>(a.partials) +
                static_cast<std::int64_t>(blockIdx.y) * 2 * a.columns + place.group;
  to[0] = static_cast<C>(by_weight);
  to[a.columns] = static_cast<C>(by_bias);
}

template <class T>
inline void batch_norm_gradient(const ColumnNormArguments& a) {
  using C = Compute<T>;
  const C per_row = C(1) / static_cast<C>(a.rows);
  const auto n = static_cast<std::uint64_t>(a.rows * a.columns);
  for (std::uint64_t i = thread_index(); i < n; i += thread_count()) {
    const auto row = static_cast<std::int64_t>(i / static_cast<std::uint64_t>(a.columns));
    const std::int64_t column = static_cast<std::int64_t>(i) - row * a.columns;
    const ColumnElement<T> x(a, row, column);
    const C by_weight = static_cast<C>(static_cast<const T*>(a.first)[column]);
    const C by_bias = static_cast<C>(static_cast<const T*>(a.second)[column]);
    const C along = (x.normal * by_weight + by_bias) * per_row;
    Row<T>(a.out, row)
        .set(column, (x.at(a.dy) - along) * x.scale * number_of<T>(a.weight, column, C(1)));
  }
}

}  // namespace tenure::kernels::cuda
