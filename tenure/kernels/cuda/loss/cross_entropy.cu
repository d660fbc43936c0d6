#pragma once

#include "tenure/kernels/cuda/loss/classes.cuh"
#include "tenure/kernels/cuda/reduce/held.cuh"

namespace tenure::kernels::cuda {

/// A group's row, or the first one where it has none, with what the loss needs of it.
template <class T, class S>
struct EntropyRow {
  using C = Compute<T>;
  using Source = HeldRow<T, S>;

  const CrossEntropyArguments& a;
  const Groups groups;
  std::int64_t row;
  bool has_classes;
  std::int64_t target;
  bool counts;    ///< it is not ignored
  double picked;  ///< the logit of the target, 0 of none
  Lane<S> lane;
  Source x;
  Source q;
  Exponentials<C> exponentials;
  double mass = 1;  ///< the sum of the smoothed probabilities

  /// All threads of a block take part.
  EntropyRow(const CrossEntropyArguments& arguments, const Groups& own_groups, const Place& place,
             std::int64_t at, bool is_there)
      : a(arguments),
        groups(own_groups),
        row(is_there ? at : 0),
        has_classes(a.targets.view.data != nullptr),
        target(is_there && has_classes ? class_at(a.targets, row) : -1),
        counts(!(has_classes && target == a.ignore_index)),
        picked(target >= 0 && target < a.classes
                   ? static_cast<double>(Row<T>(a.logits, row)[target])
                   : 0),
        lane(a.classes, groups, place),
        x(Row<T>(a.logits, row), lane),
        q(Row<T>(a.probabilities, has_classes ? 0 : row), lane),
        exponentials(exponentials_of(x, lane, groups)) {
    if (has_classes) return;
    double sum = 0;
    lane.elements([&](At element) { sum += static_cast<double>(q[element]); });
    mass = (1 - a.label_smoothing) * sum_of_lanes(sum, groups) + a.label_smoothing;
  }

  /// All threads of a block take part.
  double loss() const {
    Pair<double> sums{picked, 0};  // of logits by their probabilities, and of these alone
    if (!has_classes || a.label_smoothing != 0) {
      lane.elements([&](At element) {
        const auto value = static_cast<double>(x[element]);
        sums.second += value;
        if (has_classes) return;
        const auto probability = static_cast<double>(q[element]);
        if (probability != 0) sums.first += probability * value;
      });
      sums = sum_of_lanes(sums, groups);
      if (has_classes) sums.first = picked;
    }
    if (!counts) return 0;
    return entropy_of(a, mass, static_cast<double>(exponentials.shift), exponentials.sum, sums);
  }
};

template <RowForm form, class T>
inline void cross_entropy(const CrossEntropyArguments& a) {
  using S = StripsOf<form, T>;
  const Groups groups = groups_of<S>(a.groups);
  const Place place = place_of(groups);
  LossPart own{0, 0};
  // All groups of the grid take as many turns: they join together.
  const std::int64_t turns = (a.rows + a.all_groups - 1) / a.all_groups;
  for (std::int64_t turn = 0; turn < turns; ++turn) {
    const std::int64_t row = place.group + turn * a.all_groups;
    const bool is_there = place.group < a.all_groups && row < a.rows;
    const EntropyRow<T, S> entropy(a, groups, place, row, is_there);
    const double loss = entropy.loss();
    if (!is_there || place.lane != 0) continue;
    if (a.sum.reduces != 0) {
      own.loss += loss;
      own.rows += entropy.counts ? 1 : 0;
    } else {
      static_cast<Compute<T>*>(a.sum.out)[row] = convert<Compute<T>>(loss);
    }
  }
  if (a.sum.reduces != 0) add_up<Compute<T>>(a.sum, own);
}

template <RowForm form, class T>
inline void cross_entropy_gradient(const CrossEntropyArguments& a) {
  using C = Compute<T>;
  using S = StripsOf<form, T>;
  const Groups groups = groups_of<S>(a.groups);
  const Place place = place_of(groups);
  const bool is_there = place.group < a.rows;
  const double own_counted = own_counted_rows(a);  // on its way beside the row
  const EntropyRow<T, S> row(a, groups, place, place.group, is_there);
  const double counted = a.sum.counts != 0 ? sum_of_lanes(own_counted, kWholeBlock) : 0;
  if (!is_there) return;
  const EntropyFactors<C> by(a, row.row, counted, row.mass, row.exponentials.sum);
  write_row(Row<T>(a.gradient, place.group), row.lane, [&](At at) {
    if (!row.counts) return C(0);
    const C value = by.of(std::exp(row.x[at] - row.exponentials.shift));
    if (!row.has_classes) return value - by.weight * row.q[at];
    return at.i == row.target ? value - by.weight : value;
  });
}

}  // namespace tenure::kernels::cuda
