#pragma once

#include "tenure/kernels/cuda/attention/head.cuh"
#include "tenure/kernels/cuda/device/wgmma.cuh"

// Note: tiles
//
// A block keeps some rows of one or two matrices of a head in shared memory, while tiles of two
// others go by, a few rows at a time: one pair is worked on as the next ones are on their way. Rows
// are of one size, with zeros where a head has none, in packs of 16 bytes: pack p of row r lies in
// place p ^ r % 8, so that eight rows of a column of packs are in different banks.

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

/// Where the matrices of a head and its mask begin, in elements.
struct HeadPlaces {
  std::int64_t of[5] = {};

  HeadPlaces(const Places& heads, unsigned head) {
#pragma unroll 1
    for (int d = heads.rank - 1; d >= 0; --d) {
      const auto size = static_cast<unsigned>(heads.shape[d]);
      const unsigned row = head / size;
      for (int i = 0; i < 5; ++i) of[i] += (head - row * size) * heads.strides[i][d];
      head = row;
    }
  }
};

/// A matrix of a head, whose rows are copied into tiles.
template <class T>
struct TileSource {
  const T* data;
  std::int64_t row;
  std::int64_t column;
  int rows;
  int columns;
  bool in_packs;
  bool is_near;

  TileSource(const AttentionArguments& a, const AttentionMatrix& matrix, std::int64_t place,
             std::int64_t row_count, std::int64_t column_count)
      : data(static_cast<const T*>(matrix.data) + place),
        row(matrix.row),
        column(matrix.column),
        rows(static_cast<int>(row_count)),
        columns(static_cast<int>(column_count)),
        in_packs(a.in_packs != 0),
        is_near(a.in_packs == 2) {}
};

/// The matrices of a head.
template <class T>
struct TileSources {
  HeadPlaces places;
  TileSource<T> q, k, v, gradient;

  TileSources(const AttentionArguments& a, unsigned head)
      : places(a.heads, head),
        q(a, a.q, places.of[0], a.n, a.d),
        k(a, a.k, places.of[1], a.m, a.d),
        v(a, a.v, places.of[2], a.m, a.e),
        gradient(a, a.gradient, places.of[3], a.n, a.e) {}
};

/// Tiles of `rows` rows of a matrix, one after another.
template <AttentionTiles tiles, int rows, class T>
struct TileWalk {
  static constexpr int kEach = TilePack<T>::kSize;
  static constexpr int kPacks = tiles.part() / kEach;
  static constexpr int kStep = tiles.threads() / kPacks;
  static_assert(tiles.threads() % kPacks == 0 && rows % kStep == 0 && kStep % 8 == 0);

  const TileSource<T>& x;
  int pack = static_cast<int>(threadIdx.x) % kPacks;  ///< this thread's, and its first row
  int first = static_cast<int>(threadIdx.x) / kPacks;
  int row;           ///< the first of the next tile
  unsigned offset;  ///< if `is_whole`, where what this thread copies of it begins, in bytes
  bool is_whole;    ///< whether rows are of packs alone, at offsets of 32 bits

  TileWalk(const TileSource<T>& matrix, int first_row)
      : x(matrix),
        row(first_row),
        offset(static_cast<unsigned>(((row + first) * x.row + pack * kEach) * sizeof(T))),
        is_whole(x.is_near && x.columns == tiles.size) {}

  /// Begins to copy the next tile. It is done after wait_for_copies() and a barrier.
  void begin(TilePack<T>* tile) {
    TilePack<T>* const to = &tile[pack_place<T, tiles.part()>(first, pack)];
    if (is_whole && row + rows <= x.rows) {
      const char* const from = reinterpret_cast<const char*>(x.data);
      const unsigned step = static_cast<unsigned>(x.row) * (kStep * sizeof(T));
#pragma unroll
      for (int i = 0; i < rows; i += kStep) {
#pragma unroll
        for (int column = 0; column < tiles.size; column += tiles.part()) {
          begin_copy(to + (i * kPacks + column / kEach * rows),
                     from + offset + column * sizeof(T));
        }
        offset += step;
      }
    } else {
      begin_parts(to);
    }
    row += rows;
  }

