#pragma once

#include <optional>

#include "tenure/kernels/cuda/compile/kernels.h"
#include "tenure/kernels/cuda/conv/library_plan.h"

// Note: unrolled images
//
// Tensor cores take 8 channels at once, and images have 3. Where a kernel goes along the last axis
// by strides, what it meets there can be channels as well: with a kernel of 7 x 7 and strides of 2,
// rows of 224 positions are rows of 112, of 7 times as many channels, for a kernel of 7 x 1.
// Padding along that axis is in the unrolled image. Nothing is multiplied that was not before, but
// zeros by zeros where channels are padded.

namespace tenure::kernels::cuda {

/// The convolution of unrolled images that computes this one; nothing: it is none for which that
/// pays.
std::optional<LibraryConv> unrolled(const LibraryConv& conv);
/// Queues the copy from contiguous images of `conv` to those of unrolled(conv).
void unroll_images(Gpu& gpu, const char* op, const LibraryConv& conv, const void* from, void* to);

extern const TypedKernel kUnrollImages;

}  // namespace tenure::kernels::cuda
