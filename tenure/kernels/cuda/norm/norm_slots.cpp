#include "tenure/kernels/cuda/norm/norm_arguments.h"
#include "tenure/kernels/cuda/norm/sums.h"
#include "tenure/kernels/cuda/reduce/matrix.h"
#include "tenure/kernels/cuda/reduce/reduce_plan.h"
#include "tenure/kernels/cuda/table.h"
#include "tenure/ops/core/compute_type.h"
#include "tenure/ops/nn/attributes.h"
#include "tenure/ops/nn/norm.h"

namespace tenure::kernels::cuda {
namespace {

using ops::Kernel;

TypedKernel norming(const char* function, const char* arguments) {
  return {"tenure/kernels/cuda/norm/norm.cu",
          function,
          arguments,
          kGroupThreads,
          {DType::float16, DType::bfloat16, DType::float32, DType::float64}};
}
const TypedKernel kNormSums = norming("norm_sums", "NormSumsArguments");
const TypedKernel kBatchNorm = norming("batch_norm", "ColumnNormArguments");
const TypedKernel kBatchNormPartials = norming("batch_norm_partials", "ColumnNormArguments");
const TypedKernel kBatchNormGradient = norming("batch_norm_gradient", "ColumnNormArguments");

/// Blocks that keep a GPU busy, and no more: each leaves sums that are added up afterwards.
constexpr std::int64_t kBlocks = 256;
/// Rows of a chunk of a batch, at least.
constexpr std::int64_t kChunkRows = 64;

/// Input i, if there are so many.
FlatView numbers_of(const Kernel& k, std::size_t i) {
  return i < k.in.size() ? flat_view(k.in[i]) : FlatView{};
}

std::size_t compute_size(const View& view) { return size_of(ops::widened_type(view.dtype)); }

/// What both directions of batch_norm begin with: the moments of each column of input `at`.
class Batch {
 public:
  Batch(const Kernel& k, std::size_t at)
      : x_(k.in[at]), plan_(x_, rows_axes(x_.shape), TermOrder::fixed), columns_(x_.shape.back()) {
    rows_ = columns_ == 0 ? 0 : x_.count() / columns_;
    const std::int64_t least = (rows_ + kBlocks - 1) / kBlocks;
    chunk_ = std::max(kChunkRows, least);
    chunks_ = std::max<std::int64_t>((rows_ + chunk_ - 1) / chunk_, 1);
  }
  /// Moments, what finding them takes, partial sums.
  std::size_t workspace(bool has_sums) const {
    return plan_offset() + std::max(plan_.workspace(), has_sums ? sums_bytes() : 0);
  }
  bool is_empty() const { return rows_ == 0 || columns_ == 0; }

  ColumnNormArguments find_moments(Gpu& gpu, const Kernel& k, std::size_t first_weight) const {
    std::byte* const rest = k.workspace.data() + plan_offset();
    plan_.launch(gpu, k.op, kReduceMoments, x_.dtype,
                 {.in = x_.data, .out = k.workspace.data(), .workspace = rest});
    ColumnNormArguments arguments{};
    arguments.x = matrix_view(x_, 1);
    arguments.out = matrix_view(k.out[0], 1);
    arguments.weight = numbers_of(k, first_weight);
    arguments.bias = numbers_of(k, first_weight + 1);
    arguments.moments = reinterpret_cast<const Moments*>(k.workspace.data());
    arguments.first = k.out[1].data;
    arguments.second = k.out[2].data;
    arguments.rows = rows_;
    arguments.columns = columns_;
    arguments.epsilon = k.attributes.number(ops::BatchNormAttributes::epsilon);
    arguments.groups = groups_for(chunk_, std::max<std::int64_t>(columns_, 2), size_of(x_.dtype));
    arguments.chunk = chunk_;
    arguments.partials = rest;
    return arguments;
  }
  std::int64_t chunks() const { return chunks_; }

 private:
  static Axes rows_axes(const Shape& shape) {
    Axes axes;
    for (int i = 0; i + 1 < shape.size(); ++i) axes.push_back(i);
    return axes;
  }
  std::size_t plan_offset() const { return static_cast<std::size_t>(columns_) * sizeof(Moments); }
  std::size_t sums_bytes() const {
    return static_cast<std::size_t>(chunks_ * 2 * columns_) * compute_size(x_);
  }

  const View& x_;
  ReducePlan plan_;
  std::int64_t columns_ = 0;
  std::int64_t rows_ = 0;
  std::int64_t chunk_ = 0;
  std::int64_t chunks_ = 0;
};

struct BatchNormSlot {
  static std::size_t workspace(const Kernel& k) { return Batch(k, 0).workspace(false); }
  static void run(const Kernel& k) {
    Gpu* const gpu = gpu_of(k);
    const Batch batch(k, 0);
    if (gpu == nullptr || batch.is_empty()) return;
    gpu->launch(k.op, kBatchNorm, k.in[0].dtype, grid_over(k.out[0].count(), kGroupThreads),
                batch.find_moments(*gpu, k, 1));
  }
};

struct BatchNormGradientSlot {
  static std::size_t workspace(const Kernel& k) { return Batch(k, 1).workspace(true); }
  static void run(const Kernel& k) {
    Gpu* const gpu = gpu_of(k);
    const Batch batch(k, 1);
    if (gpu == nullptr || k.in[1].shape.back() == 0) return;
    if (batch.is_empty()) {  // sums of nothing
      for (const std::size_t o : {1u, 2u}) {
        gpu->set_bytes(k.out[o].data, 0,
                       static_cast<std::size_t>(k.out[o].count()) * size_of(k.out[o].dtype));
      }
      return;
    }
    ColumnNormArguments arguments = batch.find_moments(*gpu, k, 2);
    arguments.dy = matrix_view(k.in[0], 1);
    const DType type = k.in[0].dtype;
    gpu->launch(k.op, kBatchNormPartials, type,
                {.blocks = blocks_for(arguments.columns, arguments.groups),
                 .threads = kGroupThreads,
                 .blocks_y = static_cast<std::uint32_t>(batch.chunks())},
                arguments);
    launch_norm_sums(*gpu, k, arguments.partials, batch.chunks(), arguments.columns);
    gpu->launch(k.op, kBatchNormGradient, type, grid_over(k.out[0].count(), kGroupThreads),
                arguments);
  }
};

}  // namespace

void launch_norm_sums(Gpu& gpu, const Kernel& k, const void* partials, std::int64_t parts,
                      std::int64_t columns) {
  const bool has_bias = k.out.size() > 2;
  const NormSumsArguments arguments{.partials = partials,
                                    .parts = parts,
                                    .columns = columns,
                                    .groups = {.lanes = 32, .columns = 1},
                                    .by_weight = k.out[1].data,
                                    .by_bias = has_bias ? k.out[2].data : nullptr};
  gpu.launch(k.op, kNormSums, k.out[1].dtype,
             {.blocks = blocks_for(columns, arguments.groups),
              .threads = kGroupThreads,
              .blocks_y = has_bias ? 2u : 1u},
             arguments);
}

Family norm_family() {
  return {{row<BatchNormSlot>("batch_norm"), row<BatchNormGradientSlot>("batch_norm_gradient")},
          {&kNormSums, &kBatchNorm, &kBatchNormPartials, &kBatchNormGradient}};
}

}  // namespace tenure::kernels::cuda
