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

/// How a tile is shared by threads: `lanes` rows of lanes in a warp, of 4 or 8; `warps` rows and
/// columns of warps in a group.
template <int rows, int columns, int lane_rows, int warp_rows, int warp_columns, int groups,
          int depth, int stages>
struct TileOf {
  static constexpr int kRows = rows;  ///< of a thread
  static constexpr int kColumns = columns;
  static constexpr int kLaneRows = lane_rows;
  static constexpr int kLaneColumns = 32 / lane_rows;
  static constexpr int kWarpRows = warp_rows;
  static constexpr int kWarpColumns = warp_columns;
  static constexpr int kGroups = groups;
  static constexpr int kDepth = depth;  ///< of a slab
  static constexpr int kStages = stages;
  static constexpr int kHeight = rows * lane_rows * warp_rows;
  static constexpr int kWidth = columns * kLaneColumns * warp_columns;
  static constexpr int kWarps = warp_rows * warp_columns;  ///< of a group
  static constexpr int kThreads = 32 * kWarps * groups;
  static constexpr int kSteps = depth / groups;  ///< of k, for a group in a slab
  static_assert(kSteps % 4 == 0);
};

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
        const auto four =
            *reinterpret_cast<const Vector<float, 4>*>(slab + (first + line_of(lane, i)) * line + k);
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

/// Where the results are that a block leaves in shared memory for its own threads and others.
template <class Tile>
struct Sums {
  static constexpr int kLine = Tile::kWidth + 4;
  static constexpr int kFloats = Tile::kHeight * kLine;
};

template <class Tile, bool a_runs, bool b_runs>
constexpr int float32_shared_floats() {
  constexpr int slabs =
      Tile::kStages * (Slab<Tile::kHeight, Tile::kDepth, a_runs, Tile::kThreads>::kFloats +
                       Slab<Tile::kWidth, Tile::kDepth, b_runs, Tile::kThreads>::kFloats);
  constexpr int sums = Tile::kGroups * Sums<Tile>::kFloats;
  return slabs > sums ? slabs : sums;
}

