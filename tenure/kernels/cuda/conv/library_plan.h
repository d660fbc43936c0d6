#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "tenure/ops/nn/convolution.h"
#include "tenure/tensor/dtype.h"

// Convolutions by cuDNN, where it is there and takes them. Sums are of float32, or of float64 for
// elements of it; no operand is rounded to fewer bits than it has, unless cuda_tf32() allows it,
// and results have the same bits from run to run.

namespace tenure::kernels::cuda {

class Gpu;

/// What of a convolution is computed.
enum class ConvPart { results, images_gradient, weights_gradient };

/// A convolution of contiguous images [batch, z, y, x, channels], with weights [out, z, y, x, in].
struct LibraryConv {
  ConvPart part = ConvPart::results;
  DType type = DType::float32;
  ops::Convolution sizes{};
};

/// How the library computes convolutions of one shape.
class LibraryPlan;

/// Whether the library is there and takes such sizes.
bool cudnn_takes(const LibraryConv& conv);
/// Bytes that it may use for these. They depend on sizes and type alone.
std::size_t cudnn_workspace(const LibraryConv& conv);
/// The best way within a workspace, which is kept; nullptr: there is none. Throws DeviceError.
std::shared_ptr<const LibraryPlan> cudnn_plan(Gpu& gpu, const LibraryConv& conv,
                                              std::size_t workspace);
/// Queues it; operands are aligned to 16 bytes. Throws DeviceError.
void cudnn_run(Gpu& gpu, const char* op, const LibraryPlan& plan, void* images, void* weights,
               void* results, std::span<std::byte> workspace);

}  // namespace tenure::kernels::cuda