 private:
  void begin_parts(TilePack<T>* to) {
    const T* from = x.data + (row + first) * x.row + pack * kEach * x.column;
#pragma unroll 1
    for (int i = 0; i < rows; i += kStep) {
#pragma unroll 1
      for (int column = 0; column < tiles.size; column += tiles.part()) {
        const int left = row + first + i < x.rows ? x.columns - column - pack * kEach : 0;
        const int count = max(0, min(left, kEach));
        TilePack<T>* const own = to + (i * kPacks + column / kEach * rows);
        if (x.in_packs) {
          begin_copy_of_part(own, from + column, static_cast<unsigned>(count * sizeof(T)));
        } else {
#pragma unroll 1
          for (int k = 0; k < kEach; ++k) {
            own->of[k] = k < count ? from[(column + k) * x.column] : T(0);
          }
        }
      }
      from += kStep * x.row;
    }
  }
};

/// Begins to copy `rows` rows of a matrix, from `row` on.
template <AttentionTiles tiles, int rows, class T>
inline void begin_tile(TilePack<T>* tile, const TileSource<T>& x, int row) {
  TileWalk<tiles, rows, T>(x, row).begin(tile);
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
inline float* facts_of(const AttentionArguments& a, int fact, unsigned head) {
  return static_cast<float*>(a.facts) + (fact * a.heads.count + head) * a.n;
}

/// Facts of `across` queries, fact by fact, one after another.
template <int facts, int across, int threads>
struct FactsWalk {
  static constexpr int kEach = (facts * across + threads - 1) / threads;

  const float* from;
  int left;             ///< queries from the first of the next tile on
  unsigned at[kEach];  ///< what this thread copies next

  FactsWalk(const AttentionArguments& a, unsigned head, int query)
      : from(static_cast<const float*>(a.facts)), left(static_cast<int>(a.n) - query) {
#pragma unroll
    for (int k = 0; k < kEach; ++k) {
      const unsigned i = k * threads + threadIdx.x;
      at[k] = static_cast<unsigned>((i / across * a.heads.count + head) * a.n) + query + i % across;
    }
  }

  void begin(float* to) {
#pragma unroll
    for (int k = 0; k < kEach; ++k) {
      const int i = k * threads + static_cast<int>(threadIdx.x);
      if (facts * across % threads != 0 && i >= facts * across) break;
      const bool is_there = i % across < left;
      begin_copy_of_word(to + i, from + (is_there ? at[k] : 0), is_there);
      at[k] += across;
    }
    left -= across;
  }
};

/// The head and the first row that a block has. Those of the most work begin; some heads, whose
/// matrices fit into the cache, take turns.
struct OwnBlock {
  unsigned head;
  int row;

  OwnBlock(const AttentionArguments& a, int rows, int rows_of_block, bool is_reversed) {
    const auto blocks = static_cast<unsigned>((rows + rows_of_block - 1) / rows_of_block);
    const auto together = static_cast<unsigned>(a.heads_together);
    const unsigned first = blockIdx.x / (blocks * together) * together;
    const unsigned heads = min(together, static_cast<unsigned>(a.heads.count) - first);
    const unsigned at = blockIdx.x - first * blocks;
    const unsigned block = at / heads;
    head = first + at - block * heads;
    row = static_cast<int>(is_reversed ? blocks - 1 - block : block) * rows_of_block;
  }
};

/// Calls `begin(at, stage)` and, when what it began is there, `work(at, stage)` for tiles of
/// `tiles.across` rows in [from, to). All stages are on their way meanwhile, but the one that is
/// worked on and `tiles.late` before it.
template <AttentionTiles tiles, class Begin, class Work>
inline void for_each_tile(int from, int to, const Begin& begin, const Work& work) {
  constexpr int kAcross = tiles.across;
  constexpr int kAhead = tiles.stages - 1 - tiles.late;
#pragma unroll
  for (int stage = 0; stage < kAhead; ++stage) {
    if (from + stage * kAcross < to) begin(from + stage * kAcross, stage);
    end_copies();
  }
  int stage = 0;
  int free = kAhead;
  for (int at = from; at < to; at += kAcross) {
    wait_for_copies<kAhead - 1>();
    if constexpr (tiles.by_groups) show_to_tensor_cores();
    __syncthreads();
    if (at + kAhead * kAcross < to) begin(at + kAhead * kAcross, free);
    end_copies();
    work(at, stage);
    free = free + 1 == tiles.stages ? 0 : free + 1;
    stage = stage + 1 == tiles.stages ? 0 : stage + 1;
  }
}

}  // namespace tenure::kernels::cuda
