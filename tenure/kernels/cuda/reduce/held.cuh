#pragma once

#include "tenure/kernels/cuda/reduce/groups.cuh"
#include "tenure/kernels/cuda/reduce/held_arguments.h"

// Rows and columns that a group of threads goes over more than once. If each lane has few enough of
// the elements, it keeps them in registers, and memory is read once.

namespace tenure::kernels::cuda {

inline bool is_held(std::int64_t length, const Groups& groups) {
  return length <= static_cast<std::int64_t>(groups.lanes) * kHeldElements;
}

/// Calls `f(i, j, held)` for the elements i that are this lane's: `held` is a std::bool_constant,
/// true where they are kept, as the j-th that the lane has.
template <class F>
inline void for_lane(std::int64_t length, const Groups& groups, unsigned lane, F f) {
  if (is_held(length, groups)) {
#pragma unroll
    for (int j = 0; j < kHeldElements; ++j) {
      const std::int64_t i = lane + static_cast<std::int64_t>(j) * groups.lanes;
      if (i < length) f(i, j, std::bool_constant<true>());
    }
  } else {
    for (std::int64_t i = lane; i < length; i += groups.lanes) f(i, 0, std::bool_constant<false>());
  }
}

/// Elements of T as a lane reads them: at first from memory, after that from registers if they are
/// held.
template <class T>
struct Held {
  Compute<T> of[kHeldElements];

  template <class Source, bool held>
  Compute<T> first(const Source& source, std::int64_t i, int j, std::bool_constant<held>) {
    const Compute<T> value = source[i];
    if constexpr (held) of[j] = value;
    return value;
  }
  template <class Source, bool held>
  Compute<T> again(const Source& source, std::int64_t i, int j, std::bool_constant<held>) const {
    if constexpr (held) {
      return of[j];
    } else {
      return source[i];
    }
  }
};

/// A row of a matrix of T.
template <class T>
struct Row {
  T* data;
  const Walk& columns;

  Row(const MatrixView& matrix, std::int64_t row)
      : data(static_cast<T*>(matrix.data) + offset_in(matrix.rows, row)), columns(matrix.columns) {}
  Compute<T> operator[](std::int64_t i) const {
    return static_cast<Compute<T>>(data[offset_in(columns, i)]);
  }
  void set(std::int64_t i, Compute<T> value) const { data[offset_in(columns, i)] = convert<T>(value); }
};

/// The sum of what the lanes of a group have.
template <class C>
inline C sum_of_lanes(C own, const Groups& groups) {
  return joined(own, groups, [](C a, C b) { return a + b; });
}

/// The larger one; no number wins.
template <class C>
inline C larger(C a, C b) {
  return a > b || a != a ? a : b;
}

/// The sum of exp(x - shift), where `shift` is the largest x.
template <class C>
struct Exponentials {
  C shift;
  double sum;
};
/// Of a group's elements x, which are read for the first time: `length` of them, or 0 where a group
/// has none; others of the block have `usual`. All threads of a block take part. If they are held
/// and `kPowers`, the powers take their place.
template <bool kPowers, class T, class Source>
inline Exponentials<Compute<T>> exponentials_of(const Source& x, Held<T>& xs, std::int64_t length,
                                                std::int64_t usual, const Groups& groups,
                                                unsigned lane) {
  using C = Compute<T>;
  ExpTotal<C> own = ExpTotal<C>::none();
  for_lane(length, groups, lane, [&](std::int64_t i, int j, auto held) {
    const C value = xs.first(x, i, j, held);
    if constexpr (decltype(held)::value) {
      own.shift = larger(own.shift, value);
    } else {
      own.add(value);
    }
  });
  const C shift = joined(own.shift, groups, [](C a, C b) { return larger(a, b); });
  double sum = 0;
  if (!is_held(usual, groups)) {
    sum = own.shift == shift ? own.sum : own.sum * static_cast<double>(std::exp(own.shift - shift));
    if (shift - shift != 0) sum = static_cast<double>(shift - shift);  // no number
  } else {
    for_lane(length, groups, lane, [&](std::int64_t i, int j, auto held) {
      const C power = std::exp(xs.again(x, i, j, held) - shift);
      sum += static_cast<double>(power);
      if constexpr (kPowers) xs.of[j] = power;
    });
  }
  return {shift, sum_of_lanes(sum, groups)};
}

}  // namespace tenure::kernels::cuda
