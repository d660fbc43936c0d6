#pragma once

#include <vector>

#include "tenure/check/cases.h"
#include "tenure/check/findings.h"

namespace tenure::check {

/// What an output is held to.
struct Bound {
  double ulp = 0.5;         ///< of the exact value in the result's type
  bool of_largest = false;  ///< units are of the largest exact value, or of this if it is larger:
  long double at_least = 0;
  bool signs = false;       ///< a zero has the exact value's sign
  bool lowest_bit = false;  ///< a bool is the lowest bit of the exact value, not whether it is 0
};
/// What the record states for a device, with what rounding a float32 result to a 16-bit type adds.
Bound bound_of(const ops::OpRecord& op, DType result, Device device);

/// Whether `got` has the reference's shape and every element is within the bound; if not, the first
/// that is outside, and how far.
Verdict agrees(const Tensor& got, const ops::Reference& expected, const Bound& bound);
/// Whether two results are equal to the bit. NaN equals NaN.
Verdict equals(const std::vector<Tensor>& got, const std::vector<Tensor>& expected);

/// Expects each output to agree with what the record's reference says, which is expected_of(c).
void expect_reference(const Case& c, const std::vector<Tensor>& got,
                      const std::vector<ops::Reference>& expected, bool signs = false);

}  // namespace tenure::check
