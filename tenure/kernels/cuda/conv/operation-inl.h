#pragma once

#include <optional>

#include "tenure/kernels/cuda/conv/descriptor-inl.h"
#include "tenure/kernels/cuda/conv/library_plan.h"

namespace tenure::kernels::cuda {

/// What cuDNN calls the operands.
inline constexpr std::int64_t kConvImages = 1;
inline constexpr std::int64_t kConvWeights = 2;
inline constexpr std::int64_t kConvResults = 3;

/// A convolution, with the same padding on both sides of an axis, as cuDNN is told of it.
struct ConvOperation {
  Descriptor images, weights, results, geometry, operation;
  Descriptor graph;  ///< which has the others
};
/// Nothing: the library knows no such thing. In operation.cpp.
std::optional<ConvOperation> conv_operation(Device device, cudnnHandle_t handle,
                                            const LibraryConv& conv);

}  // namespace tenure::kernels::cuda
