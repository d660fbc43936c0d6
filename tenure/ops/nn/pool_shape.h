#pragma once

#include "tenure/ops/core/attributes.h"
#include "tenure/ops/nn/pooling.h"
#include "tenure/ops/pool_ops.h"
#include "tenure/tensor/dtype.h"
#include "tenure/tensor/shape.h"

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

  /// Their places. Average pooling has no dilation, but says there whether padding counts;
  /// gradients of windows have the spatial sizes of the images last.
  enum : int {
    kKernel,
    kStride,
    kLow,
    kHigh,
    kDilation,
    kSpatial,
    kCountPadding = kDilation,
  };

  /// Of max pooling.
  static PoolArguments of(const Attributes& a) {
    PoolArguments arguments = undilated(a);
    arguments.dilation = a.dims(kDilation);
    return arguments;
  }
  /// Of average pooling.
  static PoolArguments undilated(const Attributes& a) {
    return {.kernel = a.dims(kKernel),
            .stride = a.dims(kStride),
            .low = a.dims(kLow),
            .high = a.dims(kHigh),
            .dilation = Dims::filled(a.dims(kKernel).size(), 1)};
  }
};

/// What options say along `axes` spatial axes, whatever the images; windows of average pooling have
/// no dilation. Throws ValueError in the name of `op`.
PoolArguments pool_arguments(const char* op, int axes, bool is_average, const SpatialSizes& kernel,
                             const PoolOptions& options);
/// Of adaptive pooling.
PoolArguments pool_arguments(const char* op, int axes, const SpatialSizes& sizes);

/// Throws ShapeError or ValueError in the name of `op`.
Pooling pooling_of(const char* op, const Shape& x, const PoolArguments& arguments);
/// The same of each op, from the shape of its first input and its attributes: of images (max_pool,
/// max_pool_select, average_pool) or of windows (the gradients), whose last attribute is the
/// spatial sizes of the images.
Pooling max_pooling(const char* op, const Shape& x, const Attributes& a);
Pooling max_pooling_of_windows(const char* op, const Shape& dy, const Attributes& a);
Pooling average_pooling(const char* op, const Shape& x, const Attributes& a);
Pooling average_pooling_of_windows(const char* op, const Shape& dy, const Attributes& a);

/// The images that a gradient of windows goes back to.
Shape image_of_windows(const char* op, const Shape& dy, const Attributes& a);
Shape pooled_shape(const Pooling& p, int axes);
/// What numbers the places of a window. It does not depend on sizes, which a graph may not know:
/// windows of adaptive pooling may be of any.
DType place_type(const PoolArguments& arguments);

}  // namespace tenure::ops
