#pragma once

#include "tenure/kernels/cuda/loss/loss.cuh"

namespace tenure::kernels::cuda {

/// A group's row, with what the loss needs of it.
template <class T>
struct EntropyRow {
  using C = Compute<T>;

  const CrossEntropyArguments& a;
  std::int64_t row;
  unsigned lane;
  bool has_classes;
  std::int64_t target = -1;
  std::int64_t length;  ///< 0: there is no row, or it is ignored
  Row<T> x;
  Row<T> q;
  Held<T> xs;
  Exponentials<C> exponentials;
  double mass = 1;  ///< the sum of the smoothed probabilities

  /// All threads of a block take part.
  EntropyRow(const CrossEntropyArguments& arguments, std::int64_t at, bool is_there,
             unsigned lane_given)
      : a(arguments),
        row(is_there ? at : 0),
        lane(lane_given),
        has_classes(arguments.targets.view.data != nullptr),
        length(is_there ? arguments.classes : 0),
        x(arguments.logits, row),
        q(arguments.probabilities, has_classes ? 0 : row) {
    if (is_there && has_classes) {
      target = class_at(a.targets, row);
      if (target == a.ignore_index) length = 0;
    }
    exponentials = exponentials_of<false>(x, xs, length, a.classes, a.groups, lane);
    if (has_classes) return;
    double sum = 0;
    for_lane(length, a.groups, lane,
             [&](std::int64_t i, int, auto) { sum += static_cast<double>(q[i]); });
    mass = (1 - a.label_smoothing) * sum_of_lanes(sum, a.groups) + a.label_smoothing;
  }

  double loss() {
    double picked = 0;
    double logits = 0;
    for_lane(length, a.groups, lane, [&](std::int64_t i, int j, auto held) {
      const auto value = static_cast<double>(xs.again(x, i, j, held));
      logits += value;
      if (has_classes) {
        if (i == target) picked = value;
      } else if (const auto probability = static_cast<double>(q[i]); probability != 0) {
        picked += probability * value;
      }
    });
    picked = sum_of_lanes(picked, a.groups);
    logits = sum_of_lanes(logits, a.groups);
    if (length == 0) return 0;
    double result = mass * (static_cast<double>(exponentials.shift) + std::log(exponentials.sum)) -
                    (1 - a.label_smoothing) * picked;
    if (a.label_smoothing != 0) {
      result -= a.label_smoothing / static_cast<double>(a.classes) * logits;
    }
    return result;
  }
};

template <class T>
inline void cross_entropy(const CrossEntropyArguments& a) {
  const Place place = place_of(a.groups);
  double own = 0;
  // All groups of the grid take as many turns: they join together.
  const std::int64_t turns = (a.rows + a.all_groups - 1) / a.all_groups;
  for (std::int64_t turn = 0; turn < turns; ++turn) {
    const std::int64_t row = place.group + turn * a.all_groups;
    const bool is_there = place.group < a.all_groups && row < a.rows;
    const double loss = EntropyRow<T>(a, row, is_there, place.lane).loss();
    if (!is_there || place.lane != 0) continue;
    if (a.sum.reduces != 0) {
      own += loss;
    } else {
      static_cast<Compute<T>*>(a.sum.out)[row] = convert<Compute<T>>(loss);
    }
  }
  if (a.sum.reduces != 0) add_up<Compute<T>>(a.sum, own);
}

template <class T>
inline void cross_entropy_gradient(const CrossEntropyArguments& a) {
  using C = Compute<T>;
  const Place place = place_of(a.groups);
  const bool is_there = place.group < a.rows;
  EntropyRow<T> row(a, place.group, is_there, place.lane);
  if (!is_there) return;
  const std::int64_t at = a.sum.reduces != 0 ? 0 : offset_in(a.dy.walk, place.group);
  const double dy = load_as<double>(a.dy.data, at, a.dy_dtype) * a.sum.scale;
  const C weight = static_cast<C>(dy * (1 - a.label_smoothing));
  const C constant = static_cast<C>(dy * a.label_smoothing / static_cast<double>(a.classes));
  const C factor = static_cast<C>(dy * row.mass / row.exponentials.sum);
  const Row<T> out(a.gradient, place.group);
  for_lane(a.classes, a.groups, place.lane, [&](std::int64_t i, int j, auto held) {
    if (row.length == 0) return out.set(i, C(0));
    C value =
        std::exp(row.xs.again(row.x, i, j, held) - row.exponentials.shift) * factor - constant;
    if (!row.has_classes) {
      value -= weight * row.q[i];
    } else if (i == row.target) {
      value -= weight;
    }
    out.set(i, value);
  });
}

}  // namespace tenure::kernels::cuda
