#include <algorithm>
#include <utility>

#include "tenure/kernels/cuda/attention/attention_arguments.h"
#include "tenure/kernels/cuda/launch/gpu.h"
#include "tenure/kernels/cuda/places/nest.h"
#include "tenure/kernels/cuda/table.h"
#include "tenure/ops/core/compute_type.h"
#include "tenure/ops/nn/attention.h"
#include "tenure/ops/nn/attributes.h"

namespace tenure::kernels::cuda {
namespace {

using ops::Kernel;

// As the kernels have them.
constexpr std::uint32_t kAttentionThreads = 256;
constexpr std::int64_t kRowsOfBlock = 32;
constexpr std::int64_t kColumnsOfBlock = 64;
constexpr std::size_t kFacts = 3;

TypedKernel attention_kernel(const char* function) {
  return {"tenure/kernels/cuda/attention/attention.cu",
          function,
          "AttentionArguments",
          kAttentionThreads,
          {DType::float16, DType::bfloat16, DType::float32, DType::float64}};
}
/// Kernels of tiles (tiles.cuh) for heads of up to so many columns.
struct TiledKernels {
  AttentionTiles tiles;           ///< of `attend`
  AttentionTiles gradient_tiles;  ///< of the others
  int rooms;                      ///< for weights, of each sum that they are in
  int facts;                      ///< of each query
  TypedKernel attend;
  TypedKernel query_gradient;
  TypedKernel key_value_gradient;
};
TypedKernel tiled_kernel(const char* file, const char* function, const AttentionTiles& tiles,
                         std::vector<Types> types) {
  return {file, function, "AttentionArguments", static_cast<std::uint32_t>(tiles.threads()),
          std::move(types)};
}
constexpr const char* kTensorCores = "tenure/kernels/cuda/attention/tensor_cores.cu";
constexpr const char* kFloat32File = "tenure/kernels/cuda/attention/float32_tiles.cu";
const std::vector<Types> kNarrow{DType::float16, DType::bfloat16};
const TiledKernels kUpTo64{
    kAttend64,
    kGradient64,
    0,
    2,
    tiled_kernel(kTensorCores, "attend_64", kAttend64, kNarrow),
    tiled_kernel(kTensorCores, "query_gradient_64", kGradient64, kNarrow),
    tiled_kernel(kTensorCores, "key_value_gradient_64", kGradient64, kNarrow)};
const TiledKernels kUpTo128{
    kAttend128,
    kGradient128,
    0,
    2,
    tiled_kernel(kTensorCores, "attend_128", kAttend128, kNarrow),
    tiled_kernel(kTensorCores, "query_gradient_128", kGradient128, kNarrow),
    tiled_kernel(kTensorCores, "key_value_gradient_128", kGradient128, kNarrow)};
const TiledKernels kFloat32{
    kFloat32Tiles,
    kFloat32Tiles,
    1,
    3,
    tiled_kernel(kFloat32File, "attend_float32", kFloat32Tiles, {DType::float32}),
    tiled_kernel(kFloat32File, "query_gradient_float32", kFloat32Tiles, {DType::float32}),
    tiled_kernel(kFloat32File, "key_value_gradient_float32", kFloat32Tiles, {DType::float32})};

const TypedKernel kAttend = attention_kernel("attend");
const TypedKernel kFactsOf = attention_kernel("attention_facts");
const TypedKernel kQueryGradient = attention_kernel("attention_query_gradient");
const TypedKernel kKeyGradient = attention_kernel("attention_key_gradient");
const TypedKernel kValueGradient = attention_kernel("attention_value_gradient");

AttentionMatrix attention_matrix(const View& view) {
  const int rank = view.shape.size();
  return {.data = view.data,
          .row = rank < 2 ? 0 : view.strides[rank - 2],
          .column = view.strides[rank - 1]};
}

AttentionArguments attention_arguments(const Kernel& k, const View* gradient, const View* mask) {
  const View& q = k.in[0];
  const int rank = q.shape.size();
  AttentionArguments a{};
  a.q = attention_matrix(q);
  a.k = attention_matrix(k.in[1]);
  a.v = attention_matrix(k.in[2]);
  a.n = q.shape[rank - 2];
  a.m = k.in[1].shape[rank - 2];
  a.d = q.shape.back();
  a.e = k.in[2].shape.back();
  a.causal = k.attributes.flag(ops::AttentionAttributes::causal) ? 1 : 0;
  a.scale = ops::scale_of(k.attributes, a.d);
  const Strides nothing = Strides::filled(rank, 0);
  const Strides* of_gradient = &nothing;
  if (gradient != nullptr) {
    a.gradient = attention_matrix(*gradient);
    of_gradient = &gradient->strides;
  }
  Strides of_mask = nothing;
  if (mask != nullptr) {
    Shape scores = q.shape;
    scores[rank - 1] = a.m;
    of_mask = broadcast_strides(mask->shape, mask->strides, scores);
    a.mask = {.data = mask->data, .row = of_mask[rank - 2], .column = of_mask[rank - 1]};
    a.mask_kind = mask->dtype == DType::boolean ? 1 : 2;
  }
  a.heads = no_loops(5);
  add_loops(a.heads, q.shape, 0, rank - 2,
            {&q.strides, &k.in[1].strides, &k.in[2].strides, of_gradient, &of_mask});
  return a;
}

/// Whether every row is at a multiple of 16 bytes, in every head.
bool in_packs(const AttentionMatrix& matrix, const Strides& strides, DType type) {
  const auto each = static_cast<std::int64_t>(16 / size_of(type));
  bool is_even = matrix.column == 1 && reinterpret_cast<std::uintptr_t>(matrix.data) % 16 == 0;
  for (int i = 0; i + 1 < strides.size(); ++i) is_even &= strides[i] % each == 0;
  return is_even;
}

/// The kernels of tiles that can do it; nullptr: none.
const TiledKernels* tiled_kernels(const Gpu& gpu, const AttentionArguments& a, DType type) {
  // Rows and blocks are counted in 32 bits.
  constexpr std::int64_t kMost = std::int64_t{1} << 29;
  const std::int64_t rows = std::max(a.n, a.m);
  if (gpu.facts().architecture < 80 || rows >= kMost || rows * a.heads.count >= kMost) {
    return nullptr;
  }
  const std::int64_t columns = std::max(a.d, a.e);
  if (type == DType::float32) return columns <= kFloat32.tiles.size ? &kFloat32 : nullptr;
  if (!is_narrow_float(type) || a.mask_kind == 2 || !(a.scale > 0)) return nullptr;
  if (columns <= kUpTo64.tiles.size) return &kUpTo64;
  return columns <= kUpTo128.tiles.size ? &kUpTo128 : nullptr;
}

Grid tiled_grid(const AttentionArguments& a, std::int64_t rows, const AttentionTiles& tiles,
                int bytes) {
  const std::int64_t blocks = (rows + tiles.rows() - 1) / tiles.rows() * a.heads.count;
  return {.blocks = static_cast<std::uint32_t>(blocks),
          .threads = static_cast<std::uint32_t>(tiles.threads()),
          .shared_bytes = static_cast<std::uint32_t>(bytes)};
}

Grid blocks_over(const AttentionArguments& a, std::int64_t rows, std::int64_t columns) {
  const std::int64_t blocks = (rows + kRowsOfBlock - 1) / kRowsOfBlock *
                              ((columns + kColumnsOfBlock - 1) / kColumnsOfBlock) * a.heads.count;
  return grid_over(blocks * kAttentionThreads, kAttentionThreads);
}

/// As `attention_arguments`, with what kernels of tiles want to know.
void look_for_packs(AttentionArguments& a, const Kernel& k, bool with_gradient) {
  const DType type = k.in[0].dtype;
  a.in_packs = in_packs(a.q, k.in[0].strides, type) && in_packs(a.k, k.in[1].strides, type) &&
               in_packs(a.v, k.in[2].strides, type) &&
               (!with_gradient || in_packs(a.gradient, k.in[3].strides, type));
}

struct AttentionSlot {
  static void run(const Kernel& k) {
    Gpu* const gpu = gpu_of(k);
    if (gpu == nullptr || k.out[0].count() == 0) return;
    AttentionArguments a = attention_arguments(k, nullptr, ops::mask_behind(k, 3));
    a.out = k.out[0].data;
    const DType type = k.in[0].dtype;
    if (const TiledKernels* const tiled = tiled_kernels(*gpu, a, type); tiled != nullptr) {
      look_for_packs(a, k, false);
      const int bytes = tiled->tiles.bytes(1, static_cast<int>(size_of(type)), tiled->rooms, 0);
      gpu->launch(k.op, tiled->attend, type, tiled_grid(a, a.n, tiled->tiles, bytes), a);
    } else {
      gpu->launch(k.op, kAttend, type, blocks_over(a, a.n, a.e), a);
    }
  }
};

struct AttentionGradientSlot {
  static std::size_t workspace(const Kernel& k) {
    Shape queries = k.in[0].shape;
    queries.erase(queries.size() - 1);
    return static_cast<std::size_t>(tenure::count(queries)) * kFacts *
           size_of(ops::compute_type(k.in[0].dtype));
  }
  static void run(const Kernel& k) {
    Gpu* const gpu = gpu_of(k);
    if (gpu == nullptr) return;
    AttentionArguments a = attention_arguments(k, &k.in[3], ops::mask_behind(k, 4));
    a.facts = k.workspace.data();
    if (const TiledKernels* const tiled = tiled_kernels(*gpu, a, k.in[0].dtype); tiled != nullptr) {
      run_tiled(*gpu, k, a, *tiled);
    } else {
      run_general(*gpu, k, a);
    }
  }

