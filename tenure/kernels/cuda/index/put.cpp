#include "tenure/kernels/cuda/index/put.h"

#include <algorithm>
#include <bit>
#include <limits>

#include "tenure/base/units.h"
#include "tenure/kernels/cuda/launch/bits.h"
#include "tenure/kernels/cuda/launch/gpu.h"
#include "tenure/kernels/cuda/places/nest.h"
#include "tenure/kernels/cuda/reduce/matrix.h"

namespace tenure::kernels::cuda {
namespace {

constexpr std::uint32_t kPutThreads = 256;

TypedKernel choosing(const char* function, const char* arguments, std::vector<Types> types) {
  return {"tenure/kernels/cuda/index/choose.cu", function, arguments, kPutThreads,
          std::move(types)};
}
const TypedKernel kFindTargets =
    choosing("find_targets", "TargetArguments", {DType::int32, DType::int64});
const TypedKernel kRankTargets =
    choosing("rank_targets", "RankArguments", {DType::int32, DType::int64});
const TypedKernel kCombine =
    choosing("combine", "CombineArguments",
             {DType::boolean, DType::uint8, DType::int8, DType::int16, DType::int32, DType::int64,
              DType::float16, DType::bfloat16, DType::float32, DType::float64});

/// Positions that are compared with each other, in one launch, sooner than they are sorted.
constexpr std::int64_t kMostRanked = 8192;

/// The parts of the workspace: targets in their order, that order, and what sorting takes, with the
/// targets as they come first.
struct PutRoom {
  bool is_sorted = false;
  bool is_ranked = false;
  std::size_t target = 0;  ///< bytes of one
  std::size_t targets = 0;
  std::size_t order = 0;
  std::size_t bytes = 0;

  PutRoom(std::int64_t positions, std::int64_t places, bool is_unique)
      : is_sorted(!is_unique && positions > 1),
        is_ranked(is_sorted && positions <= kMostRanked),
        target(places <= std::numeric_limits<std::uint32_t>::max() ? sizeof(std::uint32_t)
                                                                   : sizeof(std::uint64_t)) {
    if (!is_sorted) return;
    constexpr std::size_t kAligned = 64;
    targets = round_up(static_cast<std::size_t>(positions) * target, kAligned);
    order = round_up(static_cast<std::size_t>(positions) * sizeof(std::uint32_t), kAligned);
    bytes = targets + order;
    if (!is_ranked) bytes += targets + sort_bytes(1, positions, target, true);
  }
};

/// Finds the targets of all positions and puts both in the order of the targets.
void sort_targets(Gpu& gpu, const char* op, const Put& put, const PutRoom& room, std::byte* targets,
                  std::uint32_t* order) {
  const std::int64_t positions = put.to.positions.count;
  const DType type = bits_type(room.target);
  if (room.is_ranked) {
    const auto blocks =
        static_cast<std::uint32_t>((positions + kRankedByBlock - 1) / kRankedByBlock);
    gpu.launch(op, kRankTargets, type, {.blocks = blocks, .threads = kPutThreads},
               RankArguments{.of = put.targets, .targets = targets, .order = order});
    return;
  }
  std::byte* const unsorted = targets + room.targets + room.order;
  gpu.launch(op, kFindTargets, type, grid_over(positions, kPutThreads),
             TargetArguments{.of = put.targets, .targets = unsorted});
  sort_rows(gpu,
            {.op = op,
             .element = room.target,
             .rule = {},  // they are as they should come
             .rows = no_loops(3),
             .n = positions,
             .kept = positions,
             .in = unsorted,
             .values = targets,
             .places = order,
             .bits = std::max(
                 static_cast<int>(std::bit_width(static_cast<std::uint64_t>(put.places - 1))), 1)},
            unsorted + room.targets);
}

/// What the number of a target is multiplied by to be its place, if that is all.
std::int64_t target_step(const Put& put) {
  const std::int64_t* const base = put.to.positions.strides[0];
  const bool is_index = put.to.axes == 1 && put.targets.axis[0].stride == 1 &&
                        std::all_of(base, base + put.to.positions.rank,
                                    [](std::int64_t stride) { return stride == 0; });
  return is_index ? put.to.axis[0].stride : 0;
}

/// Whether a block is strips of 16 bytes, of the tensor and of the values.
bool is_packed(const Put& put) {
  const std::int64_t n = strip_size(size_of(put.dtype));
  const auto walks_strips = [&](const Places& places, int operand) {
    return std::all_of(places.strides[operand], places.strides[operand] + places.rank,
                       [&](std::int64_t stride) { return stride % n == 0; });
  };
  const bool is_row = put.block.rank == 1 && put.block.strides[0][0] == 1 &&
                      put.block.strides[1][0] == 1 && put.block.count % n == 0;
  bool are_whole = is_row && is_aligned(put.out) && is_aligned(put.values) &&
                   walks_strips(put.to.positions, 0) &&
                   walks_strips(put.to.positions, static_cast<int>(put.to.axes) + 1);
  for (std::int64_t k = 0; are_whole && k < put.to.axes; ++k) {
    are_whole = put.to.axis[k].stride % n == 0;
  }
  return are_whole;
}

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
                     .order = nullptr,
                     .target_step = 0,
                     .is_packed = is_packed(put) ? 1 : 0};
  if (room.is_sorted) {
    std::byte* const targets = workspace;
    auto* const order = reinterpret_cast<std::uint32_t*>(workspace + room.targets);
    sort_targets(gpu, op, put, room, targets, order);
    a.targets = targets;
    a.order = order;
    a.target_step = target_step(put);
  }
  const std::int64_t at_once = a.is_packed != 0 ? strip_size(size_of(put.dtype)) : 1;
  gpu.launch(op, kCombine, put.dtype, grid_over(positions * put.block.count / at_once, kPutThreads),
             a);
}

std::vector<const TypedKernel*> put_kernels() { return {&kFindTargets, &kRankTargets, &kCombine}; }

}  // namespace tenure::kernels::cuda
