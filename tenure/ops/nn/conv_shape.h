#pragma once

#include "tenure/kernels/cpu/conv/conv.h"
#include "tenure/ops/core/record.h"

// Shapes and arguments of convolutions, checked.

namespace tenure::ops {

/// The attributes that all convolutions begin with.
struct ConvArguments {
  Dims stride;
  Dims low;   ///< padding before
  Dims high;  ///< padding behind
  Dims dilation;
  std::int64_t groups = 1;

  static ConvArguments of(const Attributes& a) {
    return {a.dims(0), a.dims(1), a.dims(2), a.dims(3), a.integer(4)};
  }
  template <class Last>
  Attributes with(const Last& last) const {
    return Attributes(stride, low, high, dilation, groups, last);
  }
};

/// A convolution of x with weights. Throws ShapeError or ValueError in the name of `op`.
kernels::Convolution convolution_of(const char* op, const Shape& x, const Shape& weights,
                                    const ConvArguments& arguments);
Shape image_shape(const kernels::Convolution& c, int axes);   ///< of x
Shape output_shape(const kernels::Convolution& c, int axes);  ///< of y
Shape weight_shape(const kernels::Convolution& c, int axes);

/// [batch, spatial..., channels], checked.
Shape with_spatial(const Shape& image, const Dims& spatial, std::int64_t channels);
Dims spatial_of(const Shape& image);

}  // namespace tenure::ops
