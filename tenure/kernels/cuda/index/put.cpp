#include "tenure/kernels/cuda/index/put.h"

#include <algorithm>
#include <bit>
#include <limits>

#include "tenure/base/units.h"
#include "tenure/kernels/cuda/launch/bits.h"
#include "tenure/kernels/cuda/launch/gpu.h"
#include "tenure/kernels/cuda/places/nest.h"

namespace tenure::kernels::cuda {
namespace {

constexpr std::uint32_t kPutThreads = 256;

TypedKernel choosing(const char* function, const char* arguments, std::vector<Types> types) {
  return {"tenure/kernels/cuda/index/choose.cu", function, arguments, kPutThreads,
          std::move(types)};
}
const TypedKernel kFindTargets =
    choosing("find_targets", "TargetArguments", {DType::int32, DType::int64});
const TypedKernel kCombine =
    choosing("combine", "CombineArguments",
             {DType::boolean, DType::uint8, DType::int8, DType::int16, DType::int32, DType::int64,
              DType::float16, DType::bfloat16, DType::float32, DType::float64});

/// The parts of the workspace.
struct PutRoom {
  bool is_sorted = false;
  std::size_t target = 0;  ///< bytes of one
  std::size_t targets = 0;
  std::size_t order = 0;
  std::size_t rest = 0;
  std::size_t bytes = 0;

  PutRoom(std::int64_t positions, std::int64_t places, bool is_unique)
      : is_sorted(!is_unique && positions > 1),
        target(places <= std::numeric_limits<std::uint32_t>::max() ? sizeof(std::uint32_t)
                                                                   : sizeof(std::uint64_t)) {
    if (!is_sorted) return;
    constexpr std::size_t kAligned = 64;
    targets = round_up(static_cast<std::size_t>(positions) * target, kAligned);
    order = round_up(static_cast<std::size_t>(positions) * sizeof(std::uint32_t), kAligned);
    rest = 2 * targets + order;
    bytes = rest + sort_bytes(1, positions, target, true);
  }
};

}  // namespace

std::size_t put_bytes(std::int64_t positions, std::int64_t places, bool is_unique) {
  return PutRoom(positions, places, is_unique).bytes;
}

void put(Gpu& gpu, const char* op, const Put& put, std::byte* workspace) {
  const std::int64_t positions = put.to.positions.count;
  if (positions == 0 || put.block.count == 0) return;
  const PutRoom room(positions, put.places, put.is_unique);
  CombineArguments a{.to = put.to,
                     .block = put.block,
                     .mode = static_cast<std::int64_t>(put.mode),
                     .out = put.out,
                     .values = put.values,
                     .targets = nullptr,
                     .wide_targets = room.target == sizeof(std::uint64_t) ? 1 : 0,
                     .order = nullptr};
  if (room.is_sorted) {
    const DType type = bits_type(room.target);
    gpu.launch(op, kFindTargets, type, grid_over(positions, kPutThreads),
               TargetArguments{.of = put.targets, .targets = workspace});
    auto* const order = reinterpret_cast<std::uint32_t*>(workspace + 2 * room.targets);
    sort_rows(
        gpu,
        {.op = op,
         .element = room.target,
         .rule = {},  // they are as they should come
         .rows = no_loops(3),
         .n = positions,
         .kept = positions,
         .in = workspace,
         .values = workspace + room.targets,
         .places = order,
         .bits = std::max(
             static_cast<int>(std::bit_width(static_cast<std::uint64_t>(put.places - 1))), 1)},
        workspace + room.rest);
    a.targets = workspace + room.targets;
    a.order = order;
  }
  gpu.launch(op, kCombine, put.dtype, grid_over(positions * put.block.count, kPutThreads), a);
}

std::vector<const TypedKernel*> put_kernels() { return {&kFindTargets, &kCombine}; }

}  // namespace tenure::kernels::cuda
