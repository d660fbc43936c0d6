#include "tenure/kernels/cuda/conv/library_conv.h"

#include <algorithm>

#include "tenure/base/units.h"
#include "tenure/kernels/cuda/conv/unroll.h"
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

bool multiply(Gpu& gpu, const char* op, const LibraryConv& conv, void* images, void* weights,
              void* results, std::span<std::byte> workspace) {
  const ProductPlan plan = product_of(conv);
  const auto run = [&](const void* a, const void* b, void* c) {
    return library_multiply(gpu, {.op = op, .type = conv.type, .out = conv.type, .plan = plan}, a,
                            b, c, workspace);
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

/// A way for the library: by cuBLASLt or by cuDNN, of the images or of unrolled ones.
struct Way {
  LibraryConv conv;  ///< what the library is asked for
  bool is_unrolled = false;
  bool is_product = false;
  bool is_there = false;
};
Way way_of(const LibraryConv& conv) {
  if (const auto other = unrolled(conv); other && cudnn_takes(*other)) {
    return {.conv = *other, .is_unrolled = true, .is_there = true};
  }
  if (is_library_product(conv)) return {.conv = conv, .is_product = true, .is_there = true};
  return {.conv = conv, .is_there = cudnn_takes(conv)};
}

/// What cuDNN gets instead of our operands.
struct Copies {
  void* images = nullptr;  ///< unrolled
  View weights{};          ///< outputs first; channels that are padding stay zero
  View own_weights{};      ///< ours, in that order

  Copies(const LibraryConv& conv, const Way& way, DenseInputs& room) {
    const ops::Convolution& c = way.conv.sizes;
    const auto size = static_cast<std::int64_t>(size_of(conv.type));
    const auto take = [&](std::int64_t n) { return room.take(static_cast<std::size_t>(n * size)); };
    if (way.is_unrolled) images = take(c.inputs() * c.in_channels);
    const std::int64_t channels = c.in_channels / c.groups;
    const std::int64_t taps = c.taps();
    const std::int64_t own = conv.sizes.weights() / (c.out_channels * taps);
    weights = {.dtype = conv.type,
               .shape = {c.out_channels, taps, own},
               .strides = {taps * channels, channels, 1},
               .data = take(c.weights())};
    own_weights = {.dtype = conv.type,
                   .shape = weights.shape,
                   .strides = {1, own * c.out_channels, c.out_channels}};
  }
};

}  // namespace

bool library_convolves(const LibraryConv& conv) { return way_of(conv).is_there; }

std::size_t library_conv_workspace(const LibraryConv& conv) {
  const Way way = way_of(conv);
  if (way.is_product) return product_workspace(conv);
  DenseInputs room;
  const Copies copies(conv, way, room);
  return room.bytes() + cudnn_workspace(way.conv);
}

bool library_convolve(Gpu& gpu, const char* op, const LibraryConv& conv, void* images,
                      void* weights, void* results, std::span<std::byte> workspace) {
  const Way way = way_of(conv);
  if (way.is_product) return multiply(gpu, op, conv, images, weights, results, workspace);
  if (!is_aligned(images) || !is_aligned(results)) return false;
  DenseInputs room(gpu, op, workspace);
  Copies copies(conv, way, room);
  copies.own_weights.data = weights;
  const auto plan = cudnn_plan(gpu, way.conv, room.rest().size());
  if (plan == nullptr) return false;
  if (way.is_unrolled) unroll_images(gpu, op, conv, images, copies.images);
  const bool makes_weights = conv.part == ConvPart::weights_gradient;
  if (!makes_weights) {
    if (way.is_unrolled) {
      gpu.set_bytes(op, copies.weights.data, 0,
                    static_cast<std::size_t>(way.conv.sizes.weights()) * size_of(conv.type));
    }
    copy_elements(gpu, op, copies.own_weights, copies.weights);
  }
  cudnn_run(gpu, op, *plan, way.is_unrolled ? copies.images : images, copies.weights.data, results,
            room.rest());
  if (makes_weights) copy_elements(gpu, op, copies.weights, copies.own_weights);
  return true;
}

}  // namespace tenure::kernels::cuda
