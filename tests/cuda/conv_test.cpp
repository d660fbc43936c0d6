#include <gtest/gtest.h>

#include <vector>

#include "tenure/kernels/cuda/conv/library_conv.h"
#include "tenure/kernels/cuda/conv/unroll.h"
#include "tenure/kernels/cuda/launch/gpu.h"
#include "tenure/kernels/cuda/move/dense.h"
#include "tests/cuda/emulated.h"

// What libraries are asked for. They are not on the emulated GPU, but what is copied for them is.

namespace tenure {
namespace {

using kernels::cuda::ConvPart;
using kernels::cuda::LibraryConv;

/// Of images of 224 x 224 x 3, as networks begin with.
LibraryConv stem(DType type, ConvPart part = ConvPart::results) {
  LibraryConv conv{.part = part, .type = type};
  for (const std::size_t d : {1u, 2u}) {
    conv.sizes.axes[d] = {.in = 224, .out = 112, .kernel = 7, .stride = 2, .padding = 3};
  }
  conv.sizes.batch = 2;
  conv.sizes.in_channels = 3;
  conv.sizes.out_channels = 64;
  return conv;
}

TEST(CudaConv, UnrollsImagesOfFewChannels) {
  const auto other = kernels::cuda::unrolled(stem(bfloat16));
  ASSERT_TRUE(other);
  EXPECT_EQ(other->sizes.in_channels, 24) << "7 times 3, padded";
  EXPECT_EQ(other->sizes.axes[1].kernel, 7);
  EXPECT_EQ(other->sizes.axes[2].kernel, 1);
  EXPECT_EQ(other->sizes.axes[2].in, 112);
  EXPECT_EQ(other->sizes.outputs(), stem(bfloat16).sizes.outputs());
  EXPECT_FALSE(kernels::cuda::unrolled(stem(float32))) << "without tensor cores";
  EXPECT_FALSE(kernels::cuda::unrolled(stem(bfloat16, ConvPart::images_gradient)));
  LibraryConv many = stem(bfloat16);
  many.sizes.in_channels = 16;
  EXPECT_FALSE(kernels::cuda::unrolled(many));
}

TEST(CudaConv, TakesAnyWorkspaceThatItSaid) {
  // On this machine or on another one, with its libraries or without: sizes alone say how much.
  for (const ConvPart part : {ConvPart::results, ConvPart::weights_gradient}) {
    const std::size_t bytes = kernels::cuda::cudnn_workspace(stem(bfloat16, part));
    EXPECT_GT(bytes, std::size_t{2} * 224 * 224 * 8 * 2) << "images of 8 channels";
    EXPECT_LT(bytes, std::size_t{32} << 20);
  }
}

TEST(CudaConv, LeavesAnAlignedWorkspaceBehindItsCopies) {
  // cuBLASLt computes nothing in a workspace that does not begin at a multiple of 256 bytes.
  kernels::cuda::DenseInputs inputs;
  inputs.read({.dtype = float32, .shape = {3, 5}, .strides = {1, 3}});
  EXPECT_EQ(inputs.bytes(), 256u);
  inputs.take(257);
  EXPECT_EQ(inputs.bytes(), 768u);
}

TEST(CudaConv, UnrolledImagesHaveWhatAKernelMeets) {
  const Device device = test::emulated_gpu();
  LibraryConv conv{.type = bfloat16};
  conv.sizes.axes[1] = {.in = 4, .out = 4};
  conv.sizes.axes[2] = {.in = 9, .out = 4, .kernel = 3, .stride = 2, .padding = 1, .dilation = 2};
  conv.sizes.batch = 2;
  conv.sizes.in_channels = 3;
  conv.sizes.out_channels = 5;
  const auto other = kernels::cuda::unrolled(conv);
  ASSERT_TRUE(other);
  const std::int64_t channels = other->sizes.in_channels;
  ASSERT_EQ(channels, 16);
  const Tensor x = cast(reshape(arange(1, 1 + 2 * 4 * 9 * 3), {8, 9, 3}), bfloat16);
  const Tensor there = copy_to(x, device);
  Tensor made = copy_to(full({8, 4, channels}, -1, bfloat16), device);
  {
    Pin from;
    Pin to;
    from.take(there.body("test"), "test", Site::current());
    to.take(made.body("test"), "test", Site::current());
    kernels::cuda::unroll_images(kernels::cuda::gpu(device), "test", conv, from.data(), to.data());
  }
  const std::vector<float> in = cast(x, float32).to_vector<float>();
  const std::vector<float> out = cast(copy_to(made, cpu), float32).to_vector<float>();
  std::size_t i = 0;
  for (std::int64_t row = 0; row < 8; ++row) {
    for (std::int64_t o = 0; o < 4; ++o) {
      for (std::int64_t k = 0; k < channels; ++k) {
        const std::int64_t at = 2 * o - 1 + k / 3 * 2;
        const bool is_there = k < 9 && at >= 0 && at < 9;
        const auto element = static_cast<std::size_t>((row * 9 + at) * 3 + k % 3);
        ASSERT_EQ(out[i++], is_there ? in[element] : 0.0F) << row << ' ' << o << ' ' << k;
      }
    }
  }
}

}  // namespace
}  // namespace tenure
