#include <algorithm>
#include <optional>

#include "tenure/kernels/cuda/launch/gpu.h"
#include "tenure/kernels/cuda/loops/neighbours.h"
#include "tenure/kernels/cuda/products/float32.h"
#include "tenure/kernels/cuda/products/library_product.h"
#include "tenure/kernels/cuda/products/pieces.h"
#include "tenure/kernels/cuda/products/plan.h"
#include "tenure/kernels/cuda/products/products_arguments.h"
#include "tenure/kernels/cuda/table.h"
#include "tenure/ops/linalg/matrices.h"

namespace tenure::kernels::cuda {
namespace {

using ops::Kernel;

constexpr std::int64_t kProductTile = 64;  // of tile.cuh
constexpr std::uint32_t kProductThreads = 256;

std::vector<Types> product_types() {
  std::vector<Types> types;
  for (const DType type : {DType::uint8, DType::int8, DType::int16, DType::int32, DType::int64,
                           DType::float16, DType::bfloat16, DType::float32, DType::float64}) {
    types.emplace_back(type, type, type);
  }
  for (const DType a : {DType::uint8, DType::int8}) {
    for (const DType b : {DType::uint8, DType::int8}) types.emplace_back(a, b, DType::int32);
  }
  return types;
}

const TypedKernel kMultiply{"tenure/kernels/cuda/products/products.cu", "multiply",
                            "ProductArguments", kProductThreads, product_types()};

ProductPlan plan_of(const Kernel& k) {
  return product_plan(ops::as_matrix(k.in[0], 0), ops::as_matrix(k.in[1], 1));
}

void multiply(Gpu& gpu, const Kernel& k, const ProductPlan& plan,
              const ops::FusedNeighbours& neighbours = {}) {
  const std::int64_t tiles = (plan.m + kProductTile - 1) / kProductTile *
                             ((plan.n + kProductTile - 1) / kProductTile) * plan.batch.count;
  launch_with(gpu, k.op, kMultiply, Types(k.in[0].dtype, k.in[1].dtype, k.out[0].dtype),
              grid_over(tiles * kProductThreads, kProductThreads),
              ProductArguments{.a = k.in[0].data,
                               .b = k.in[1].data,
                               .c = k.out[0].data,
                               .m = plan.m,
                               .n = plan.n,
                               .k = plan.k,
                               .a_row = plan.a_row,
                               .a_column = plan.a_column,
                               .b_row = plan.b_row,
                               .b_column = plan.b_column,
                               .batch = plan.batch},
              neighbours, {}, 1);
}

struct MatmulSlot {
  static constexpr bool rounds_parts_anew = true;
  static std::size_t workspace(const Kernel& k) {
    const ProductPlan plan = plan_of(k);
    const DType type = k.in[0].dtype;
    if (is_for_tiles(type, plan) || !library_multiplies(type, plan)) return 0;
    const std::optional<PieceCut> cut = cut_for(type, plan);
    return cut ? pieces_workspace(*cut, plan) : library_workspace(plan);
  }
  static void run(const Kernel& k) { run_fused(k, {}); }
  static void run_fused(const Kernel& k, const ops::FusedNeighbours& neighbours) {
    Gpu* const gpu = gpu_of(k);
    if (gpu == nullptr || k.out[0].count() == 0) return;
    const ProductPlan plan = plan_of(k);
    // A loop follows on products by tiles alone, even where the library may round by now.
    const bool is_done = neighbours.after != nullptr || is_for_tiles(k.in[0].dtype, plan)
                             ? multiply_by_tiles(*gpu, k, plan, neighbours)
                             : by_library(*gpu, k, plan);
    if (!is_done) multiply(*gpu, k, plan, neighbours);
  }
  static bool leads_loop(const Kernel& k) { return is_for_tiles(k.in[0].dtype, plan_of(k)); }
  static constexpr ops::FusingKernel fusing{.leads_loop = leads_loop, .run = run_fused};

 private:
  static bool by_library(Gpu& gpu, const Kernel& k, const ProductPlan& plan) {
    const DType type = k.in[0].dtype;
    if (!library_multiplies(type, plan)) return false;
    const void* const a = k.in[0].data;
    const void* const b = k.in[1].data;
    void* const c = k.out[0].data;
    if (const std::optional<PieceCut> cut = cut_for(type, plan)) {
      return multiply_pieces(gpu, type, plan, *cut, a, b, c, k.workspace);
    }
    return library_multiply(gpu, {.type = type, .out = type, .plan = plan, .c_row = plan.n}, a, b,
                            c, k.workspace);
  }
};

struct IntegerMatmulSlot {
  static void run(const Kernel& k) {
    Gpu* const gpu = gpu_of(k);
    if (gpu != nullptr && k.out[0].count() > 0) multiply(*gpu, k, plan_of(k));
  }
};

}  // namespace

Family product_family() {
  std::vector<const TypedKernel*> kernels = tile_kernels();
  kernels.insert(kernels.end(), {&kMultiply, &piece_kernel()});
  return {{row<MatmulSlot>("matmul"), row<IntegerMatmulSlot>("integer_matmul")},
          std::move(kernels)};
}

}  // namespace tenure::kernels::cuda
