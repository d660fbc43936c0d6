#pragma once

#include <algorithm>
#include <cmath>

#include "tenure/ops/core/record.h"
#include "tenure/ops/core/types.h"
#include "tenure/ops/creation/spacing.h"

// What the attributes of the creation ops mean.

namespace tenure::ops {

// The places of the attributes of each op, in the order of its signature.

/// Of zeros and ones.
struct ConstantAttributes {
  enum : int { shape, dtype };
};
struct FullAttributes {
  enum : int { shape, value, dtype };
};
struct FullLikeAttributes {
  enum : int { value, dtype };
};
struct ArangeAttributes {
  enum : int { start, stop, step, dtype };
};
struct LinspaceAttributes {
  enum : int { start, stop, size, dtype, endpoint };
};
struct LogspaceAttributes {
  enum : int { start, stop, size, base, dtype, endpoint };
};
struct EyeAttributes {
  enum : int { rows, columns, diagonal, dtype };
};
struct OneHotAttributes {
  enum : int { depth, dtype };
};

/// One element of any type.
struct ElementBytes {
  alignas(8) std::byte bytes[8];
};
/// Throws, in the name of `op`, if the type does not hold the value.
inline ElementBytes element(const Scalar& value, DType dtype, const char* op) {
  ElementBytes result;
  store_scalar(value, dtype, result.bytes, op);
  return result;
}

/// Of n numbers from `start` to `stop`, or to one step short of it without `endpoint`.
inline Spacing spacing(double start, double stop, std::int64_t n, bool endpoint) {
  const auto steps = static_cast<double>(std::max<std::int64_t>(endpoint ? n - 1 : n, 1));
  // Where the ends are so far apart that the products overflow, the division comes first.
  const double scale = std::isfinite((stop - start) * steps) ? 1 : 2 * steps;
  return {.start = start,
          .stop = stop,
          .steps = steps,
          .width = stop / scale - start / scale,
          .divisor = steps / scale};
}

/// The numbers of arange. They count in integers if all three are.
struct ArangeNumbers {
  ArangeNumbers(const Scalar& start, const Scalar& stop, const Scalar& step)
      : start(start), stop(stop), step(step) {}
  explicit ArangeNumbers(const Attributes& a)
      : ArangeNumbers(to_scalar(a[ArangeAttributes::start]), to_scalar(a[ArangeAttributes::stop]),
                      to_scalar(a[ArangeAttributes::step])) {}

  bool integers() const {
    return start.kind != Scalar::Kind::floating && stop.kind != Scalar::Kind::floating &&
           step.kind != Scalar::Kind::floating;
  }

  Scalar start, stop, step;
};

}  // namespace tenure::ops
