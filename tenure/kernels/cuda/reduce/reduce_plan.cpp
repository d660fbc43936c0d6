#include "tenure/kernels/cuda/reduce/reduce_plan.h"

#include <algorithm>
#include <bit>
#include <cstdlib>

#include "tenure/kernels/cuda/loops/neighbours.h"
#include "tenure/kernels/cuda/places/small_nest.h"

namespace tenure::kernels::cuda {
namespace {

static_assert(kMostSharing >= 512 * columns_of_thread(1));

/// Blocks that keep a GPU busy. Not what this one has: a sum has the same bits on all.
constexpr std::int64_t kEnoughBlocks = 512;
/// Blocks of which more is gained than by reading whole lines of memory.
constexpr std::int64_t kFewBlocks = 64;
/// Bytes of a tensor that is read in little more time than one element.
constexpr std::int64_t kLittle = std::int64_t{1} << 20;
constexpr std::int64_t kLineBytes = 128;

struct Dim {
  std::int64_t size;
  std::int64_t stride;
};
bool is_outer(const Dim& a, const Dim& b) {
  return (a.stride == 0) != (b.stride == 0) ? a.stride == 0 : a.stride > b.stride;
}

std::int64_t round_up(std::int64_t n, std::int64_t to) { return (n + to - 1) / to * to; }

}  // namespace

void push(Walk& walk, std::int64_t size, std::int64_t stride) {
  if (size == 1) return;
  const int last = walk.rank - 1;
  if (walk.rank > 0 && walk.strides[last] == stride * size) {
    walk.sizes[last] *= size;
    walk.strides[last] = stride;
  } else {
    walk.sizes[walk.rank] = size;
    walk.strides[walk.rank++] = stride;
  }
}

ReducePlan::ReducePlan(const View& in, const Axes& axes, TermOrder order, States states)
    : element_(size_of(in.dtype)) {
  first_.outputs = 1;
  first_.terms = 1;
  Dim reduced[kMaxRank];
  int rank = 0;
  int next = 0;
  for (int i = 0; i < in.shape.size(); ++i) {
    Dim dim{in.shape[i], in.strides[i]};
    if (next == axes.size() || axes[next] != i) {
      push(first_.kept, dim.size, dim.stride);
      first_.outputs *= dim.size;
      continue;
    }
    ++next;
    first_.terms *= dim.size;
    if (dim.size <= 1) continue;
    if (order != TermOrder::free) {
      reduced[rank++] = dim;
      continue;
    }
    // The order of terms is free: walk forwards, the smallest stride innermost.
    if (dim.stride < 0) {
      origin_ += (dim.size - 1) * dim.stride;
      dim.stride = -dim.stride;
    }
    Dim* const at = std::upper_bound(reduced, reduced + rank, dim, is_outer);
    std::copy_backward(at, reduced + rank, reduced + rank + 1);
    *at = dim;
    ++rank;
  }
  for (int i = 0; i < rank; ++i) push(first_.reduced, reduced[i].size, reduced[i].stride);

  const Walk& kept = first_.kept;
  const Walk& terms = first_.reduced;
  if (first_.terms > 0 && first_.terms <= kMostSmallSteps) {
    for (int d = terms.rank - 1; d >= 0; --d) {
      if (d == terms.rank - 1) {
        begin_nest(first_.near_terms, terms.sizes[d], &terms.strides[d], 1);
      } else {
        add_outer_loop(first_.near_terms, terms.sizes[d], &terms.strides[d], 1);
      }
    }
  }
  const std::int64_t run = terms.rank > 0 ? std::abs(terms.strides[terms.rank - 1]) : 0;
  const std::int64_t row = kept.rank > 0 ? std::abs(kept.strides[kept.rank - 1]) : 0;
  const bool is_nearer = kept.rank > 0 && row != 0 && (terms.rank == 0 || row < run);
  if (is_nearer) {
    plan_columns(states == States::small);
  } else {
    plan_rows();
  }
}

/// Whether n neighbours along the last loop of `along` are read at once, wherever both walks are.
bool ReducePlan::goes_by(std::int64_t n, const Walk& along, const Walk& other) {
  const int last = along.rank - 1;
  if (n == 1 || last < 0 || along.strides[last] != 1 || along.sizes[last] % n != 0) return false;
  const auto is_even = [&](const Walk& walk, int loops) {
    return std::all_of(walk.strides, walk.strides + loops,
                       [&](std::int64_t stride) { return stride % n == 0; });
  };
  return is_even(along, last) && is_even(other, other.rank);
}

/// Neighbouring threads have neighbouring outputs.
void ReducePlan::plan_columns(bool are_several) {
  const Walk& kept = first_.kept;
  const std::int64_t several = columns_of_thread(element_);
  const std::int64_t inner = kept.rank > 0 ? kept.sizes[kept.rank - 1] : 1;
  of_thread_ = are_several && goes_by(several, kept, first_.reduced) ? several : 1;
  first_.is_packed = of_thread_ > 1 ? 1 : 0;
  Groups& groups = first_.groups;
  groups = groups_for(first_.terms, inner, element_);
  if (first_.is_packed != 0) {
    const auto width = std::bit_floor(static_cast<std::uint64_t>(
        std::clamp<std::int64_t>(inner / of_thread_, 1, kLineBytes / 16)));
    const auto useful = std::bit_ceil(static_cast<std::uint64_t>(
        std::clamp<std::int64_t>((first_.terms + 3) / 4, 1, kGroupThreads)));
    groups = {.lanes = static_cast<std::uint32_t>(std::min(kGroupThreads / width, useful)),
              .columns = 1};
    // Of little, the lines are cut rather than the columns.
    const std::int64_t bytes = first_.outputs * first_.terms * static_cast<std::int64_t>(element_);
    while (bytes <= kLittle && groups.lanes < kGroupThreads / 2 &&
           2 * groups.lanes <= first_.terms && column_blocks(groups) < kFewBlocks) {
      groups.lanes *= 2;
    }
  }
  cut(column_blocks(groups), 8);
}

/// Neighbouring threads have neighbouring terms.
void ReducePlan::plan_rows() {
  const auto pack = static_cast<std::int64_t>(16 / element_);
  first_.is_packed = goes_by(pack, first_.reduced, first_.kept) ? 1 : 0;
  const std::int64_t reads = first_.is_packed != 0 ? first_.terms / pack : first_.terms;
  Groups& groups = first_.groups;
  groups = groups_for(std::max((reads + 7) / 8, std::min<std::int64_t>(reads, 32)), 1, element_);
  while (groups.lanes < kGroupThreads && groups.lanes < reads &&
         blocks_for(first_.outputs, groups) < kEnoughBlocks / 2) {
    groups.lanes *= 2;
  }
  cut(blocks_for(first_.outputs, groups), 16);
}

/// Has blocks share outputs where there are few blocks; then threads have `least` terms or more.
void ReducePlan::cut(std::int64_t blocks, std::int64_t least) {
  const std::int64_t lanes = first_.groups.lanes;
  chunks_ = std::clamp<std::int64_t>(
      first_.terms / (lanes * least), 1,
      std::max<std::int64_t>(kEnoughBlocks / std::max<std::int64_t>(blocks, 1), 1));
  first_.chunk =
      round_up(std::max<std::int64_t>((first_.terms + chunks_ - 1) / chunks_, 1), lanes * least);
  chunks_ = std::max<std::int64_t>((first_.terms + first_.chunk - 1) / first_.chunk, 1);
}

std::int64_t ReducePlan::column_blocks(const Groups& groups) const {
  return blocks_for((first_.outputs + of_thread_ - 1) / of_thread_, groups);
}

std::size_t ReducePlan::workspace() const {
  if (chunks_ == 1) return 0;
  return static_cast<std::size_t>(chunks_ * first_.outputs) * kStateBytes;
}

void ReducePlan::launch(Gpu& gpu, const char* op, const ReduceKernels& rule, DType type,
                        const Call& call, const ops::FusedNeighbours& neighbours) const {
  if (first_.outputs == 0) return;
  ReduceArguments arguments = first_;
  arguments.in =
      static_cast<const std::byte*>(call.in) + origin_ * static_cast<std::int64_t>(element_);
  arguments.out = call.out;
  arguments.states = chunks_ == 1 ? nullptr : call.workspace;
  arguments.number = call.number;
  arguments.root = call.root ? 1 : 0;
  if (reinterpret_cast<std::uintptr_t>(arguments.in) % 16 != 0) arguments.is_packed = 0;
  const std::int64_t of_thread = arguments.is_packed != 0 ? of_thread_ : 1;
  launch_with(gpu, op, first_.groups.columns != 0 ? rule.columns : rule.rows, type,
              {.blocks = blocks_for((first_.outputs + of_thread - 1) / of_thread, first_.groups),
               .threads = kGroupThreads,
               .blocks_y = static_cast<std::uint32_t>(chunks_)},
              arguments, neighbours, {}, 1);
}

}  // namespace tenure::kernels::cuda
