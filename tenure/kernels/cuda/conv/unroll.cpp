#include "tenure/kernels/cuda/conv/unroll.h"

#include "tenure/base/units.h"
#include "tenure/kernels/cuda/conv/unroll_arguments.h"
#include "tenure/kernels/cuda/launch/gpu.h"

namespace tenure::kernels::cuda {
namespace {

constexpr std::uint32_t kUnrollThreads = 256;

}  // namespace

const TypedKernel kUnrollImages{"tenure/kernels/cuda/conv/unroll.cu",
                                "unroll_images",
                                "UnrollArguments",
                                kUnrollThreads,
                                {DType::float16, DType::bfloat16}};

std::optional<LibraryConv> unrolled(const LibraryConv& conv) {
  const ops::Convolution& c = conv.sizes;
  const auto& last = c.axes[2];
  if (!is_narrow_float(conv.type) || c.groups != 1 || last.stride == 1 ||
      last.kernel < last.stride || c.in_channels % kUnrolledAtOnce == 0 ||
      conv.part == ConvPart::images_gradient) {
    return std::nullopt;
  }
  LibraryConv made = conv;
  made.sizes.axes[2] = {.in = last.out, .out = last.out};
  made.sizes.in_channels = static_cast<std::int64_t>(
      round_up(static_cast<std::size_t>(c.in_channels * last.kernel), kUnrolledAtOnce));
  return made;
}

void unroll_images(Gpu& gpu, const char* op, const LibraryConv& conv, const void* from, void* to) {
  const ops::Convolution& c = conv.sizes;
  const auto& last = c.axes[2];
  const std::int64_t rows = c.inputs() / last.in;
  const std::int64_t channels = unrolled(conv)->sizes.in_channels;
  gpu.launch(op, kUnrollImages, conv.type,
             grid_over(rows * last.out * channels / kUnrolledAtOnce, kUnrollThreads),
             UnrollArguments{.from = from,
                             .to = to,
                             .rows = rows,
                             .in = last.in,
                             .out = last.out,
                             .kernel = last.kernel,
                             .stride = last.stride,
                             .padding = last.padding,
                             .dilation = last.dilation,
                             .channels = c.in_channels,
                             .unrolled = channels});
}

}  // namespace tenure::kernels::cuda
