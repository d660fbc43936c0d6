#pragma once

#include "tenure/kernels/cuda/loops/neighbours.cuh"
#include "tenure/kernels/cuda/reduce/folds.cuh"
#include "tenure/kernels/cuda/reduce/last_block.cuh"

// How the states of threads become outputs: those of a block are joined, and where blocks share
// outputs, the last one to be done joins what all have left in memory. Which one that is does not
// show: it joins them in the order of their places.

namespace tenure::kernels::cuda {

/// Where a block's outputs are, and what they are given: what the loop makes of them that follows,
/// if there is one.
template <class Fold, class After, class Arguments>
struct Outputs {
  using State = typename Fold::State;
  const Arguments& a;
  std::int64_t first;
  unsigned count;  ///< of a whole block

  bool has(unsigned output) const { return first + output < a.outputs; }
  void set(unsigned output, const State& s) const {
    using Out = typename Fold::Out;
    const Vector<Out, 1> result{Fold::result(s, a)};
    static_cast<ResultOf<After, Out>*>(a.out)[first + output] =
        followed<After, Out, 1>(a, first + output, result).of[0];
  }
  State& shared(std::int64_t chunk, unsigned output) const {
    return static_cast<State*>(a.states)[chunk * a.outputs + first + output];
  }
  /// What a block has: the output, or its share.
  void give(unsigned output, const State& s) const {
    if (!has(output)) return;
    if (a.states == nullptr) {
      set(output, s);
    } else {
      shared(blockIdx.y, output) = s;
    }
  }

  /// Has the last block of those that share outputs join what they gave. All threads take part.
  void finish() const {
    if (a.states == nullptr) return;
    if (!is_last_block(blockIdx.x, gridDim.y)) return;
    __shared__ State room[kGroupThreads];
    const unsigned across = count < kGroupThreads ? count : kGroupThreads;
    for (unsigned begin = 0; begin < count; begin += across) {
      const unsigned output = begin + threadIdx.x % across;
      State s = Fold::none();
      if (has(output)) {
#pragma unroll 4
        for (unsigned c = threadIdx.x / across; c < gridDim.y; c += kGroupThreads / across) {
          s = Fold::join(s, shared(c, output));
        }
      }
      __syncthreads();  // the room may be in use from the last time
      room[threadIdx.x] = s;
      __syncthreads();
      for (unsigned half = kGroupThreads / 2; half >= across; half /= 2) {
        if (threadIdx.x < half) {
          room[threadIdx.x] = Fold::join(room[threadIdx.x], room[threadIdx.x + half]);
        }
        __syncthreads();
      }
      if (threadIdx.x < across && has(output)) set(output, room[threadIdx.x]);
    }
  }
};

/// Joins what the lanes of groups have that stand side by side, of n outputs each.
template <class Fold, class After, int n, class Arguments>
inline void join_columns(typename Fold::State (&mine)[n], const Arguments& a) {
  using State = typename Fold::State;
  const unsigned across = kGroupThreads / a.groups.lanes;
  const unsigned width = across < 32 ? across : 32;  // lanes of a warp join first
#pragma unroll 1
  for (unsigned by = across; by < 32; by *= 2) {
#pragma unroll
    for (int c = 0; c < n; ++c) mine[c] = Fold::join(mine[c], swapped(mine[c], by));
  }
  __shared__ State room[kGroupThreads * n];
  const unsigned outputs = across * n;
  const unsigned rows = across < 32 ? kGroupThreads / 32 : a.groups.lanes;
  const unsigned row = across < 32 ? threadIdx.x / 32 : threadIdx.x / across;
  if (threadIdx.x % 32 < width) {
#pragma unroll
    for (int c = 0; c < n; ++c) room[row * outputs + threadIdx.x % across * n + c] = mine[c];
  }
  __syncthreads();
  const Outputs<Fold, After, Arguments> all{a, static_cast<std::int64_t>(blockIdx.x) * outputs, outputs};
  for (unsigned output = threadIdx.x; output < outputs; output += kGroupThreads) {
    State s = room[output];
#pragma unroll 4
    for (unsigned r = 1; r < rows; ++r) s = Fold::join(s, room[r * outputs + output]);
    all.give(output, s);
  }
  all.finish();
}

/// Joins what the lanes of groups have whose rows follow each other.
template <class Fold, class After, class Arguments>
inline void join_rows(const typename Fold::State& mine, const Place& place, const Arguments& a) {
  using State = typename Fold::State;
  const unsigned across = kGroupThreads / a.groups.lanes;
  const State s =
      joined(mine, a.groups, [](const State& x, const State& y) { return Fold::join(x, y); });
  const Outputs<Fold, After, Arguments> all{a, static_cast<std::int64_t>(blockIdx.x) * across, across};
  if (place.lane == 0) all.give(threadIdx.x / a.groups.lanes, s);
  all.finish();
}

}  // namespace tenure::kernels::cuda