 private:
  static void run_tiled(Gpu& gpu, const Kernel& k, AttentionArguments& a,
                        const TiledKernels& tiled) {
    const DType type = k.in[0].dtype;
    const AttentionTiles& tiles = tiled.gradient_tiles;
    look_for_packs(a, k, true);
    const auto grid = [&](std::int64_t rows, int facts) {
      return tiled_grid(a, rows, tiles,
                        tiles.bytes(2, static_cast<int>(size_of(type)), 2 * tiled.rooms, facts));
    };
    if (a.n > 0 && a.heads.count > 0) {
      a.out = k.out[0].data;
      gpu.launch(k.op, tiled.query_gradient, type, grid(a.n, 0), a);
    }
    if (a.m > 0 && a.heads.count > 0) {
      a.out = k.out[1].data;
      a.out_of_values = k.out[2].data;
      gpu.launch(k.op, tiled.key_value_gradient, type, grid(a.m, tiled.facts), a);
    }
  }
  static void run_general(Gpu& gpu, const Kernel& k, AttentionArguments& a) {
    const DType type = k.in[0].dtype;
    if (a.n > 0 && a.heads.count > 0) {
      gpu.launch(k.op, kFactsOf, type, blocks_over(a, a.n, 1), a);
    }
    const auto launch = [&](const TypedKernel& kernel, const View& out, std::int64_t rows,
                            std::int64_t columns) {
      if (out.count() == 0) return;
      a.out = out.data;
      gpu.launch(k.op, kernel, type, blocks_over(a, rows, columns), a);
    };
    launch(kQueryGradient, k.out[0], a.n, a.d);
    launch(kKeyGradient, k.out[1], a.m, a.d);
    launch(kValueGradient, k.out[2], a.m, a.e);
  }
};

}  // namespace

Family attention_family() {
  return {{row<AttentionSlot>("attention"), row<AttentionGradientSlot>("attention_gradient")},
          {&kAttend, &kFactsOf, &kQueryGradient, &kKeyGradient, &kValueGradient, &kUpTo64.attend,
           &kUpTo64.query_gradient, &kUpTo64.key_value_gradient, &kUpTo128.attend,
           &kUpTo128.query_gradient, &kUpTo128.key_value_gradient, &kFloat32.attend,
           &kFloat32.query_gradient, &kFloat32.key_value_gradient}};
}

}  // namespace tenure::kernels::cuda
