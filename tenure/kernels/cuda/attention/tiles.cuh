#pragma once

#include "tenure/kernels/cuda/attention/head.cuh"
#include "tenure/kernels/cuda/device/mma.cuh"

// Note: tiles
//
// A block keeps some rows of one or two matrices of a head in shared memory, while tiles of two
// others go by, a few rows at a time: one pair is worked on as the next is on its way. Rows are of
// one size, with zeros where a head has none, in packs of 16 bytes: pack p of row r lies in place
// p ^ r % 8, so that eight rows of a column of packs are in different banks.

namespace tenure::kernels::cuda {

/// 16 bytes of elements.
template <class T>
struct alignas(16) TilePack {
  static constexpr int kSize = 16 / sizeof(T);
  T of[kSize];
};

/// Where a pack is in a tile.
template <class T, int size>
inline int pack_place(int row, int pack) {
  return row * (size / TilePack<T>::kSize) + (pack ^ row % 8);
}

/// What of a matrix is in reach: columns with a stride, or whole packs.
template <class T>
struct TileSource {
  const T* data;
  std::int64_t row;
  std::int64_t column;
  int rows;
  int columns;
  bool in_packs;
};
template <class T>
inline TileSource<T> tile_source(const AttentionArguments& a, const AttentionMatrix& matrix,
                                 int operand, std::int64_t head, std::int64_t rows,
                                 std::int64_t columns) {
  return {static_cast<const T*>(matrix.data) +
              place_of(a.heads, static_cast<std::uint64_t>(head), operand),
          matrix.row,
          matrix.column,
          static_cast<int>(rows),
          static_cast<int>(columns),
          a.in_packs != 0};
}
template <class T>
inline TileSource<T> source_of_q(const AttentionArguments& a, std::int64_t head) {
  return tile_source<T>(a, a.q, 0, head, a.n, a.d);
}
template <class T>
inline TileSource<T> source_of_k(const AttentionArguments& a, std::int64_t head) {
  return tile_source<T>(a, a.k, 1, head, a.m, a.d);
}
template <class T>
inline TileSource<T> source_of_v(const AttentionArguments& a, std::int64_t head) {
  return tile_source<T>(a, a.v, 2, head, a.m, a.e);
}
template <class T>
inline TileSource<T> source_of_gradient(const AttentionArguments& a, std::int64_t head) {
  return tile_source<T>(a, a.gradient, 3, head, a.n, a.e);
}

/// Begins to copy `rows` rows of a matrix, from `row` on. It is done after wait_for_copies() and a
/// barrier.
template <int size, int rows, int threads, class T>
inline void begin_tile(TilePack<T>* tile, const TileSource<T>& x, int row) {
  constexpr int kEach = TilePack<T>::kSize;
  constexpr int kPacks = size / kEach;
  constexpr int kStep = threads / kPacks;
  static_assert(threads % kPacks == 0 && rows % kStep == 0 && kStep % 8 == 0);
  const int pack = static_cast<int>(threadIdx.x) % kPacks;
  const int first = static_cast<int>(threadIdx.x) / kPacks;
  const int left = x.columns - pack * kEach;
  const int own = left < 0 ? 0 : left < kEach ? left : kEach;
  const T* from = x.data + (row + first) * x.row + pack * kEach * x.column;
  TilePack<T>* to = &tile[pack_place<T, size>(first, pack)];
#pragma unroll
  for (int i = 0; i < rows / kStep; ++i) {
    const int count = row + first + i * kStep < x.rows ? own : 0;
    if (x.in_packs) {
      begin_copy(to, count > 0 ? from : x.data, static_cast<unsigned>(count * sizeof(T)));
    } else {
      for (int k = 0; k < kEach; ++k) to->of[k] = k < count ? from[k * x.column] : T(0);
    }
    from += kStep * x.row;
    to += kStep * kPacks;
  }
}

/// Which keys a query sees. There are fewer than 2^29 of both.
struct Sight {
  int n;
  int m;
  int reach;  ///< how much further than its own place a query sees

  explicit Sight(const AttentionArguments& a)
      : n(static_cast<int>(a.n)),
        m(static_cast<int>(a.m)),
        reach(a.causal != 0 ? m - n : 1 << 29) {}

  /// How many keys a query sees; it need not be there.
  int keys_seen(int query) const { return max(0, min(m, query + 1 + reach)); }
  bool is_seen(int query, int key) const { return query < n && key < m && key - query <= reach; }
};

/// One of the facts of all queries of a head, which are behind each other.
inline float* facts_of(const AttentionArguments& a, int fact, std::int64_t head) {
  return static_cast<float*>(a.facts) + (fact * a.heads.count + head) * a.n;
}

/// Begins to copy `facts` facts of `across` queries, from `query` on, fact by fact.
template <int facts, int across, int threads>
inline void begin_facts(float* to, const AttentionArguments& a, std::int64_t head, int query) {
  for (int i = static_cast<int>(threadIdx.x); i < facts * across; i += threads) {
    const int own = query + i % across;
    const bool is_there = own < a.n;
    begin_copy_of_word(to + i, facts_of(a, i / across, head) + (is_there ? own : 0), is_there);
  }
}

/// Calls `f(head, row)` for the blocks of rows that this block has. `is_reversed`: from the last.
template <class F>
inline void for_each_block(const AttentionArguments& a, std::int64_t rows, int rows_of_block,
                           bool is_reversed, const F& f) {
  const std::int64_t blocks = (rows + rows_of_block - 1) / rows_of_block;
  for (std::int64_t i = blockIdx.x; i < a.heads.count * blocks; i += gridDim.x) {
    const std::int64_t block = i / a.heads.count;
    f(i - block * a.heads.count,
      static_cast<int>(is_reversed ? blocks - 1 - block : block) * rows_of_block);
    __syncthreads();
  }
}

/// Calls `begin(at, stage)` and, when what it began is there, `work(at, stage)` for tiles of
/// `across` rows in [from, to), one ahead of the other. Stages are 0 and 1 by turns.
template <int across, class Begin, class Work>
inline void for_each_tile(int from, int to, const Begin& begin, const Work& work) {
  if (from < to) begin(from, 0);
  int stage = 0;
  for (int at = from; at < to; at += across, stage ^= 1) {
    wait_for_copies();
    __syncthreads();
    if (at + across < to) begin(at + across, stage ^ 1);
    work(at, stage);
  }
}

}  // namespace tenure::kernels::cuda
