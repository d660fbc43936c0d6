#include "tenure/kernels/cuda/conv/library_conv.h"

#include <algorithm>

#include "tenure/base/units.h"
#include "tenure/kernels/cuda/launch/gpu.h"
#include "tenure/kernels/cuda/move/dense.h"
#include "tenure/kernels/cuda/move/move.h"
#include "tenure/kernels/cuda/products/library_product.h"

namespace tenure::kernels::cuda {
namespace {

/// A kernel of one place that goes from position to position: rows are positions, columns channels.
bool is_product(const ops::Convolution& c) {
  return c.groups == 1 && std::all_of(c.axes.begin(), c.axes.end(), [](const auto& axis) {
           return axis.kernel == 1 && axis.stride == 1 && axis.padding == 0 && axis.in == axis.out;
         });
}

View matrix(DType type, std::int64_t rows, std::int64_t columns, bool is_transposed = false) {
  if (is_transposed) return {.dtype = type, .shape = {columns, rows}, .strides = {1, columns}};
  return {.dtype = type, .shape = {rows, columns}, .strides = {columns, 1}};
}

ProductPlan product_of(const LibraryConv& conv) {
  const ops::Convolution& c = conv.sizes;
  const auto images = [&](bool transposed) {
    return matrix(conv.type, c.outputs(), c.in_channels, transposed);
  };
  const View results = matrix(conv.type, c.outputs(), c.out_channels);
  const auto weights = [&](bool transposed) {
    return matrix(conv.type, c.in_channels, c.out_channels, transposed);
  };
  switch (conv.part) {
    case ConvPart::results:
      return product_plan(images(false), weights(false));
    case ConvPart::images_gradient:
      return product_plan(results, weights(true));
    case ConvPart::weights_gradient:
      break;
  }
  return product_plan(images(true), results);
}

bool is_library_product(const LibraryConv& conv) {
  return is_product(conv.sizes) && library_multiplies(conv.type, product_of(conv));
}

/// Sums over all positions have few results: there are as many parts of each as a GPU has
/// processors.
std::size_t product_workspace(const LibraryConv& conv) {
  const ProductPlan plan = product_of(conv);
  constexpr std::int64_t kParts = 132;
  constexpr std::int64_t kMost = 16 * MiB;
  if (conv.part != ConvPart::weights_gradient) return library_workspace(plan);
  return std::max(library_workspace(plan),
                  static_cast<std::size_t>(std::min(kParts * 4 * plan.results(), kMost)));
}

bool multiply(Gpu& gpu, const LibraryConv& conv, void* images, void* weights, void* results,
              std::span<std::byte> workspace) {
  const ProductPlan plan = product_of(conv);
  const auto run = [&](const void* a, const void* b, void* c) {
    return library_multiply(
        gpu, {.type = conv.type, .out = conv.type, .plan = plan, .c_row = plan.n}, a, b, c,
        workspace);
  };
  switch (conv.part) {
    case ConvPart::results:
      return run(images, weights, results);
    case ConvPart::images_gradient:
      return run(results, weights, images);
    case ConvPart::weights_gradient:
      break;
  }
  return run(images, results, weights);
}

bool is_aligned(const void* data) { return reinterpret_cast<std::uintptr_t>(data) % 16 == 0; }

}  // namespace

bool library_convolves(const LibraryConv& conv) {
  return is_library_product(conv) || cudnn_takes(conv);
}

std::size_t library_conv_workspace(const LibraryConv& conv) {
  if (is_library_product(conv)) return product_workspace(conv);
  DenseInputs room;
  room.take(static_cast<std::size_t>(conv.sizes.weights()) * size_of(conv.type));
  return room.bytes() + cudnn_workspace(conv);
}

bool library_convolve(Gpu& gpu, const char* op, const LibraryConv& conv, void* images,
                      void* weights, void* results, std::span<std::byte> workspace) {
  if (is_library_product(conv)) return multiply(gpu, conv, images, weights, results, workspace);
  if (!is_aligned(images) || !is_aligned(results)) return false;
  // Outputs come first, as the library has weights.
  const ops::Convolution& c = conv.sizes;
  const std::int64_t depth = c.taps() * (c.in_channels / c.groups);
  DenseInputs inputs(gpu, op, workspace);
  View turned = matrix(conv.type, c.out_channels, depth);
  turned.data = inputs.take(static_cast<std::size_t>(turned.count()) * size_of(conv.type));
  const auto plan = cudnn_plan(gpu, conv, inputs.rest().size());
  if (plan == nullptr) return false;
  View ours = matrix(conv.type, depth, c.out_channels, true);
  ours.data = weights;
  const bool makes_weights = conv.part == ConvPart::weights_gradient;
  if (!makes_weights) copy_elements(gpu, op, ours, turned);
  cudnn_run(gpu, *plan, images, turned.data, results, inputs.rest());
  if (makes_weights) {
    View theirs = matrix(conv.type, c.out_channels, depth, true);
    theirs.data = turned.data;
    View made = matrix(conv.type, depth, c.out_channels);
    made.data = weights;
    copy_elements(gpu, op, theirs, made);
  }
  return true;
}

}  // namespace tenure::kernels::cuda
