#include "tenure/kernels/cuda/launch/gpu.h"
#include "tenure/kernels/cuda/norm/norm_arguments.h"
#include "tenure/kernels/cuda/reduce/matrix.h"
#include "tenure/kernels/cuda/table.h"
#include "tenure/ops/core/compute_type.h"
#include "tenure/ops/nn/attributes.h"
#include "tenure/ops/nn/norm.h"

namespace tenure::kernels::cuda {
namespace {

using ops::Kernel;

TypedKernel norming_rows(const char* function, const char* arguments = "RowNormArguments") {
  return {"tenure/kernels/cuda/norm/rows.cu",
          function,
          arguments,
          kGroupThreads,
          {DType::float16, DType::bfloat16, DType::float32, DType::float64}};
}
const RowKernels kRowNorm(norming_rows("row_norm"));
const RowKernels kRowNormGradient(norming_rows("row_norm_gradient"));
const TypedKernel kNormSums = norming_rows("norm_sums", "NormSumsArguments");

/// Blocks that keep a GPU busy, and no more: each leaves sums that are added up afterwards.
constexpr std::int64_t kGradientBlocks = 256;

/// Input i, if there are so many.
FlatView numbers_at(const Kernel& k, std::size_t i) {
  return i < k.in.size() ? flat_view(k.in[i]) : FlatView{};
}

/// Adds up what `parts` parts of a gradient's sums have for each column, by weight and by bias:
/// into outputs 1 and 2, if there is one.
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

/// Of layer_norm and rms_norm, or of their gradients, whose input 0 is dy.
RowNormArguments rows_of(const Kernel& k, bool is_gradient, bool rms) {
  const std::size_t at = is_gradient ? 1 : 0;
  const View& x = k.in[at];
  const auto dims = static_cast<int>(k.attributes.integer(ops::RowNormAttributes::dims));
  const std::int64_t columns = count(ops::normalized_shape(k.op, x.shape, k.attributes));
  RowNormArguments arguments{};
  arguments.x = matrix_view(x, dims);
  if (is_gradient) arguments.dy = matrix_view(k.in[0], dims);
  if (!k.out.empty()) arguments.out = matrix_view(k.out[0], dims);
  arguments.weight = numbers_at(k, at + 1);
  if (!is_gradient) arguments.bias = numbers_at(k, at + 2);
  arguments.rows = columns == 0 ? 0 : count(x.shape) / columns;
  arguments.columns = columns;
  arguments.epsilon = k.attributes.number(ops::RowNormAttributes::epsilon);
  arguments.rms = rms ? 1 : 0;
  const RowShape shape({&arguments.x, &arguments.dy, &arguments.out},
                       {&arguments.weight, &arguments.bias}, columns, size_of(x.dtype));
  arguments.form = shape.form;
  arguments.groups = shape.groups;
  const std::int64_t of_block = kGroupThreads / arguments.groups.lanes;
  arguments.all_groups =
      of_block * std::min((arguments.rows + of_block - 1) / of_block, kGradientBlocks);
  return arguments;
}

template <bool rms>
struct RowNormSlot {
  static void run(const Kernel& k) {
    Gpu* const gpu = gpu_of(k);
    if (gpu == nullptr || k.out[0].count() == 0) return;
    const RowNormArguments arguments = rows_of(k, false, rms);
    gpu->launch(k.op, kRowNorm.of(arguments.form), k.in[0].dtype,
                {.blocks = blocks_for(arguments.rows, arguments.groups), .threads = kGroupThreads},
                arguments);
  }
};

template <bool rms>
struct RowNormGradientSlot {
  /// A part for each block, in any layout.
  static std::size_t workspace(const Kernel& k) {
    const RowNormArguments a = rows_of(k, true, rms);
    const std::int64_t parts = std::clamp<std::int64_t>(a.rows, 1, kGradientBlocks);
    return static_cast<std::size_t>(parts * 2 * a.columns) *
           size_of(ops::widened_type(k.in[0].dtype));
  }
  static void run(const Kernel& k) {
    Gpu* const gpu = gpu_of(k);
    if (gpu == nullptr) return;
    RowNormArguments arguments = rows_of(k, true, rms);
    if (arguments.columns == 0) return;
    arguments.partials = k.workspace.data();
    const std::uint32_t blocks = blocks_for(arguments.all_groups, arguments.groups);
    if (blocks > 0) {
      gpu->launch(k.op, kRowNormGradient.of(arguments.form), k.in[0].dtype,
                  {.blocks = blocks, .threads = kGroupThreads}, arguments);
    }
    launch_norm_sums(*gpu, k, arguments.partials, blocks, arguments.columns);
  }
};

}  // namespace

Family row_norm_family() {
  Family family{
      {row<RowNormSlot<false>>("layer_norm"),
       row<RowNormGradientSlot<false>>("layer_norm_gradient"), row<RowNormSlot<true>>("rms_norm"),
       row<RowNormGradientSlot<true>>("rms_norm_gradient")},
      {&kNormSums}};
  kRowNorm.add_to(family.kernels);
  kRowNormGradient.add_to(family.kernels);
  return family;
}

}  // namespace tenure::kernels::cuda
