#pragma once

#include "tenure/kernels/cuda/reduce/held.cuh"
#include "tenure/kernels/cuda/softmax/softmax_arguments.h"

namespace tenure::kernels::cuda {

/// A column of elements of T.
template <class T>
struct Column {
  T* data;
  std::int64_t step;

  Column(const AxisView& view, std::int64_t column)
      : data(static_cast<T*>(view.data) + offset_in(view.columns, column)), step(view.step) {}
  Compute<T> operator[](std::int64_t i) const { return static_cast<Compute<T>>(data[i * step]); }
  template <class V>
  void set(std::int64_t i, V value) const {
    data[i * step] = convert<T>(value);
  }
};

template <bool log, class T>
inline void softmax_along(const SoftmaxArguments& a) {
  using C = Compute<T>;
  const Place place = place_of(a.groups);
  const bool is_there = place.group < a.columns;
  const std::int64_t length = is_there ? a.length : 0;
  const Column<T> x(a.x, is_there ? place.group : 0);
  const Column<T> out(a.out, is_there ? place.group : 0);
  Held<T> xs;
  const auto [shift, sum] = exponentials_of<!log>(x, xs, length, a.length, a.groups, place.lane);
  const double log_sum = log ? std::log(sum) : 0;
  for_lane(
      length, a.groups, place.lane, [&, by = shift, all = sum](std::int64_t i, int j, auto held) {
        const C value = xs.again(x, i, j, held);
        if constexpr (log) {
          out.set(i, static_cast<double>(value - by) - log_sum);
        } else {
          out.set(i, (decltype(held)::value ? value : std::exp(value - by)) / static_cast<C>(all));
        }
      });
}

template <class T>
inline void softmax(const SoftmaxArguments& a) {
  softmax_along<false, T>(a);
}
template <class T>
inline void log_softmax(const SoftmaxArguments& a) {
  softmax_along<true, T>(a);
}

/// y (dy - sum(dy y)), or of the logarithm dy - exp(y) sum(dy).
template <bool log, class T>
inline void gradient_along(const SoftmaxArguments& a) {
  using C = Compute<T>;
  const Place place = place_of(a.groups);
  const bool is_there = place.group < a.columns;
  const std::int64_t length = is_there ? a.length : 0;
  const std::int64_t column = is_there ? place.group : 0;
  const Column<T> dy(a.x, column);
  const Column<T> y(a.y, column);
  const Column<T> out(a.out, column);
  Held<T> dys;
  Held<T> ys;
  double own = 0;
  for_lane(length, a.groups, place.lane, [&](std::int64_t i, int j, auto held) {
    const C gradient = dys.first(dy, i, j, held);
    const C value = ys.first(y, i, j, held);
    own += static_cast<double>(log ? gradient : gradient * value);
  });
  const C sum = static_cast<C>(sum_of_lanes(own, a.groups));
  for_lane(length, a.groups, place.lane, [&](std::int64_t i, int j, auto held) {
    const C gradient = dys.again(dy, i, j, held);
    const C value = ys.again(y, i, j, held);
    out.set(i, log ? gradient - std::exp(value) * sum : value * (gradient - sum));
  });
}

template <class T>
inline void softmax_gradient(const SoftmaxArguments& a) {
  gradient_along<false, T>(a);
}
template <class T>
inline void log_softmax_gradient(const SoftmaxArguments& a) {
  gradient_along<true, T>(a);
}

}  // namespace tenure::kernels::cuda
