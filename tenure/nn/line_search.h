#pragma once

#include <functional>

namespace tenure::nn {

/// A place on a line: how far along, and value and slope there.
struct LinePoint {
  double step = 0;
  double value = 0;
  double slope = 0;
};

struct LineSearchOptions {
  double decrease = 1e-4;  ///< the share of the first slope that the value must fall by
  double curvature = 0.9;  ///< the share of the first slope that may be left
  int evaluations = 25;    ///< at most
};

/// A place that fulfils the strong Wolfe conditions, or, if so many evaluations find none, the
/// lowest that was found: `start` if none is lower. `at` evaluates a place; `start` is at step 0,
/// and goes down. `first` is tried first. (Nocedal and Wright, Numerical Optimization, 3.5
/// and 3.6.)
LinePoint search_line(const std::function<LinePoint(double step)>& at, const LinePoint& start,
                      double first, const LineSearchOptions& options = {});

}  // namespace tenure::nn
