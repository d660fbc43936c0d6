#include "tenure/kernels/cuda/products/float32.h"

#include <algorithm>
#include <array>
#include <limits>

#include "tenure/kernels/cuda/cuda.h"
#include "tenure/kernels/cuda/loops/neighbours.h"
#include "tenure/kernels/cuda/products/float32_arguments.h"

namespace tenure::kernels::cuda {
namespace {

/// A tile as kernels are made for it: in each of the layouts that two operands have.
struct TileKernels {
  TileShape shape;
  TypedKernel of[2][2];  ///< [a runs along k][b does]

  TileKernels(const TileShape& tile, const char* name) : shape(tile) {
    for (const bool a_runs : {false, true}) {
      for (const bool b_runs : {false, true}) {
        of[a_runs][b_runs] = {
            .file = "tenure/kernels/cuda/products/float32.cu",
            .function = "multiply_tiles",
            .arguments = "Float32Product",
            .threads = static_cast<std::uint32_t>(tile.threads()),
            .types = {Types()},
            .first = {name, a_runs ? "true" : "false", b_runs ? "true" : "false"}};
      }
    }
  }
};

const TileKernels& tile_of(int i) {
  static const TileKernels kTiles[] = {{kTile16, "kTile16"},
                                       {kTile32, "kTile32"},
                                       {kTile64x32, "kTile64x32"},
                                       {kTile64, "kTile64"},
                                       {kTile128x64, "kTile128x64"}};
  return kTiles[i];
}
constexpr int kTileKinds = 5;

constexpr std::int64_t kProcessors = 132;  // of an H200; ways are the same on all GPUs

std::int64_t tiles_in(const ProductPlan& plan, const TileShape& tile) {
  return (plan.m + tile.height() - 1) / tile.height() *
         ((plan.n + tile.width() - 1) / tile.width()) * plan.batch.count;
}

/// How a product is shared by blocks.
struct Tiling {
  const TileKernels* tile = nullptr;
  std::int64_t tiles = 0;
  int parts = 1;  ///< of k
};

Tiling tiling_of(const ProductPlan& plan, int most_parts) {
  int kind = kTileKinds - 1;
  while (kind > 0 && tiles_in(plan, tile_of(kind).shape) < kProcessors / 2) --kind;
  Tiling tiling{.tile = &tile_of(kind), .tiles = tiles_in(plan, tile_of(kind).shape)};
  while (tiling.parts < most_parts && tiling.tiles * (tiling.parts + 1) <= kProcessors &&
         plan.k / (tiling.parts + 1) >= 64) {
    ++tiling.parts;
  }
  return tiling;
}

bool is_multiple_of_four(const void* address, std::int64_t stride) {
  return reinterpret_cast<std::uintptr_t>(address) % 16 == 0 && stride % 4 == 0;
}

}  // namespace

bool is_for_tiles(DType type, const ProductPlan& plan) {
  constexpr std::int64_t kMostSteps = std::int64_t{1} << 29;
  return type == DType::float32 && !cuda_tf32() && plan.results() > 0 && plan.k > 0 &&
         plan.results() <= kMostSteps / plan.k;
}

bool multiply_by_tiles(Gpu& gpu, const ops::Kernel& kernel, const ProductPlan& plan,
                       const ops::FusedNeighbours& neighbours) {
  const bool a_runs = plan.a_column == 1;
  const bool b_runs = plan.b_row == 1 && plan.b_column != 1;
  if (!a_runs && plan.a_row != 1) return false;
  if (!b_runs && plan.b_column != 1) return false;
  const Tiling tiling = tiling_of(plan, static_cast<int>(gpu.facts().most_in_cluster()));
  const TileShape& tile = tiling.tile->shape;
  const std::int64_t a_stride = a_runs ? plan.a_row : plan.a_column;
  const std::int64_t b_stride = b_runs ? plan.b_column : plan.b_row;
  const std::int64_t part = ((plan.k + tiling.parts - 1) / tiling.parts + 3) / 4 * 4;
  const bool is_batch_aligned = [&] {
    for (int d = 0; d < plan.batch.rank; ++d) {
      if (plan.batch.strides[0][d] % 4 != 0 || plan.batch.strides[1][d] % 4 != 0) return false;
    }
    return true;
  }();
  const Float32Product product{
      .a = kernel.in[0].as<const float>(),
      .b = kernel.in[1].as<const float>(),
      .c = kernel.out[0].as<float>(),
      .m = static_cast<std::int32_t>(plan.m),
      .n = static_cast<std::int32_t>(plan.n),
      .k = static_cast<std::int32_t>(plan.k),
      .part = static_cast<std::int32_t>(part),
      .a_stride = a_stride,
      .b_stride = b_stride,
      .a_by_vectors = is_batch_aligned && is_multiple_of_four(kernel.in[0].data, a_stride),
      .b_by_vectors = is_batch_aligned && is_multiple_of_four(kernel.in[1].data, b_stride),
      .c_by_vectors = is_multiple_of_four(kernel.out[0].data, plan.n),
      .batch = plan.batch};
  launch_with(gpu, kernel.op, tiling.tile->of[a_runs][b_runs], {},
              {.blocks = static_cast<std::uint32_t>(tiling.tiles * tiling.parts),
               .threads = static_cast<std::uint32_t>(tile.threads()),
               .shared_bytes = static_cast<std::uint32_t>(tile.shared_floats(a_runs, b_runs) *
                                                          static_cast<int>(sizeof(float))),
               .cluster = static_cast<std::uint32_t>(tiling.parts)},
              product, neighbours, {}, 4);
  return true;
}

std::vector<const TypedKernel*> tile_kernels() {
  std::vector<const TypedKernel*> kernels;
  for (int i = 0; i < kTileKinds; ++i) {
    for (const auto& of_a : tile_of(i).of) {
      for (const TypedKernel& kernel : of_a) kernels.push_back(&kernel);
    }
  }
  return kernels;
}

}  // namespace tenure::kernels::cuda
