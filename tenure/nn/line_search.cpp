#include "tenure/nn/line_search.h"

#include <algorithm>
#include <cmath>

namespace tenure::nn {
namespace {

/// Where the cubic through two places with their slopes is lowest, or the middle if it is not
/// between `low` and `high`.
double lowest_of_cubic(const LinePoint& a, const LinePoint& b, double low, double high) {
  const double middle = (low + high) / 2;
  const double d = a.slope + b.slope - 3 * (a.value - b.value) / (a.step - b.step);
  const double square = d * d - a.slope * b.slope;
  if (!(square >= 0)) return middle;
  const double root = a.step <= b.step ? std::sqrt(square) : -std::sqrt(square);
  const double at =
      b.step - (b.step - a.step) * ((b.slope + root - d) / (b.slope - a.slope + 2 * root));
  return at >= low && at <= high ? at : middle;
}

class Search {
 public:
  Search(const std::function<LinePoint(double)>& at, const LinePoint& start,
         const LineSearchOptions& options)
      : at_(at), start_(start), options_(options), left_(options.evaluations) {}

  LinePoint run(double first) {
    LinePoint before = start_;
    LinePoint here = evaluate(first);
    for (bool is_first = true;; is_first = false) {
      if (is_high(here) || (!is_first && here.value >= before.value)) return zoom(before, here);
      if (is_flat(here)) return here;
      if (here.slope >= 0) return zoom(here, before);
      if (left_ == 0) return here;
      const double least = here.step + 0.01 * (here.step - before.step);
      const double next = lowest_of_cubic(before, here, least, 10 * here.step);
      before = here;
      here = evaluate(next);
    }
  }

 private:
  LinePoint evaluate(double step) {
    --left_;
    return at_(step);
  }
  /// Too high for its step, or no number.
  bool is_high(const LinePoint& p) const {
    return !(p.value <= start_.value + options_.decrease * p.step * start_.slope);
  }
  bool is_flat(const LinePoint& p) const {
    return std::abs(p.slope) <= -options_.curvature * start_.slope;
  }
  /// There is a place between `low`, the lowest so far, and `other`.
  LinePoint zoom(LinePoint low, LinePoint other) {
    while (left_ > 0 && low.step != other.step) {
      const auto [from, to] = std::minmax(low.step, other.step);
      const double edge = 0.1 * (to - from);
      const double middle = (from + to) / 2;
      const double step = std::isfinite(other.value) && std::isfinite(other.slope)
                              ? lowest_of_cubic(low, other, from + edge, to - edge)
                              : middle;
      if (step == low.step || step == other.step) break;
      const LinePoint here = evaluate(step);
      if (is_high(here) || here.value >= low.value) {
        other = here;
        continue;
      }
      if (is_flat(here)) return here;
      if (here.slope * (other.step - low.step) >= 0) other = low;
      low = here;
    }
    return low;
  }

  const std::function<LinePoint(double)>& at_;
  LinePoint start_;
  LineSearchOptions options_;
  int left_;
};

}  // namespace

LinePoint search_line(const std::function<LinePoint(double)>& at, const LinePoint& start,
                      double first, const LineSearchOptions& options) {
  return Search(at, start, options).run(first);
}

}  // namespace tenure::nn
