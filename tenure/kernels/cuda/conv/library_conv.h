#pragma once

#include <cstddef>
#include <span>

#include "tenure/kernels/cuda/conv/library_plan.h"

// Convolutions by libraries: those that are products of matrices by cuBLASLt, others by cuDNN.

namespace tenure::kernels::cuda {

/// Whether a library that computes such a convolution is there.
bool library_convolves(const LibraryConv& conv);
/// Bytes that it takes, which depend on sizes and type alone.
std::size_t library_conv_workspace(const LibraryConv& conv);
/// Queues it; operands are contiguous, weights [z, y, x, in, out]. False: the library knows no way
/// for it, or for operands that lie so. Throws DeviceError.
bool library_convolve(Gpu& gpu, const char* op, const LibraryConv& conv, void* images,
                      void* weights, void* results, std::span<std::byte> workspace);

}  // namespace tenure::kernels::cuda