/// The sums of this thread over [from, end) of k, of a tile that begins at (row, column).
template <class Tile, bool a_runs, bool b_runs>
inline void add_slabs(float (&sums)[Tile::kRows][Tile::kColumns], float* shared, const float* a,
                      const float* b, const Float32Product& p, int row, int column, int from,
                      int end, int lane_row, int lane_column, int group) {
  using A = Slab<Tile::kHeight, Tile::kDepth, a_runs, Tile::kThreads>;
  using B = Slab<Tile::kWidth, Tile::kDepth, b_runs, Tile::kThreads>;
  constexpr int kStage = A::kFloats + B::kFloats;
  constexpr int kAhead = Tile::kStages - 1;
  const A copy_a(a, p.a_stride, p.a_by_vectors, row, p.m);
  const B copy_b(b, p.b_stride, p.b_by_vectors, column, p.n);
  const int warp = static_cast<int>(threadIdx.x) / 32 % Tile::kWarps;
  const int warp_row = warp / Tile::kWarpColumns * (Tile::kRows * Tile::kLaneRows);
  const int warp_column = warp % Tile::kWarpColumns * (Tile::kColumns * Tile::kLaneColumns);
#pragma unroll 1
  for (int slab = -kAhead, k = from; k < end || slab < 0; ++slab) {
    if (slab >= 0) {
      wait_for_copies<kAhead - 1>();
      __syncthreads();
    }
    if (const int next = from + (slab + kAhead) * Tile::kDepth; next < end) {
      float* const to = shared + (slab + kAhead) % Tile::kStages * kStage;
      copy_a.begin(to, next, end);
      copy_b.begin(to + A::kFloats, next, end);
    }
    end_copies();
    if (slab < 0) continue;
    const float* const a_slab = shared + slab % Tile::kStages * kStage;
    const float* const b_slab = a_slab + A::kFloats;
    const int left = end - k - group * Tile::kSteps;
    k += Tile::kDepth;
#pragma unroll 2
    for (int step = 0; step < Tile::kSteps; step += 4) {
      if (step >= left) break;
      const int at = group * Tile::kSteps + step;
      Fragment<Tile::kRows, Tile::kLaneRows, a_runs, A::kLine> x;
      Fragment<Tile::kColumns, Tile::kLaneColumns, b_runs, B::kLine> y;
      x.load(a_slab, warp_row, lane_row, at);
      y.load(b_slab, warp_column, lane_column, at);
#pragma unroll
      for (int s = 0; s < 4; ++s) {
#pragma unroll
        for (int i = 0; i < Tile::kRows; ++i) {
#pragma unroll
          for (int j = 0; j < Tile::kColumns; ++j) {
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
template <class Tile, bool a_runs, bool b_runs>
inline void leave_sums(const float (&sums)[Tile::kRows][Tile::kColumns], float* shared,
                       int lane_row, int lane_column, int group) {
  using A = Fragment<Tile::kRows, Tile::kLaneRows, a_runs, 0>;
  using B = Fragment<Tile::kColumns, Tile::kLaneColumns, b_runs, 0>;
  const int warp = static_cast<int>(threadIdx.x) / 32 % Tile::kWarps;
  float* const own = shared + group * Sums<Tile>::kFloats +
                     warp / Tile::kWarpColumns * (Tile::kRows * Tile::kLaneRows) *
                         Sums<Tile>::kLine +
                     warp % Tile::kWarpColumns * (Tile::kColumns * Tile::kLaneColumns);
  constexpr int kAtOnce = b_runs ? 1 : B::kAtOnce;
#pragma unroll
  for (int i = 0; i < Tile::kRows; ++i) {
#pragma unroll
    for (int j = 0; j < Tile::kColumns; j += kAtOnce) {
      Vector<float, kAtOnce> some;
#pragma unroll
      for (int e = 0; e < kAtOnce; ++e) some.of[e] = sums[i][j + e];
      *reinterpret_cast<Vector<float, kAtOnce>*>(
          own + A::line_of(lane_row, i) * Sums<Tile>::kLine + B::line_of(lane_column, j)) = some;
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
template <class Tile, bool a_runs, bool b_runs, class After, class Arguments>
inline void multiply_tiles(const Arguments& p) {
  TENURE_SHARED(float, shared);
  const int blocks = static_cast<int>(cluster_size());
  const int rank = static_cast<int>(cluster_rank());
  const int across = (p.n + Tile::kWidth - 1) / Tile::kWidth;
  const int down = (p.m + Tile::kHeight - 1) / Tile::kHeight;
  const int tile = static_cast<int>(blockIdx.x) / blocks;
  const int product = tile / (across * down);
  const int row = tile / across % down * Tile::kHeight;
  const int column = tile % across * Tile::kWidth;
  const TwoPlaces begin = places_at(p.batch, static_cast<std::uint32_t>(product), 0, 1);
  const int from = rank * p.part;
  const int end = from + p.part < p.k ? from + p.part : p.k;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int few = lane % 2 + lane / 16 * 2;
  const int many = lane / 2 % 8;
  const int lane_row = Tile::kLaneRows == 8 ? many : few;
  const int lane_column = Tile::kLaneRows == 8 ? few : many;
  const int group = static_cast<int>(threadIdx.x) / (32 * Tile::kWarps);

  float sums[Tile::kRows][Tile::kColumns] = {};
  add_slabs<Tile, a_runs, b_runs>(sums, shared, p.a + begin.first, p.b + begin.second, p, row,
                                  column, from, end, lane_row, lane_column, group);
  leave_sums<Tile, a_runs, b_runs>(sums, shared, lane_row, lane_column, group);
  __syncthreads();

  constexpr int kAcross = Tile::kWidth / 4;
  constexpr int kFours = Tile::kHeight * kAcross;
  const auto place_of = [](int four) {
    return four / kAcross * Sums<Tile>::kLine + four % kAcross * 4;
  };
  const auto sum_of_groups = [&](int four) {
    const float* const at = shared + place_of(four);
    auto sum = *reinterpret_cast<const Vector<float, 4>*>(at);
#pragma unroll
    for (int g = 1; g < Tile::kGroups; ++g) {
      add_four(sum, *reinterpret_cast<const float4*>(at + g * Sums<Tile>::kFloats));
    }
    return sum;
  };
  if (blocks > 1) {
    if constexpr (Tile::kGroups > 1) {
#pragma unroll 1
      for (int four = static_cast<int>(threadIdx.x); four < kFours; four += Tile::kThreads) {
        *reinterpret_cast<Vector<float, 4>*>(shared + place_of(four)) = sum_of_groups(four);
      }
    }
    cluster_barrier();
  }
  const int share = (kFours + blocks - 1) / blocks;
  const int past = (rank + 1) * share < kFours ? (rank + 1) * share : kFours;
  float* const c = p.c + static_cast<std::int64_t>(product) * p.m * p.n;
#pragma unroll 1
  for (int four = rank * share + static_cast<int>(threadIdx.x); four < past;
       four += Tile::kThreads) {
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
