#pragma once

#include "tenure/kernels/cpu/pool/pool.h"
#include "tenure/ops/core/record.h"

// Shapes and arguments of pooling, checked.

namespace tenure::ops {

/// The attributes that all pooling begins with. Adaptive pooling has kernels of size 0, and the
/// sizes of its result as strides.
struct PoolArguments {
  Dims kernel;
  Dims stride;
  Dims low;
  Dims high;
  Dims dilation;

  /// Of max pooling.
  static PoolArguments of(const Attributes& a) {
    return {a.dims(0), a.dims(1), a.dims(2), a.dims(3), a.dims(4)};
  }
  /// Of average pooling, which has no dilation.
  static PoolArguments undilated(const Attributes& a) {
    return {a.dims(0), a.dims(1), a.dims(2), a.dims(3), Dims::filled(a.dims(0).size(), 1)};
  }
};

/// Throws ShapeError or ValueError in the name of `op`.
kernels::Pooling pooling_of(const char* op, const Shape& x, const PoolArguments& arguments);
Shape pooled_shape(const kernels::Pooling& p, int axes);
/// What numbers the places of a window. It does not depend on sizes, which a graph may not know:
/// windows of adaptive pooling may be of any.
DType place_type(const PoolArguments& arguments);

}  // namespace tenure::ops
