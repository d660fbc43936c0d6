#include "tenure/check/compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>

#include "tenure/check/expect-inl.h"
#include "tenure/check/numbers.h"
#include "tenure/ops/core/backend.h"

namespace tenure::check {
namespace {

/// "[1, 2]": where the element with row-major number `flat` is.
std::string index_text(const Shape& shape, std::size_t flat) {
  Dims index = shape;
  auto rest = static_cast<std::int64_t>(flat);
  for (int axis = shape.size() - 1; axis >= 0; --axis) {
    index[axis] = rest % shape[axis];
    rest /= shape[axis];
  }
  return to_string(index);
}

std::string values_text(long double got, long double expected) {
  return fmt::format("got {}, expected {}", to_text(got), to_text(expected));
}

/// What is wrong with a floating result, or nothing.
std::optional<std::string> float_problem(DType dtype, long double got, long double expected,
                                         const Bound& bound, long double largest) {
  if (std::isnan(got) || std::isnan(expected)) {
    return std::isnan(got) && std::isnan(expected) ? std::nullopt : std::optional<std::string>("");
  }
  if (bound.signs && got == 0 && std::signbit(got) != std::signbit(expected)) {
    return " (sign of zero)";
  }
  if (got == expected) return std::nullopt;
  if (std::isinf(expected)) return "";
  const long double unit = ulp(dtype, bound.of_largest ? largest : expected);
  // The reference itself is rounded to a long double, of which float64 has 11 bits less.
  const long double allowed = (bound.ulp + 0x1p-10L) * unit;
  if (std::isinf(got)) {
    const bool overflows = std::abs(expected) + allowed >= overflow_from(dtype);
    return overflows && (got > 0) == (expected > 0) ? std::nullopt : std::optional<std::string>("");
  }
  const long double off = std::abs(got - expected);
  if (off <= allowed) return std::nullopt;
  return fmt::format(" ({:.4g} ulp off, bound {:.4g})", off / unit, bound.ulp);
}

std::optional<std::string> problem(DType dtype, long double got, long double expected,
                                   const Bound& bound, long double largest) {
  if (is_floating(dtype)) return float_problem(dtype, got, expected, bound, largest);
  const bool equal = dtype != DType::boolean ? got == wrapped(dtype, expected)
                     : bound.lowest_bit      ? (got != 0) == (std::fmod(std::abs(expected), 2) == 1)
                                             : (got != 0) == (expected != 0);
  if (equal) return std::nullopt;
  return dtype == DType::boolean ? "" : fmt::format(" (wrapped: {})", wrapped(dtype, expected));
}

}  // namespace

Bound bound_of(const ops::OpRecord& op, DType result, Device device) {
  Bound bound{.ulp = op.tolerance_ulp, .of_largest = op.tolerance_of_largest};
  if (result == DType::float64 && op.tolerance_unwidened != 0 &&
      !ops::backend(device).has_wider_than_double()) {
    bound.ulp = op.tolerance_unwidened;
  }
  const bool is_narrow = is_narrow_float(result);
  if (op.elementwise == nullptr) {
    if (is_narrow) bound.ulp += 0.5;
    return bound;
  }
  // 16-bit floats have at least 13 bits less than the float32 that is rounded to them.
  if (is_narrow) bound.ulp = 0.5 + op.tolerance_ulp * 0x1p-13;
  bound.lowest_bit = op.elementwise->rule == ops::TypeRule::bits;
  return bound;
}

Verdict agrees(const Tensor& got, const ops::Reference& expected, const Bound& bound) {
  if (got.shape() != expected.shape) {
    return Verdict(false) << "shape " << got.shape() << ", expected " << expected.shape;
  }
  const std::vector<long double> values = values_of(got);
  long double largest = bound.at_least;
  for (const long double value : expected.values) {
    if (std::isfinite(value)) largest = std::max(largest, std::abs(value));
  }
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (const auto text = problem(got.dtype(), values[i], expected.values[i], bound, largest)) {
      return Verdict(false) << name_of(got.dtype()) << " at " << index_text(got.shape(), i) << ": "
                            << values_text(values[i], expected.values[i]) << *text;
    }
  }
  return Verdict(true);
}

Verdict equals(const std::vector<Tensor>& got, const std::vector<Tensor>& expected) {
  if (got.size() != expected.size()) {
    return Verdict(false) << got.size() << " outputs, expected " << expected.size();
  }
  for (std::size_t o = 0; o < got.size(); ++o) {
    if (got[o].shape() != expected[o].shape() || got[o].dtype() != expected[o].dtype()) {
      return Verdict(false) << "output " << o << ": " << name_of(got[o].dtype()) << got[o].shape()
                            << ", expected " << name_of(expected[o].dtype()) << expected[o].shape();
    }
    const std::vector<long double> a = values_of(got[o]);
    const std::vector<long double> b = values_of(expected[o]);
    for (std::size_t i = 0; i < a.size(); ++i) {
      if (same(a[i], b[i])) continue;
      return Verdict(false) << "output " << o << ", " << name_of(got[o].dtype()) << " at "
                            << index_text(got[o].shape(), i) << ": " << values_text(a[i], b[i]);
    }
  }
  return Verdict(true);
}

void expect_reference(const Case& c, const std::vector<Tensor>& got,
                      const std::vector<ops::Reference>& expected, bool signs) {
  REQUIRE_EQ(got.size(), expected.size()) << "number of outputs";
  for (std::size_t o = 0; o < got.size(); ++o) {
    Bound bound = bound_of(*c.op, got[o].dtype(), got[o].device());
    bound.signs = signs;
    for (const Input& input : c.inputs) {
      for (const long double value : input.values) {
        if (is_floating(input.dtype)) bound.at_least = std::max(bound.at_least, std::abs(value));
      }
    }
    CHECK_TRUE(agrees(got[o], expected[o], bound)) << "output " << o;
  }
}

}  // namespace tenure::check
