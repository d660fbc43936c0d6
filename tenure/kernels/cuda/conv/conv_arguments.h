#pragma once

#include <cstdint>

namespace tenure::kernels::cuda {

/// Images or weights with three spatial axes: [batch, z, y, x, channels], or [z, y, x, in, out].
struct ConvOperand {
  void* data;
  std::int64_t strides[5];  ///< in elements
};

/// Of a convolution or one of its gradients.
struct ConvArguments {
  ConvOperand x;        ///< images, or the gradient by them
  ConvOperand weights;  ///< or the gradient by them
  ConvOperand y;        ///< results, or the gradient of them
  const void* bias;     ///< null: none
  std::int64_t bias_step;
  std::int64_t relu;
  std::int64_t adds;  ///< gradients by weights and bias go on from what they have
  std::int64_t in[3];
  std::int64_t out[3];
  std::int64_t kernel[3];
  std::int64_t stride[3];
  std::int64_t padding[3];
  std::int64_t dilation[3];
  std::int64_t batch;
  std::int64_t in_channels;   ///< of a group
  std::int64_t out_channels;  ///< of a group
  std::int64_t groups;
  void* sums;  ///< of each image, of what is added up over the batch; null: they are not apart
};

/// Of sums over the images, in their order.
struct ImageSumArguments {
  const void* sums;
  void* out;
  std::int64_t n;  ///< of one image
  std::int64_t images;
  std::int64_t adds;
};

}  // namespace tenure::kernels::cuda
