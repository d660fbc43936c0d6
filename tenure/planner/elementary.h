#pragma once

#include <cmath>

// Logarithm and exponential from additions, multiplications and divisions alone, whose results are
// the same everywhere. Those of one C library differ from another's in the last bit now and then,
// and one bit is enough for another plan. They are good to 12 digits, which is plenty for chance
// and for ranks.

namespace tenure::planner {

/// The natural logarithm of a positive finite number.
inline double logarithm(double x) {
  constexpr double kLogOf2 = 0.69314718055994530942;
  constexpr double kRootOfHalf = 0.70710678118654752440;
  int exponent = 0;
  double m = std::frexp(x, &exponent);  // exact
  if (m < kRootOfHalf) {
    m *= 2;
    --exponent;
  }
  // log(m) = 2 artanh((m - 1) / (m + 1)), by its series.
  const double s = (m - 1) / (m + 1);
  const double q = s * s;
  double sum = 0;
  for (int odd = 15; odd > 0; odd -= 2) sum = sum * q + 1.0 / odd;
  return exponent * kLogOf2 + 2 * s * sum;
}

/// e to the power x, for x from -700 to 700.
inline double exponential(double x) {
  constexpr double kLogOf2 = 0.69314718055994530942;
  const double exponent = std::floor(x / kLogOf2 + 0.5);  // exact, as ldexp is
  const double r = x - exponent * kLogOf2;
  double sum = 1;
  for (int i = 12; i > 0; --i) sum = 1 + sum * r / i;
  return std::ldexp(sum, static_cast<int>(exponent));
}

/// x to the power y, for a positive x.
inline double power(double x, double y) { return exponential(y * logarithm(x)); }

}  // namespace tenure::planner
