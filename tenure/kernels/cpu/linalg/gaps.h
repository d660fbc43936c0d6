#pragma once

#include <cstdint>

namespace tenure::kernels::linalg {

// Loops over the gaps between numbers and a place, in vectors of the CPU's instruction set. In
// gaps.cpp.

/// What a gap is the difference of. That of squares is a product, (x - y) (x + y), which is exact
/// but for the rounding of each factor also where both squares agree in all digits.
enum class Gap : std::uint8_t { of_numbers, of_squares };

/// A place is told by two numbers, of which the second may be far smaller than the rounding of the
/// first. Number x lies (x - origin) - shift beside it.
struct Place {
  double origin = 0;
  double shift = 0;

  double value() const { return origin + shift; }
  double gap(Gap kind, double x) const {
    const double difference = (x - origin) - shift;
    return kind == Gap::of_numbers ? difference : difference * ((x + origin) + shift);
  }
};

/// The sums of squares[i] / gap, and of squares[i] / gap^2.
struct PoleSums {
  double sum = 0;
  double slope = 0;
};
PoleSums pole_sums(Gap kind, const double* squares, const double* x, std::int64_t n,
                   const Place& place);
/// y *= gap / that of x[i] and `other`.
void multiply_by_gaps(Gap kind, const double* x, std::int64_t n, const Place& place, double other,
                      double* y);
/// y = z / gap.
void divide_by_gaps(Gap kind, const double* z, const double* x, std::int64_t n, const Place& place,
                    double* y);

}  // namespace tenure::kernels::linalg
