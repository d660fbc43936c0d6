#include <algorithm>
#include <optional>

#include "tenure/kernels/cuda/launch/gpu.h"
#include "tenure/kernels/cuda/loops/neighbours.h"
#include "tenure/kernels/cuda/products/even_product.h"
#include "tenure/kernels/cuda/products/float32.h"
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
  const View a = ops::as_matrix(k.in[0], 0);
  const View b = ops::as_matrix(k.in[1], 1);
  const bool is_of_matrices = k.in[0].shape.size() > 1 && k.in[1].shape.size() > 1;
  return is_of_matrices && !k.out.empty() ? product_plan(a, b, k.out[0]) : product_plan(a, b);
}
/// The first operand of what is computed, and the second.
const View& first_of(const Kernel& k, const ProductPlan& plan) {
  return k.in[plan.is_turned ? 1 : 0];
}
const View& second_of(const Kernel& k, const ProductPlan& plan) {
  return k.in[plan.is_turned ? 0 : 1];
}

void multiply(Gpu& gpu, const Kernel& k, const ProductPlan& plan,
              const ops::FusedNeighbours& neighbours = {}) {
  const std::int64_t tiles = (plan.m + kProductTile - 1) / kProductTile *
                             ((plan.n + kProductTile - 1) / kProductTile) * plan.batch.count;
  const View& a = first_of(k, plan);
  const View& b = second_of(k, plan);
  launch_with(gpu, k.op, kMultiply, Types(a.dtype, b.dtype, k.out[0].dtype),
              grid_over(tiles * kProductThreads, kProductThreads),
              ProductArguments{.a = a.data,
                               .b = b.data,
                               .c = k.out[0].data,
                               .m = plan.m,
                               .n = plan.n,
                               .k = plan.k,
                               .a_row = plan.a_row,
                               .a_column = plan.a_column,
                               .b_row = plan.b_row,
                               .b_column = plan.b_column,
                               .c_row = plan.c_row,
                               .batch = plan.batch},
              neighbours, {}, 1);
}

struct MatmulSlot {
  static constexpr bool rounds_parts_anew = true;
  /// Those of operands of 16 bits whose rows begin anywhere, as if each were copied.
  static std::optional<std::int64_t> moved(const Kernel& k) {
    constexpr double kLeast = 1 << 20;  // multiplications that may be worth a thought
    const View& c = k.out[0];
    if (!c.contiguous() && (k.in[0].shape.size() < 2 || k.in[1].shape.size() < 2)) {
      return std::nullopt;
    }
    const ProductPlan plan = plan_of(k);
    const double all = static_cast<double>(plan.results()) * static_cast<double>(plan.k);
    if (size_of(c.dtype) != 2 || all < kLeast)
      return c.contiguous() ? std::optional(0) : std::nullopt;
    const auto bytes = [](const View& view, std::int64_t row, std::int64_t column) {
      const bool is_aligned = (row == 1 ? column : column == 1 ? row : 1) % 8 == 0;
      return is_aligned ? 0 : view.count() * 2;
    };
    return bytes(first_of(k, plan), plan.a_row, plan.a_column) +
           bytes(second_of(k, plan), plan.b_row, plan.b_column) + bytes(c, plan.c_row, 1);
  }
  static std::size_t workspace(const Kernel& k) {
    const ProductPlan plan = plan_of(k);
    const DType type = k.in[0].dtype;
    if (is_small_float32(type, plan) || !library_multiplies(type, plan)) return 0;
    const std::optional<PieceCut> cut = cut_for(type, plan);
    return cut ? pieces_workspace(type, *cut, plan) : even_workspace(type, plan);
  }
  static void run(const Kernel& k) { run_fused(k, {}); }
  static void run_fused(const Kernel& k, const ops::FusedNeighbours& neighbours) {
    Gpu* const gpu = gpu_of(k);
    if (gpu == nullptr || k.out[0].count() == 0) return;
    const ProductPlan plan = plan_of(k);
    // Loops follow on small products alone, even where the library may round by now.
    const bool is_done = neighbours.after != nullptr || is_small_float32(k.in[0].dtype, plan)
                             ? multiply_float32(*gpu, k, plan, neighbours)
                             : by_library(*gpu, k, plan);
    if (!is_done) multiply(*gpu, k, plan, neighbours);
  }
  static bool leads_loop(const Kernel& k) { return is_small_float32(k.in[0].dtype, plan_of(k)); }
  static constexpr ops::FusingKernel fusing{
      .leads_loop = leads_loop, .of_any_size = true, .run = run_fused};

 private:
  static bool by_library(Gpu& gpu, const Kernel& k, const ProductPlan& plan) {
    const DType type = k.in[0].dtype;
    if (!library_multiplies(type, plan)) return false;
    const void* const a = first_of(k, plan).data;
    const void* const b = second_of(k, plan).data;
    void* const c = k.out[0].data;
    if (const std::optional<PieceCut> cut = cut_for(type, plan)) {
      return multiply_pieces(gpu, type, plan, *cut, a, b, c, k.workspace);
    }
    return multiply_evenly(gpu, {.type = type, .out = type, .plan = plan}, a, b, c, k.workspace);
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
  std::vector<const TypedKernel*> kernels = float32_kernels();
  kernels.insert(kernels.end(), {&kMultiply, &piece_kernel()});
  return {{row<MatmulSlot>("matmul"), row<IntegerMatmulSlot>("integer_matmul")},
          std::move(kernels)};
}

}  // namespace tenure::kernels::cuda
