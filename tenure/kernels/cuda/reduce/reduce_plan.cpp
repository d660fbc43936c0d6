#include "tenure/kernels/cuda/reduce/reduce_plan.h"

#include <cstdlib>

namespace tenure::kernels::cuda {
namespace {

/// Blocks that keep a GPU busy. Not what this one has: a sum has the same bits on all.
constexpr std::int64_t kEnoughBlocks = 512;
/// Terms that a thread has at least if blocks share an output.
constexpr std::int64_t kTermsOfThread = 16;

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

ReducePlan::ReducePlan(const View& in, const Axes& axes, TermOrder order)
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
  const std::int64_t run = terms.rank > 0 ? std::abs(terms.strides[terms.rank - 1]) : 0;
  const std::int64_t row = kept.rank > 0 ? std::abs(kept.strides[kept.rank - 1]) : 0;
  const bool is_nearer = kept.rank > 0 && row != 0 && (terms.rank == 0 || row < run);
  const bool columns = order == TermOrder::fixed ? first_.outputs > 1 : is_nearer;
  first_.groups =
      groups_for(first_.terms, columns && kept.rank > 0 ? kept.sizes[kept.rank - 1] : 1, element_);
  const std::int64_t lanes = first_.groups.lanes;
  const std::int64_t blocks = std::max<std::int64_t>(blocks_for(first_.outputs, first_.groups), 1);
  chunks_ = std::clamp<std::int64_t>(first_.terms / (lanes * kTermsOfThread), 1,
                                     std::max<std::int64_t>(kEnoughBlocks / blocks, 1));
  first_.chunk =
      round_up(std::max<std::int64_t>((first_.terms + chunks_ - 1) / chunks_, 1), lanes * 16);
  chunks_ = std::max<std::int64_t>((first_.terms + first_.chunk - 1) / first_.chunk, 1);

  const auto pack = static_cast<std::int64_t>(16 / element_);
  bool packed = order != TermOrder::fixed && !columns && terms.rank == 1 && run == 1 &&
                terms.strides[0] == 1 && first_.terms % pack == 0;
  for (int d = 0; d < kept.rank; ++d) packed = packed && kept.strides[d] % pack == 0;
  first_.is_packed = packed ? 1 : 0;
}

std::size_t ReducePlan::workspace() const {
  if (chunks_ == 1) return 0;
  return static_cast<std::size_t>(chunks_ * first_.outputs) * kStateBytes;
}

void ReducePlan::launch(Gpu& gpu, const char* op, const TypedKernel& kernel, DType type,
                        const Call& call) const {
  if (first_.outputs == 0) return;
  ReduceArguments arguments = first_;
  arguments.in =
      static_cast<const std::byte*>(call.in) + origin_ * static_cast<std::int64_t>(element_);
  arguments.out = chunks_ == 1 ? call.out : call.workspace;
  arguments.writes_states = chunks_ == 1 ? 0 : 1;
  arguments.number = call.number;
  arguments.root = call.root ? 1 : 0;
  if (reinterpret_cast<std::uintptr_t>(arguments.in) % 16 != 0) arguments.is_packed = 0;
  gpu.launch(op, kernel, type,
             {.blocks = blocks_for(first_.outputs, first_.groups),
              .threads = kGroupThreads,
              .blocks_y = static_cast<std::uint32_t>(chunks_)},
             arguments);
  if (chunks_ == 1) return;

  arguments.in = call.workspace;
  arguments.out = call.out;
  arguments.reads_states = 1;
  arguments.writes_states = 0;
  arguments.terms = chunks_;
  arguments.chunk = chunks_;
  arguments.kept = {};
  arguments.reduced = {};
  push(arguments.kept, first_.outputs, 1);
  push(arguments.reduced, chunks_, first_.outputs);
  arguments.groups = groups_for(chunks_, first_.outputs, kStateBytes / 2);
  gpu.launch(op, kernel, type,
             {.blocks = blocks_for(first_.outputs, arguments.groups), .threads = kGroupThreads},
             arguments);
}

}  // namespace tenure::kernels::cuda
