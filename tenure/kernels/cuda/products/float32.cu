#pragma once

#include "tenure/kernels/cuda/device/cluster.cuh"
#include "tenure/kernels/cuda/device/mma.cuh"
#include "tenure/kernels/cuda/loops/neighbours.cuh"
#include "tenure/kernels/cuda/places/places.cuh"
#include "tenure/kernels/cuda/products/float32_arguments.h"

// Note: products of float32 by tiles
//
// A block computes a tile of the results. Slabs of both operands go through shared memory, several
// of them on their way at once; they lie there as in memory, by rows or by columns. Warps are in
// groups: each has all of the tile, and a part of every slab, so that small tiles, of which there
// are enough for all of the GPU, have enough threads. Where there still are few tiles, the blocks
// of a cluster share k among them. The sums of groups, then those of blocks, are added in their
// order, so that results have the same bits from run to run, and what follows on them is computed
// where they are complete.
//
// A thread has kRows x kColumns of the results. Of an operand that runs along k it reads four steps
// of k at once, of others four neighbours along the other axis: either way a warp reads from all
// banks.

namespace tenure::kernels::cuda {

/// An operand's slab in shared memory: `size` lines across, `depth` steps of k. Threads copy 16
/// bytes each, side by side along the lines of memory.
template <int size, int depth, bool runs, int threads>
struct Slab {
  static constexpr int kLines = runs ? size : depth;
  static constexpr int kLength = runs ? depth : size;
  static constexpr int kLine = kLength + 4;  ///< in shared memory
  static constexpr int kFloats = kLines * kLine;
  static constexpr int kAtOnce = threads / (kLength / 4);  ///< lines
  static_assert(threads % (kLength / 4) == 0);

  const float* from;    ///< where this thread begins at the first step of k
  std::int64_t stride;  ///< of lines in memory
  int line;
  int along;
  int left;  ///< past the end there are zeros: of this axis; k has its own
  bool by_vectors;

  Slab(const float* matrix, std::int64_t line_stride, bool vectors, int first, int past)
      : stride(line_stride),
        line(static_cast<int>(threadIdx.x) / (kLength / 4)),
        along(static_cast<int>(threadIdx.x) % (kLength / 4) * 4),
        left(past - first - (runs ? line : along)),
        by_vectors(vectors) {
    from = matrix + (runs ? (first + line) * stride + along : line * stride + first + along);
  }

  /// Begins to copy the slab from step k on; steps past `end` are zeros.
  void begin(float* shared, int k, int end) const {
    const float* source = from + (runs ? k : k * stride);
    float* to = shared + line * kLine + along;
    const int steps = end - k - (runs ? along : line);
#pragma unroll
    for (int i = 0; i < kLines; i += kAtOnce) {
      if (kLines % kAtOnce != 0 && line + i >= kLines) break;
      const bool is_inside = (runs ? left : steps) > i;
      const int there = is_inside ? max(0, min(4, runs ? steps : left)) : 0;
      if (by_vectors) {
        begin_copy_of_part(to, source, static_cast<unsigned>(there) * 4);
      } else {
#pragma unroll 1
        for (int e = 0; e < 4; ++e) begin_copy_of_word(to + e, source + e, e < there);
      }
      source += kAtOnce * stride;
      to += kAtOnce * kLine;
    }
  }
};

/// What a thread has of an operand for four steps of k: `count` lines.
template <int count, int lanes, bool runs, int line>
struct Fragment {
  static constexpr int kAtOnce = count < 4 ? count : 4;
  float of[4][count];

