#include "tenure/kernels/cuda/move/copy_walk.h"

#include <algorithm>

#include "tenure/kernels/cuda/device/vector_arguments.h"
#include "tenure/kernels/cuda/launch/bits.h"
#include "tenure/kernels/cuda/places/small_nest.h"

namespace tenure::kernels::cuda {
namespace {

constexpr std::uint32_t kCopyThreads = 256;
/// Sides of matrices that are copied tile by tile, at least.
constexpr std::int64_t kLeastSide = 8;

/// Each type with each other one.
std::vector<Types> conversions() {
  std::vector<Types> pairs;
  for (int from = 0; from < kDTypes; ++from) {
    for (int to = 0; to < kDTypes; ++to) {
      if (from != to) pairs.emplace_back(static_cast<DType>(from), static_cast<DType>(to));
    }
  }
  return pairs;
}
TypedKernel copying(const char* function, const char* arguments, std::vector<Types> types) {
  return {"tenure/kernels/cuda/move/move.cu", function, arguments, kCopyThreads, std::move(types)};
}
const TypedKernel kCopySame = copying("copy_same", "CopyArguments", bits_types());
const TypedKernel kCopyVectors = copying("copy_vectors", "CopyArguments", {Types()});
const TypedKernel kCopyTiles = copying("copy_tiles", "TilesArguments", bits_types());
const TypedKernel kCopyConverted = copying("copy_converted", "CopyArguments", conversions());

std::int64_t bytes_of(DType type) { return static_cast<std::int64_t>(size_of(type)); }

void move_by(CopyEnds& ends, std::int64_t from, std::int64_t to) {
  ends.from = static_cast<const std::byte*>(ends.from) + from * bytes_of(ends.from_type);
  ends.to = static_cast<std::byte*>(ends.to) + to * bytes_of(ends.to_type);
}

/// Has it write forwards, the smallest stride innermost, with as few loops as can be.
void put_in_order(CopyWalk& walk, CopyEnds& ends) {
  CopyWalk::Loop* const loops = walk.loops;
  for (int d = 0; d < walk.rank; ++d) {
    if (loops[d].to >= 0) continue;
    move_by(ends, (loops[d].size - 1) * loops[d].from, (loops[d].size - 1) * loops[d].to);
    loops[d].from = -loops[d].from;
    loops[d].to = -loops[d].to;
  }
  std::sort(loops, loops + walk.rank, [](const auto& a, const auto& b) { return a.to > b.to; });
  int rank = 0;
  for (int d = 0; d < walk.rank; ++d) {
    const CopyWalk::Loop loop = loops[d];
    CopyWalk::Loop* const last = rank == 0 ? nullptr : &loops[rank - 1];
    if (last != nullptr && last->from == loop.from * loop.size && last->to == loop.to * loop.size) {
      *last = {last->size * loop.size, loop.from, loop.to};
    } else {
      loops[rank++] = loop;
    }
  }
  walk.rank = rank;
  if (rank == 0) loops[walk.rank++] = {1, 1, 1};
}

/// Whether n elements can be moved at once everywhere.
bool goes_by(std::int64_t n, const CopyWalk& walk, const CopyEnds& ends) {
  const CopyWalk::Loop& last = walk.loops[walk.rank - 1];
  if (last.from != 1 || last.to != 1 || last.size % n != 0) return false;
  if (reinterpret_cast<std::uintptr_t>(ends.from) % (size_of(ends.from_type) * n) != 0 ||
      reinterpret_cast<std::uintptr_t>(ends.to) % (size_of(ends.to_type) * n) != 0) {
    return false;
  }
  return std::all_of(walk.loops, walk.loops + walk.rank - 1,
                     [&](const auto& loop) { return loop.from % n == 0 && loop.to % n == 0; });
}

/// Has elements of up to 16 bytes take the place of those that are always moved together, and
/// returns how many bytes they have.
std::size_t widen(CopyWalk& walk, const CopyEnds& ends) {
  const std::size_t size = size_of(ends.to_type);
  for (std::size_t wide = kVectorBytes; wide > size; wide /= 2) {
    const auto n = static_cast<std::int64_t>(wide / size);
    if (!goes_by(n, walk, ends)) continue;
    for (int d = 0; d < walk.rank - 1; ++d) {
      walk.loops[d].from /= n;
      walk.loops[d].to /= n;
    }
    walk.loops[walk.rank - 1].size /= n;
    if (walk.loops[walk.rank - 1].size == 1 && walk.rank > 1) --walk.rank;
    return wide;
  }
  return size;
}

CopyNest nest_of(const CopyWalk& walk) {
  CopyNest nest;
  for (int d = walk.rank - 1; d >= 0; --d) {
    const std::int64_t strides[2] = {walk.loops[d].from, walk.loops[d].to};
    if (d == walk.rank - 1) {
      begin_nest(nest, walk.loops[d].size, strides, 2);
    } else {
      add_outer_loop(nest, walk.loops[d].size, strides, 2);
    }
  }
  return nest;
}

/// False, and nothing done, where what is read side by side is not worth a tile, or is what is
/// written side by side.
bool try_tiles(Gpu& gpu, const char* op, const CopyWalk& walk, const CopyEnds& ends,
               std::size_t size) {
  const CopyWalk::Loop row = walk.loops[walk.rank - 1];
  if (size > 8 || row.to != 1 || row.from == 1 || row.size < kLeastSide) return false;
  int at = 0;
  while (at < walk.rank - 1 && walk.loops[at].from != 1) ++at;
  const CopyWalk::Loop column = walk.loops[at];
  if (at == walk.rank - 1 || column.size < kLeastSide) return false;
  CopyWalk rest;
  for (int d = 0; d < walk.rank - 1; ++d) {
    if (d != at) rest.loops[rest.rank++] = walk.loops[d];
  }
  if (rest.rank == 0) rest.loops[rest.rank++] = {1, 0, 0};
  const std::int64_t side = tile_side(size);
  const TilesArguments arguments{.from = ends.from,
                                 .to = ends.to,
                                 .rows = static_cast<std::uint32_t>(column.size),
                                 .columns = static_cast<std::uint32_t>(row.size),
                                 .from_column = row.from,
                                 .to_row = column.to,
                                 .across = divisor_of((row.size + side - 1) / side),
                                 .down = divisor_of((column.size + side - 1) / side),
                                 .matrices = nest_of(rest)};
  const std::int64_t tiles = std::int64_t{arguments.across.size} * arguments.down.size;
  gpu.launch(op, kCopyTiles, bits_type(size),
             {.blocks = static_cast<std::uint32_t>(tiles * rest.count()), .threads = kTileThreads},
             arguments);
  return true;
}

void copy_steps(Gpu& gpu, const char* op, const TypedKernel& kernel, Types types,
                const CopyArguments& arguments, std::size_t bytes) {
  gpu.launch(op, kernel, types,
             grid_of_steps(arguments.nest.count, kCopyThreads, steps_at_once(bytes)), arguments);
}

void copy_same(Gpu& gpu, const char* op, CopyWalk walk, const CopyEnds& ends) {
  const std::size_t size = widen(walk, ends);
  if (try_tiles(gpu, op, walk, ends, size)) return;
  const CopyArguments arguments{
      .from = ends.from, .to = ends.to, .is_vectors = 0, .nest = nest_of(walk)};
  const bool is_widest = size == kVectorBytes;
  copy_steps(gpu, op, is_widest ? kCopyVectors : kCopySame, is_widest ? Types() : bits_type(size),
             arguments, size);
}

void copy_converted(Gpu& gpu, const char* op, CopyWalk walk, const CopyEnds& ends) {
  const std::size_t from = size_of(ends.from_type);
  auto n = static_cast<std::int64_t>(kVectorBytes / std::max(from, size_of(ends.to_type)));
  const bool is_vectors = goes_by(n, walk, ends);
  if (is_vectors) {
    walk.loops[walk.rank - 1] = {walk.loops[walk.rank - 1].size / n, n, n};
  } else {
    n = 1;
  }
  copy_steps(
      gpu, op, kCopyConverted, {ends.from_type, ends.to_type},
      {.from = ends.from, .to = ends.to, .is_vectors = is_vectors ? 1 : 0, .nest = nest_of(walk)},
      static_cast<std::size_t>(n) * from);
}

/// Of as many elements as a kernel counts.
void copy_small(Gpu& gpu, const char* op, const CopyWalk& walk, const CopyEnds& ends) {
  if (ends.from_type == ends.to_type) return copy_same(gpu, op, walk, ends);
  copy_converted(gpu, op, walk, ends);
}

/// In pieces of the outermost loop where there are more.
void copy_any(Gpu& gpu, const char* op, const CopyWalk& walk, const CopyEnds& ends) {
  const std::int64_t count = walk.count();
  if (count <= kMostSmallSteps) return copy_small(gpu, op, walk, ends);
  const CopyWalk::Loop outer = walk.loops[0];
  // Pieces begin where vectors do.
  const std::int64_t step =
      std::max<std::int64_t>(kMostSmallSteps / (count / outer.size) / 64 * 64, 1);
  for (std::int64_t first = 0; first < outer.size; first += step) {
    CopyWalk piece = walk;
    piece.loops[0].size = std::min(step, outer.size - first);
    if (piece.loops[0].size == 1 && piece.rank > 1) {
      --piece.rank;
      std::copy(walk.loops + 1, walk.loops + walk.rank, piece.loops);
    }
    CopyEnds part = ends;
    move_by(part, first * outer.from, first * outer.to);
    copy_any(gpu, op, piece, part);
  }
}

}  // namespace

void copy_over(Gpu& gpu, const char* op, CopyWalk walk, CopyEnds ends) {
  if (walk.count() == 0) return;
  put_in_order(walk, ends);
  copy_any(gpu, op, walk, ends);
}

std::vector<const TypedKernel*> copy_kernels() {
  return {&kCopySame, &kCopyVectors, &kCopyTiles, &kCopyConverted};
}

}  // namespace tenure::kernels::cuda
