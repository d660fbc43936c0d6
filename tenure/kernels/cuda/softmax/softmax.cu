#pragma once

#include "tenure/kernels/cuda/reduce/held.cuh"
#include "tenure/kernels/cuda/softmax/softmax_arguments.h"

namespace tenure::kernels::cuda {

template <bool log, class T, class S>
inline void softmax_in(const SoftmaxArguments& a) {
  using C = Compute<T>;
  const Groups groups = groups_of<S>(a.groups);
  const Place place = place_of(groups);
  const bool is_there = place.group < a.rows;
  const std::int64_t row = is_there ? place.group : 0;
  const Lane<S> lane(a.length, groups, place);
  const HeldRow<T, S> x(Row<T>(a.x, row), lane);
  const auto [shift, sum] = exponentials_of(x, lane, groups);
  if (!is_there) return;
  const double by = log ? std::log(sum) : 1 / sum;
  write_row(Row<T>(a.out, row), lane, [&, from = shift](At at) {
    if constexpr (log) {
      return static_cast<double>(x[at] - from) - by;
    } else {
      return std::exp(x[at] - from) * static_cast<C>(by);
    }
  });
}

template <RowForm form, class T>
inline void softmax(const SoftmaxArguments& a) {
  softmax_in<false, T, StripsOf<form, T>>(a);
}
template <RowForm form, class T>
inline void log_softmax(const SoftmaxArguments& a) {
  softmax_in<true, T, StripsOf<form, T>>(a);
}

/// y (dy - sum(dy y)), or of the logarithm dy - exp(y) sum(dy).
template <bool log, class T, class S>
inline void gradient_in(const SoftmaxArguments& a) {
  using C = Compute<T>;
  const Groups groups = groups_of<S>(a.groups);
  const Place place = place_of(groups);
  const bool is_there = place.group < a.rows;
  const std::int64_t row = is_there ? place.group : 0;
  const Lane<S> lane(a.length, groups, place);
  const HeldRow<T, S> dy(Row<T>(a.x, row), lane);
  const HeldRow<T, S> y(Row<T>(a.y, row), lane);
  const auto own = static_cast<double>(
      lane.template sum<C>([&](At at) { return log ? dy[at] : dy[at] * y[at]; }));
  const C sum = static_cast<C>(sum_of_lanes(own, groups));
  if (!is_there) return;
  write_row(Row<T>(a.out, row), lane,
            [&](At at) { return log ? dy[at] - std::exp(y[at]) * sum : y[at] * (dy[at] - sum); });
}

template <RowForm form, class T>
inline void softmax_gradient(const SoftmaxArguments& a) {
  gradient_in<false, T, StripsOf<form, T>>(a);
}
template <RowForm form, class T>
inline void log_softmax_gradient(const SoftmaxArguments& a) {
  gradient_in<true, T, StripsOf<form, T>>(a);
}

}  // namespace tenure::kernels::cuda