  /// The number of line i among those of the warp.
  static int line_of(int lane, int i) {
    return runs ? lane + lanes * i : kAtOnce * lane + i % kAtOnce + kAtOnce * lanes * (i / kAtOnce);
  }
  void load(const float* slab, int first, int lane, int k) {
    if constexpr (runs) {
#pragma unroll
      for (int i = 0; i < count; ++i) {
        const auto four = *reinterpret_cast<const Vector<float, 4>*>(
            slab + (first + line_of(lane, i)) * line + k);
#pragma unroll
        for (int s = 0; s < 4; ++s) of[s][i] = four.of[s];
      }
    } else {
#pragma unroll
      for (int s = 0; s < 4; ++s) {
#pragma unroll
        for (int i = 0; i < count; i += kAtOnce) {
          const auto some = *reinterpret_cast<const Vector<float, kAtOnce>*>(
              slab + (k + s) * line + first + line_of(lane, i));
#pragma unroll
          for (int e = 0; e < kAtOnce; ++e) of[s][i + e] = some.of[e];
        }
      }
    }
  }
};

/// The sums of this thread over [from, end) of k, of a tile that begins at (row, column).
template <TileShape tile, bool a_runs, bool b_runs>
inline void add_slabs(float (&sums)[tile.rows][tile.columns], float* shared, const float* a,
                      const float* b, const Float32Product& p, int row, int column, int from,
                      int end, int lane_row, int lane_column, int group) {
  using A = Slab<tile.height(), tile.depth, a_runs, tile.threads()>;
  using B = Slab<tile.width(), tile.depth, b_runs, tile.threads()>;
  constexpr int kStage = A::kFloats + B::kFloats;
  constexpr int kAhead = tile.stages - 1;
  const A copy_a(a, p.a_stride, p.a_by_vectors, row, p.m);
  const B copy_b(b, p.b_stride, p.b_by_vectors, column, p.n);
  const int warp = static_cast<int>(threadIdx.x) / 32 % tile.warps();
  const int warp_row = warp / tile.warp_columns * tile.warp_height();
  const int warp_column = warp % tile.warp_columns * tile.warp_width();
#pragma unroll 1
  for (int slab = -kAhead, k = from; k < end || slab < 0; ++slab) {
    if (slab >= 0) {
      wait_for_copies<kAhead - 1>();
      __syncthreads();
    }
    if (const int next = from + (slab + kAhead) * tile.depth; next < end) {
      float* const to = shared + (slab + kAhead) % tile.stages * kStage;
      copy_a.begin(to, next, end);
      copy_b.begin(to + A::kFloats, next, end);
    }
    end_copies();
    if (slab < 0) continue;
    const float* const a_slab = shared + slab % tile.stages * kStage;
    const float* const b_slab = a_slab + A::kFloats;
    const int left = end - k - group * tile.steps();
    k += tile.depth;
#pragma unroll 2
    for (int step = 0; step < tile.steps(); step += 4) {
      if (step >= left) break;
      const int at = group * tile.steps() + step;
      Fragment<tile.rows, tile.lane_rows, a_runs, A::kLine> x;
      Fragment<tile.columns, tile.lane_columns(), b_runs, B::kLine> y;
      x.load(a_slab, warp_row, lane_row, at);
      y.load(b_slab, warp_column, lane_column, at);
#pragma unroll
      for (int s = 0; s < 4; ++s) {
#pragma unroll
        for (int i = 0; i < tile.rows; ++i) {
#pragma unroll
          for (int j = 0; j < tile.columns; ++j) {
            sums[i][j] = std::fma(x.of[s][i], y.of[s][j], sums[i][j]);
          }
        }
      }
    }
  }
  wait_for_copies<0>();
  __syncthreads();
}

/// Leaves the sums of each group in shared memory.
template <TileShape tile, bool a_runs, bool b_runs>
inline void leave_sums(const float (&sums)[tile.rows][tile.columns], float* shared, int lane_row,
                       int lane_column, int group) {
  using A = Fragment<tile.rows, tile.lane_rows, a_runs, 0>;
  using B = Fragment<tile.columns, tile.lane_columns(), b_runs, 0>;
  const int warp = static_cast<int>(threadIdx.x) / 32 % tile.warps();
  float* const own = shared + group * tile.sum_floats() +
                     warp / tile.warp_columns * tile.warp_height() * tile.sum_line() +
                     warp % tile.warp_columns * tile.warp_width();
  constexpr int kAtOnce = b_runs ? 1 : B::kAtOnce;
#pragma unroll
  for (int i = 0; i < tile.rows; ++i) {
#pragma unroll
    for (int j = 0; j < tile.columns; j += kAtOnce) {
      Vector<float, kAtOnce> some;
#pragma unroll
      for (int e = 0; e < kAtOnce; ++e) some.of[e] = sums[i][j + e];
      *reinterpret_cast<Vector<float, kAtOnce>*>(own + A::line_of(lane_row, i) * tile.sum_line() +
                                                 B::line_of(lane_column, j)) = some;
    }
  }
}

inline void add_four(Vector<float, 4>& to, const float4& more) {
  to.of[0] += more.x;
  to.of[1] += more.y;
  to.of[2] += more.z;
  to.of[3] += more.w;
}

/// The tile that this block has of the results, or, in a cluster, a part of the sums of one.
template <TileShape tile, bool a_runs, bool b_runs, class After = NoLoop,
          class Arguments = Float32Product>
inline void multiply_tiles(const Arguments& p) {
  TENURE_SHARED(float, shared);
  const int blocks = static_cast<int>(cluster_size());
  const int rank = static_cast<int>(cluster_rank());
  const int across = (p.n + tile.width() - 1) / tile.width();
  const int down = (p.m + tile.height() - 1) / tile.height();
  const int place = static_cast<int>(blockIdx.x) / blocks;
  const int product = place / (across * down);
  const int row = place / across % down * tile.height();
  const int column = place % across * tile.width();
  const TwoPlaces begin = places_at(p.batch, static_cast<std::uint32_t>(product), 0, 1);
  const int from = rank * p.part;
  const int end = from + p.part < p.k ? from + p.part : p.k;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int few = lane % 2 + lane / 16 * 2;
  const int many = lane / 2 % 8;
  const int lane_row = tile.lane_rows == 8 ? many : few;
  const int lane_column = tile.lane_rows == 8 ? few : many;
  const int group = static_cast<int>(threadIdx.x) / (32 * tile.warps());

  float sums[tile.rows][tile.columns] = {};
  add_slabs<tile, a_runs, b_runs>(sums, shared, p.a + begin.first, p.b + begin.second, p, row,
                                  column, from, end, lane_row, lane_column, group);
  leave_sums<tile, a_runs, b_runs>(sums, shared, lane_row, lane_column, group);
  __syncthreads();

  constexpr int kAcross = tile.width() / 4;
  constexpr int kFours = tile.height() * kAcross;
  const auto place_of = [](int four) {
    return four / kAcross * tile.sum_line() + four % kAcross * 4;
  };
  const auto sum_of_groups = [&](int four) {
    const float* const at = shared + place_of(four);
    auto sum = *reinterpret_cast<const Vector<float, 4>*>(at);
#pragma unroll
    for (int g = 1; g < tile.groups; ++g) {
      add_four(sum, *reinterpret_cast<const float4*>(at + g * tile.sum_floats()));
    }
    return sum;
  };
  if (blocks > 1) {
    if constexpr (tile.groups > 1) {
#pragma unroll 1
      for (int four = static_cast<int>(threadIdx.x); four < kFours; four += tile.threads()) {
        *reinterpret_cast<Vector<float, 4>*>(shared + place_of(four)) = sum_of_groups(four);
      }
    }
    cluster_barrier();
  }
  const int share = (kFours + blocks - 1) / blocks;
  const int past = (rank + 1) * share < kFours ? (rank + 1) * share : kFours;
#pragma unroll 1
  for (int four = rank * share + static_cast<int>(threadIdx.x); four < past;
       four += tile.threads()) {
    const int i = row + four / kAcross;
    const int j = column + four % kAcross * 4;
    if (i >= p.m || j >= p.n) continue;
    Vector<float, 4> sum;
    if (blocks == 1) {
      sum = sum_of_groups(four);
    } else {
      const auto* const own = reinterpret_cast<const float4*>(shared + place_of(four));
      const float4 first = load_of_block(own, 0);
      sum = {{first.x, first.y, first.z, first.w}};
      for (int block = 1; block < blocks; ++block) {
        add_four(sum, load_of_block(own, static_cast<unsigned>(block)));
      }
    }
    const std::int64_t element = (static_cast<std::int64_t>(product) * p.m + i) * p.n + j;
    if (p.c_by_vectors) {
      *reinterpret_cast<Vector<ResultOf<After, float>, 4>*>(p.c + element) =
          followed<After, float, 4>(p, element, sum);
    } else {
      for (int e = 0; e < 4 && j + e < p.n; ++e) {
        *reinterpret_cast<Vector<ResultOf<After, float>, 1>*>(p.c + element + e) =
            followed<After, float, 1>(p, element + e, Vector<float, 1>{{sum.of[e]}});
      }
    }
  }
  if (blocks > 1) cluster_barrier();
}

}  // namespace tenure::kernels::cuda
