#pragma once

#include "tenure/ops/core/record.h"
#include "tenure/ops/core/types.h"

// What the attributes of the creation ops mean.

namespace tenure::ops {

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

/// The numbers of arange. They count in integers if all three are.
struct ArangeNumbers {
  ArangeNumbers(const Scalar& start, const Scalar& stop, const Scalar& step)
      : start(start), stop(stop), step(step) {}
  explicit ArangeNumbers(const Attributes& a)
      : ArangeNumbers(to_scalar(a[0]), to_scalar(a[1]), to_scalar(a[2])) {}

  bool integers() const {
    return start.kind != Scalar::Kind::floating && stop.kind != Scalar::Kind::floating &&
           step.kind != Scalar::Kind::floating;
  }

  Scalar start, stop, step;
};

}  // namespace tenure::ops
