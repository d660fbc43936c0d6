#pragma once

#include "tenure/ops/conv_ops.h"
#include "tenure/ops/core/attributes.h"
#include "tenure/ops/nn/convolution.h"
#include "tenure/tensor/shape.h"

// Shapes and arguments of convolutions, checked.

namespace tenure::ops {

/// The attributes that all convolutions begin with.
struct ConvArguments {
  Dims stride;
  Dims low;   ///< padding before
  Dims high;  ///< padding behind
  Dims dilation;
  std::int64_t groups = 1;

  /// Their places; gradients have one more, sizes that their inputs do not tell.
  enum : int { kStride, kLow, kHigh, kDilation, kGroups, kSizes };

  static ConvArguments of(const Attributes& a) {
    return {.stride = a.dims(kStride),
            .low = a.dims(kLow),
            .high = a.dims(kHigh),
            .dilation = a.dims(kDilation),
            .groups = a.integer(kGroups)};
  }
  template <class Last>
  Attributes with(const Last& last) const {
    return Attributes(stride, low, high, dilation, groups, last);
  }
};

/// What options say along `axes` spatial axes, whatever the images; padding by Padding::same() is
/// left empty. Throws ValueError in the name of `op`.
ConvArguments conv_arguments(const char* op, int axes, const ConvOptions& options);
ConvArguments conv_arguments(const char* op, int axes, const ConvTransposeOptions& options);

/// A convolution of x with weights. Throws ShapeError or ValueError in the name of `op`.
Convolution convolution_of(const char* op, const Shape& x, const Shape& weights,
                           const ConvArguments& arguments);
/// The convolution whose gradient by its images is asked for: with the gradient `dy` of its
/// results. Its attribute after ConvArguments is the spatial sizes of the images.
Convolution convolution_of_input_gradient(const char* op, const Shape& dy, const Shape& weights,
                                          const Attributes& a);
/// The convolution whose gradient by its weights is asked for. Its attribute after ConvArguments is
/// the kernel sizes.
Convolution convolution_of_weight_gradient(const char* op, const Shape& x, const Shape& dy,
                                           const Attributes& a);
Shape image_shape(const Convolution& c, int axes);   ///< of x
Shape output_shape(const Convolution& c, int axes);  ///< of y
Shape weight_shape(const Convolution& c, int axes);

/// [batch, spatial..., channels], checked.
Shape with_spatial(const Shape& image, const Dims& spatial, std::int64_t channels);
Dims spatial_of(const Shape& image);

}  // namespace tenure::ops
