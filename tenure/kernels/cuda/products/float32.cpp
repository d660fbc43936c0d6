#include "tenure/kernels/cuda/products/float32.h"

#include <algorithm>
#include <limits>
#include <span>

#include "tenure/kernels/cuda/cuda.h"
#include "tenure/kernels/cuda/loops/neighbours.h"
#include "tenure/kernels/cuda/products/few_rows.h"
#include "tenure/kernels/cuda/products/float32_arguments.h"

namespace tenure::kernels::cuda {
namespace {

/// What a kernel takes of an H200.
struct TileTimes {
  double begin;           ///< microseconds, for no steps of k
  double step;            ///< nanoseconds of a step of k, of one tile on a processor
  double lone = 1;        ///< times that, where a processor has one tile
  bool is_alone = false;  ///< a processor has room for one block
};

/// A tile as kernels are made for it: in each of the layouts that two operands have.
struct TileKernels {
  TileShape shape;
  TileTimes times;
  TypedKernel of[2][2]{};  ///< [a runs along k][b does]

  TileKernels(const TileShape& tile, const char* name, const TileTimes& measured)
      : shape(tile), times(measured) {
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

/// What comes out of the times is the same on all GPUs.
std::span<const TileKernels> tile_kinds() {
  static const TileKernels kinds[] = {
      {kTile16, "kTile16", {.begin = 1.9, .step = 4.3}},
      {kTile32, "kTile32", {.begin = 2.1, .step = 10}},
      {kTile64, "kTile64", {.begin = 3.1, .step = 30, .is_alone = true}},
      {kTile64InPairs, "kTile64InPairs", {.begin = 2.7, .step = 29.5, .lone = 1.2}}};
  return kinds;
}

/// How a product is shared by blocks.
struct Tiling {
  const TileKernels* tile = nullptr;
  std::int64_t tiles = 0;
  int blocks = 1;         ///< of a cluster, which share a tile
  std::int64_t part = 0;  ///< of k, for each of them
  double time = std::numeric_limits<double>::infinity();
};

std::int64_t rounded_up(std::int64_t n, std::int64_t to) { return (n + to - 1) / to * to; }

/// The tile, and the parts of k, with which it takes the least time. Processors work on their
/// tiles side by side, and a product takes as long as the one that has the most of them.
Tiling tiling_of(const ProductPlan& plan, int most_blocks) {
  constexpr std::int64_t kProcessors = 132;
  constexpr double kCluster = 0.9;  // microseconds that the blocks of one wait for each other
  Tiling best;
  for (const TileKernels& kind : tile_kinds()) {
    const TileShape& tile = kind.shape;
    const std::int64_t tiles = rounded_up(plan.m, tile.height()) / tile.height() *
                               (rounded_up(plan.n, tile.width()) / tile.width()) * plan.batch.count;
    for (int blocks = 1; blocks <= most_blocks; ++blocks) {
      const std::int64_t part = rounded_up((plan.k + blocks - 1) / blocks, tile.depth);
      if (blocks > 1 && part * (blocks - 1) >= plan.k) continue;  // one would have nothing to do
      // Clusters that wait for each other's processors take long, and large ones of blocks that
      // have a processor each leave some processors out.
      const std::int64_t room = kind.times.is_alone && blocks > 2 ? 96 : kProcessors;
      if (blocks > 1 && tiles * blocks > room) break;
      const std::int64_t at_most = (tiles * blocks + kProcessors - 1) / kProcessors;
      const double step = kind.times.step * (at_most == 1 ? kind.times.lone : 1) / 1000;
      const double time = kind.times.begin + static_cast<double>(at_most * part) * step +
                          (blocks > 1 ? kCluster : 0);
      if (time < best.time) best = {&kind, tiles, blocks, part, time};
    }
  }
  return best;
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
  const Float32Product product{.a = kernel.in[0].as<const float>(),
                               .b = kernel.in[1].as<const float>(),
                               .c = kernel.out[0].data,
                               .m = static_cast<std::int32_t>(plan.m),
                               .n = static_cast<std::int32_t>(plan.n),
                               .k = static_cast<std::int32_t>(plan.k),
                               .part = static_cast<std::int32_t>(tiling.part),
                               .a_stride = a_stride,
                               .b_stride = b_stride,
                               .a_by_vectors = is_by_fours(kernel.in[0], a_stride, plan.batch, 0),
                               .b_by_vectors = is_by_fours(kernel.in[1], b_stride, plan.batch, 1),
                               .c_by_vectors = is_by_fours(kernel.out[0], plan.n, plan.batch, 2),
                               .batch = plan.batch};
  const int shared = tile.shared_floats(a_runs, b_runs) * static_cast<int>(sizeof(float));
  launch_with(gpu, kernel.op, tiling.tile->of[a_runs][b_runs], {},
              {.blocks = static_cast<std::uint32_t>(tiling.tiles * tiling.blocks),
               .threads = static_cast<std::uint32_t>(tile.threads()),
               .shared_bytes = static_cast<std::uint32_t>(shared),
               .cluster = static_cast<std::uint32_t>(tiling.blocks)},
              product, neighbours, {}, 4);
  return true;
}

}  // namespace

bool is_small_float32(DType type, const ProductPlan& plan) {
  // On an H200, 1024 x 256 x 1024 takes 18 us here and 16 to 19 in the library, without the loop
  // that follows, and 2048 x 512 x 2048 a third longer than there.
  constexpr std::int64_t kMostSteps = std::int64_t{1} << 28;
  return type == DType::float32 && !cuda_tf32() && plan.results() > 0 && plan.k > 0 &&
         plan.results() <= kMostSteps / plan.k;
}

bool multiply_float32(Gpu& gpu, const ops::Kernel& kernel, const ProductPlan& plan,
                      const ops::FusedNeighbours& neighbours) {
  return multiply_few_rows(gpu, kernel, plan, neighbours) ||
         multiply_by_tiles(gpu, kernel, plan, neighbours);
}

bool is_by_fours(const View& view, std::int64_t stride, const Places& batch, int operand) {
  bool is = reinterpret_cast<std::uintptr_t>(view.data) % 16 == 0 && stride % 4 == 0;
  for (int d = 0; d < batch.rank; ++d) is = is && batch.strides[operand][d] % 4 == 0;
  return is;
}

std::vector<const TypedKernel*> float32_kernels() {
  std::vector<const TypedKernel*> kernels = few_rows_kernels();
  for (const TileKernels& kind : tile_kinds()) {
    for (const auto& of_a : kind.of) {
      for (const TypedKernel& kernel : of_a) kernels.push_back(&kernel);
    }
  }
  return kernels;
}

}  // namespace tenure::kernels::cuda
