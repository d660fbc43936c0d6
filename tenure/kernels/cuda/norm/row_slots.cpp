#include "tenure/kernels/cuda/launch/gpu.h"
#include "tenure/kernels/cuda/loops/neighbours.h"
#include "tenure/kernels/cuda/norm/norm_arguments.h"
#include "tenure/kernels/cuda/places/small_nest.h"
#include "tenure/kernels/cuda/reduce/matrix.h"
#include "tenure/kernels/cuda/table.h"
#include "tenure/ops/core/compute_type.h"
#include "tenure/ops/nn/attributes.h"
#include "tenure/ops/nn/norm.h"

namespace tenure::kernels::cuda {
namespace {

using ops::FusedNeighbours;
using ops::Kernel;

/// A processor has room for so many blocks.
TypedKernel norming_rows(const char* function, std::uint32_t blocks,
                         const char* arguments = "RowNormArguments") {
  return {"tenure/kernels/cuda/norm/rows.cu",
          function,
          arguments,
          kGroupThreads,
          {DType::float16, DType::bfloat16, DType::float32, DType::float64},
          blocks};
}
const RowKernels kRowNorm(norming_rows("row_norm", 1));
const RowKernels kRowNormGradient(norming_rows("row_norm_gradient", 2));
const TypedKernel kNormSums = norming_rows("norm_sums", 1, "NormSumsArguments");

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
struct RowNorm {
  RowNormArguments a{};
  Shape shape;    ///< of x
  int strip = 1;  ///< elements that are read at once

  RowNorm(const Kernel& k, bool is_gradient, bool rms) {
    const std::size_t at = is_gradient ? 1 : 0;
    const View& x = k.in[at];
    shape = x.shape;
    const auto dims = static_cast<int>(k.attributes.integer(ops::RowNormAttributes::dims));
    a.columns = count(ops::normalized_shape(k.op, x.shape, k.attributes));
    a.x = matrix_view(x, dims);
    if (is_gradient) a.dy = matrix_view(k.in[0], dims);
    if (!k.out.empty()) a.out = matrix_view(k.out[0], dims);
    a.weight = numbers_at(k, at + 1);
    if (!is_gradient) a.bias = numbers_at(k, at + 2);
    a.rows = a.columns == 0 ? 0 : count(x.shape) / a.columns;
    a.epsilon = k.attributes.number(ops::RowNormAttributes::epsilon);
    a.rms = rms ? 1 : 0;
    const RowShape rows({&a.x, &a.dy, &a.out}, {&a.weight, &a.bias}, a.columns, size_of(x.dtype));
    a.form = rows.form;
    a.groups = rows.groups;
    if (has_strips(a.form)) strip = strip_size(size_of(x.dtype));
    const std::int64_t of_block = kGroupThreads / a.groups.lanes;
    a.all_groups = of_block * std::min((a.rows + of_block - 1) / of_block, kGradientBlocks);
  }
};

/// Elements that loops beside a kernel count.
bool are_few(const View& x) { return x.count() <= kMostSmallSteps; }

template <bool rms>
struct RowNormSlot {
  static void run(const Kernel& k) { run_fused(k, {}); }
  static bool leads_loop(const Kernel& k) { return are_few(k.in[0]); }
  static void run_fused(const Kernel& k, const FusedNeighbours& neighbours) {
    Gpu* const gpu = gpu_of(k);
    if (gpu == nullptr || k.out[0].count() == 0) return;
    const auto [a, shape, strip] = RowNorm(k, false, rms);
    launch_with(*gpu, k.op, kRowNorm.of(a.form), k.in[0].dtype,
                {.blocks = blocks_for(a.rows, a.groups), .threads = kGroupThreads}, a, neighbours,
                shape, strip);
  }
  static constexpr ops::FusingKernel fusing{
      .leads_loop = leads_loop, .of_any_size = true, .run = run_fused};
};

template <bool rms>
struct RowNormGradientSlot {
  /// Sums of each column, by weight and by bias.
  static std::size_t sums_bytes(const RowNormArguments& a, const Kernel& k) {
    return static_cast<std::size_t>(2 * a.columns) * size_of(ops::widened_type(k.in[0].dtype));
  }
  /// Those of each group, where rows are held.
  static std::uint32_t shared_bytes(const RowNormArguments& a, const Kernel& k) {
    if (a.form == kLoopedRows) return 0;
    return static_cast<std::uint32_t>(kGroupThreads / a.groups.lanes * sums_bytes(a, k));
  }
  /// Those of each block, in any layout.
  static std::size_t workspace(const Kernel& k) {
    const RowNormArguments a = RowNorm(k, true, rms).a;
    return static_cast<std::size_t>(std::clamp<std::int64_t>(a.rows, 1, kGradientBlocks)) *
           sums_bytes(a, k);
  }
  static void run(const Kernel& k) { run_fused(k, {}); }
  /// Where rows are held, so that it is made once.
  static bool takes_loop(const Kernel& k) {
    return are_few(k.in[0]) && RowNorm(k, true, rms).a.form != kLoopedRows;
  }
  static void run_fused(const Kernel& k, const FusedNeighbours& neighbours) {
    Gpu* const gpu = gpu_of(k);
    if (gpu == nullptr) return;
    auto [a, shape, strip] = RowNorm(k, true, rms);
    if (a.columns == 0) return;
    a.partials = k.workspace.data();
    const std::uint32_t blocks = blocks_for(a.all_groups, a.groups);
    if (blocks > 0) {
      launch_with(*gpu, k.op, kRowNormGradient.of(a.form), k.in[0].dtype,
                  {.blocks = blocks, .threads = kGroupThreads, .shared_bytes = shared_bytes(a, k)},
                  a, neighbours, shape, strip);
    }
    launch_norm_sums(*gpu, k, a.partials, blocks, a.columns);
  }
  static bool leads_loop(const Kernel& k) { return are_few(k.in[0]); }
  static constexpr ops::FusingKernel fusing{
      .takes_loop = takes_loop, .leads_loop = leads_loop, .of_any_size = true, .run = run_fused};
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
