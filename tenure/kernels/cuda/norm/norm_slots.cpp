#include "tenure/kernels/cuda/norm/norm_arguments.h"
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
const TypedKernel kRowNorm = norming("row_norm", "RowNormArguments");
const TypedKernel kRowNormGradient = norming("row_norm_gradient", "RowNormArguments");
const TypedKernel kNormSums = norming("norm_sums", "NormSumsArguments");

/// Blocks that keep a GPU busy, and no more: each leaves sums that are added up afterwards.
constexpr std::int64_t kBlocks = 256;

/// Input i, if there are so many.
FlatView numbers_of(const Kernel& k, std::size_t i) {
  return i < k.in.size() ? flat_view(k.in[i]) : FlatView{};
}

std::size_t compute_size(const View& view) { return size_of(ops::widened_type(view.dtype)); }

void launch_sums(Gpu& gpu, const Kernel& k, const void* partials, std::int64_t parts,
                 std::int64_t columns) {
  const bool has_bias = k.out.size() > 2;
  const NormSumsArguments arguments{
      .partials = partials,
      .parts = parts,
      .columns = columns,
      .groups = groups_for(parts, std::max<std::int64_t>(columns, 2), sizeof(float)),
      .by_weight = k.out[1].data,
      .by_bias = has_bias ? k.out[2].data : nullptr};
  gpu.launch(k.op, kNormSums, k.out[1].dtype,
             {.blocks = blocks_for(columns, arguments.groups),
              .threads = kGroupThreads,
              .blocks_y = has_bias ? 2u : 1u},
             arguments);
}

/// Of layer_norm and rms_norm: x is input `at`.
RowNormArguments rows_of(const Kernel& k, std::size_t at, bool rms) {
  const View& x = k.in[at];
  const auto dims = static_cast<int>(k.attributes.integer(ops::RowNormAttributes::dims));
  const std::int64_t columns = count(ops::normalized_shape(k.op, x.shape, k.attributes));
  RowNormArguments arguments{};
  arguments.x = matrix_view(x, dims);
  arguments.weight = numbers_of(k, at + 1);
  arguments.bias = numbers_of(k, at + 2);
  arguments.rows = columns == 0 ? 0 : count(x.shape) / columns;
  arguments.columns = columns;
  arguments.epsilon = k.attributes.number(ops::RowNormAttributes::epsilon);
  arguments.rms = rms ? 1 : 0;
  arguments.groups = groups_of_rows(columns, size_of(x.dtype));
  const std::int64_t of_block = kGroupThreads / arguments.groups.lanes;
  const std::int64_t blocks = (arguments.rows + of_block - 1) / of_block;
  arguments.all_groups = std::clamp<std::int64_t>(std::min(blocks, kBlocks) * of_block, 1,
                                                  std::max<std::int64_t>(arguments.rows, 1));
  if (!k.out.empty()) arguments.out = matrix_view(k.out[0], dims);
  return arguments;
}

template <bool rms>
struct RowNormSlot {
  static void run(const Kernel& k) {
    Gpu* const gpu = gpu_of(k);
    if (gpu == nullptr || k.out[0].count() == 0) return;
    const RowNormArguments arguments = rows_of(k, 0, rms);
    gpu->launch(k.op, kRowNorm, k.in[0].dtype,
                {.blocks = blocks_for(arguments.rows, arguments.groups), .threads = kGroupThreads},
                arguments);
  }
};

template <bool rms>
struct RowNormGradientSlot {
  static std::size_t workspace(const Kernel& k) {
    const RowNormArguments a = rows_of(k, 1, rms);
    return static_cast<std::size_t>(a.all_groups * 2 * a.columns) * compute_size(k.in[0]);
  }
  static void run(const Kernel& k) {
    Gpu* const gpu = gpu_of(k);
    if (gpu == nullptr) return;
    RowNormArguments arguments = rows_of(k, 1, rms);
    if (arguments.columns == 0) return;
    arguments.dy =
        matrix_view(k.in[0], static_cast<int>(k.attributes.integer(ops::RowNormAttributes::dims)));
    arguments.bias = {};
    arguments.partials = k.workspace.data();
    gpu->launch(
        k.op, kRowNormGradient, k.in[0].dtype,
        {.blocks = blocks_for(arguments.all_groups, arguments.groups), .threads = kGroupThreads},
        arguments);
    launch_sums(*gpu, k, arguments.partials, arguments.all_groups, arguments.columns);
  }
};

}  // namespace

Family norm_family() {
  return {{row<RowNormSlot<false>>("layer_norm"),
           row<RowNormGradientSlot<false>>("layer_norm_gradient"),
           row<RowNormSlot<true>>("rms_norm"), row<RowNormGradientSlot<true>>("rms_norm_gradient")},
          {&kRowNorm, &kRowNormGradient, &kNormSums}};
}

}  // namespace tenure::kernels::cuda
