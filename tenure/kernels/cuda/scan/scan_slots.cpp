#include "tenure/kernels/cuda/reduce/axis.h"
#include "tenure/kernels/cuda/scan/scan_arguments.h"
#include "tenure/kernels/cuda/table.h"
#include "tenure/ops/reduce/axes.h"

namespace tenure::kernels::cuda {
namespace {

using ops::Kernel;

TypedKernel scanning(const char* function) {
  return {"tenure/kernels/cuda/scan/scan.cu",
          function,
          "ScanArguments",
          kGroupThreads,
          {DType::boolean, DType::uint8, DType::int8, DType::int16, DType::int32, DType::int64,
           DType::float16, DType::bfloat16, DType::float32, DType::float64}};
}
const TypedKernel kSum = scanning("running_sum");
const TypedKernel kProd = scanning("running_prod");
const TypedKernel kMax = scanning("running_max");
const TypedKernel kMin = scanning("running_min");

constexpr std::int64_t kLongColumn = 1 << 16;
constexpr std::int64_t kLeastChunk = 1 << 13;
constexpr std::int64_t kMostChunks = 256;

int axis_of(const Kernel& k) {
  return ops::axis_of(k.attributes.integer(ops::AxiswiseAttributes::axis), k.in[0].shape.size(),
                      k.op);
}
/// What a column is cut into, by its length alone.
std::int64_t chunk_of(std::int64_t length) {
  if (length < kLongColumn) return std::max<std::int64_t>(length, 1);
  const std::int64_t even = (length + kMostChunks - 1) / kMostChunks;
  return (even + kLeastChunk - 1) / kLeastChunk * kLeastChunk;
}

template <const TypedKernel& kernel>
struct ScanSlot {
  static std::size_t workspace(const Kernel& k) {
    const AxisShape shape(k.in[0].shape, axis_of(k));
    const std::int64_t chunk = chunk_of(shape.length);
    if (chunk >= shape.length) return 0;
    return static_cast<std::size_t>(shape.columns * ((shape.length + chunk - 1) / chunk)) *
           kTotalBytes;
  }
  static void run(const Kernel& k) {
    Gpu* const gpu = gpu_of(k);
    if (gpu == nullptr || k.out[0].count() == 0) return;
    const View& x = k.in[0];
    const int axis = axis_of(k);
    const AxisShape shape(x.shape, axis);
    const std::int64_t chunk = chunk_of(shape.length);
    const std::int64_t chunks = (shape.length + chunk - 1) / chunk;
    ScanArguments arguments{.in = axis_view(x, axis),
                            .out = axis_view(k.out[0], axis),
                            .length = shape.length,
                            .columns = shape.columns,
                            .chunk = chunk,
                            .chunks = chunks,
                            .totals = chunks > 1 ? k.workspace.data() : nullptr,
                            .writes_totals = chunks > 1 ? 1 : 0,
                            .groups = shape.groups(size_of(x.dtype), kScanItems)};
    const Grid grid{.blocks = blocks_for(shape.columns, arguments.groups),
                    .threads = kGroupThreads,
                    .blocks_y = static_cast<std::uint32_t>(chunks)};
    if (chunks > 1) gpu->launch(k.op, kernel, x.dtype, grid, arguments);
    arguments.writes_totals = 0;
    gpu->launch(k.op, kernel, x.dtype, grid, arguments);
  }
};

}  // namespace

Family scan_family() {
  return {{row<ScanSlot<kSum>>("cumsum"), row<ScanSlot<kProd>>("cumprod"),
           row<ScanSlot<kMax>>("cummax"), row<ScanSlot<kMin>>("cummin")},
          {&kSum, &kProd, &kMax, &kMin}};
}

}  // namespace tenure::kernels::cuda
