#include "tenure/ops/fft/transform.h"

#include <fmt/format.h>

#include <cmath>
#include <string_view>

#include "tenure/ops/shape/slice_range.h"

namespace tenure::ops {

FftCall::FftCall(FftKind made, bool backward, const Shape& x, const Attributes& attributes,
                 const char* op)
    : kind(made), inverse(backward) {
  const bool has_pairs = kind != FftKind::real_to_half;
  if (has_pairs && (x.empty() || x.back() != 2)) {
    throw ShapeError(op,
                     fmt::format("the last axis of {} has no pairs of real and imaginary parts; "
                                 "rfft() takes real numbers",
                                 to_string(x)),
                     {x.to_vector()});
  }
  const int axes = x.size() - (has_pairs ? 1 : 0);
  axis = normalize_axis(attributes.integer(FftAttributes::axis), axes, op);
  for (int i = 0; i < axes; ++i) {
    if (i < axis) outer *= x[i];
    if (i > axis) inner *= x[i];
  }
  size = x[axis];
  points = attributes.integer(FftAttributes::points);
  if (points == kAbsent) points = kind == FftKind::half_to_real ? 2 * (size - 1) : size;
  constexpr std::int64_t kMost = std::int64_t{1} << 40;  // squares of places fit in 128 bits
  if (points < 1 || points > kMost) {
    throw ValueError(fmt::format("{}: a transform of {} points; there are 1 to 2^40", op, points));
  }
  result = kind == FftKind::real_to_half ? points / 2 + 1 : points;
  if (kind != FftKind::pairs) interior = attributes.number(FftAttributes::interior);
  switch (static_cast<FftNorm>(attributes.integer(FftAttributes::norm))) {
    case FftNorm::ortho:
      scale = 1 / std::sqrt(static_cast<double>(points));
      break;
    case FftNorm::backward:
      if (inverse) scale = 1 / static_cast<double>(points);
      break;
    case FftNorm::forward:
      if (!inverse) scale = 1 / static_cast<double>(points);
      break;
  }
}

Shape FftCall::shape(const Shape& x) const {
  Shape made = x;
  made[axis] = result;
  if (kind == FftKind::real_to_half) made.push_back(2);
  if (kind == FftKind::half_to_real) made.erase(made.size() - 1);
  return made;
}

}  // namespace tenure::ops
