#include "tenure/kernels/cpu/linalg/secular.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "tenure/kernels/parallel.h"

namespace tenure::kernels::linalg {
namespace {

constexpr double kRounding = std::numeric_limits<double>::epsilon() / 2;

/// The function whose zero is sought, near a place: what poles up to the root's add, which is
/// negative, and what those beyond it do, which is not.
struct Value {
  PoleSums below, beyond;
  double weight;     // one divided by it
  double steepness;  // of what gaps are the difference of, where the place moves

  Value(const RankOneUpdate& u, std::int64_t i, const Place& place)
      : below(pole_sums(u.gap, u.squares, u.d, i + 1, place)),
        beyond(pole_sums(u.gap, u.squares + i + 1, u.d + i + 1, u.n - i - 1, place)),
        weight(1 / u.weight),
        steepness(u.gap == Gap::of_numbers ? 1 : 2 * place.value()) {}

  double sum() const { return weight + below.sum + beyond.sum; }
  /// What of the sum may be rounding.
  double error(double shift) const {
    constexpr double kTerms = 16;
    return kRounding * (kTerms * (beyond.sum - below.sum) + weight +
                        std::abs(shift) * steepness * (below.slope + beyond.slope));
  }

  /// How much larger what gaps are the difference of is at the zero where each side were a pole and
  /// a number (Bunch, Nielsen and Sorensen): the poles at the ends of the root's interval, `left`
  /// and `right` from here. Of the last root there is one.
  double step(double left, double right) const {
    const double f = sum();
    if (std::isinf(right)) return left + below.slope * left * left / (f - below.slope * left);
    const double c = f - left * below.slope - right * beyond.slope;
    const double a = (left + right) * f - left * right * (below.slope + beyond.slope);
    const double b = left * right * f;
    const double root = std::sqrt(std::max(0.0, a * a - 4 * b * c));
    return a <= 0 ? (a - root) / (2 * c) : 2 * b / (a + root);
  }
};

/// The shift that makes what gaps are the difference of larger by `step`: of squares without their
/// difference, which would lose digits.
double shifted(Gap gap, const Place& place, double step) {
  if (gap == Gap::of_numbers) return place.shift + step;
  const double value = place.value();
  return place.shift + step / (value + std::sqrt(value * value + step));
}

}  // namespace

Place find_root(const RankOneUpdate& u, std::int64_t i) {
  constexpr int kMost = 200;  // steps; five or six are usual
  const bool is_last = i + 1 == u.n;
  double total = 0;
  if (is_last) {
    for (std::int64_t j = 0; j < u.n; ++j) total += u.squares[j];
  }
  const double beyond_last = is_last ? shifted(u.gap, {.origin = u.d[i]}, u.weight * total) : 0;
  if (u.n == 1) return {u.d[0], beyond_last};
  const double width = is_last ? beyond_last * (1 + 8 * kRounding) : u.d[i + 1] - u.d[i];
  Place place{u.d[i], width / 2};
  double low = 0;
  double high = width;
  Value value(u, i, place);
  if (!is_last && value.sum() < 0) {  // It is in the other half.
    place = {u.d[i + 1], -width / 2};
    low = -width;
    high = 0;
  }
  for (int tries = 0; tries < kMost; ++tries) {
    const double f = value.sum();
    if (std::abs(f) <= value.error(place.shift)) break;
    (f < 0 ? low : high) = place.shift;
    const double left = place.gap(u.gap, u.d[i]);
    const double right =
        is_last ? std::numeric_limits<double>::infinity() : place.gap(u.gap, u.d[i + 1]);
    double next = shifted(u.gap, place, value.step(left, right));
    if (!(next > low && next < high)) next = low + (high - low) / 2;
    if (next == place.shift || next == low || next == high) break;
    place.shift = next;
    value = Value(u, i, place);
  }
  return place;
}

void fit_vector(Gap gap, const double* d, const Place* places, std::int64_t n, double* z,
                double* room) {
  // Number j: the product of its gaps to the roots over that of its gaps to the other numbers of D.
  constexpr std::int64_t kShare = 1 << 14;  // gaps worth waking a thread
  constexpr std::int64_t kLanes = 8;        // shares are whole vectors on every CPU
  parallel_for(n, (kShare / n / kLanes + 1) * kLanes, [&](std::int64_t begin, std::int64_t end) {
    std::fill(room + begin, room + end, 1.0);
    const auto multiply = [&](std::int64_t first, std::int64_t last, std::int64_t i) {
      first = std::max(first, begin);
      last = std::min(last, end);
      if (first < last) {
        multiply_by_gaps(gap, d + first, last - first, places[i], d[i], room + first);
      }
    };
    for (std::int64_t i = 0; i < n; ++i) {
      multiply(0, i, i);
      multiply(i + 1, n, i);
      if (i >= begin && i < end) room[i] *= places[i].gap(gap, d[i]);
    }
    for (std::int64_t j = begin; j < end; ++j) {
      z[j] = std::copysign(std::sqrt(std::abs(room[j])), z[j]);
    }
  });
}

}  // namespace tenure::kernels::linalg
