// Tiles of convolutions: positions times channels whose sums are in registers, per instruction set.
#if defined(TENURE_KERNELS_CPU_CONV_GRID_TILE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TENURE_KERNELS_CPU_CONV_GRID_TILE_INL_H_
#undef TENURE_KERNELS_CPU_CONV_GRID_TILE_INL_H_
#else
#define TENURE_KERNELS_CPU_CONV_GRID_TILE_INL_H_
#endif

#include <hwy/highway.h>

#include <array>
#include <cstdint>
#include <limits>
#include <utility>

#include "tenure/kernels/cpu/conv/grid.h"
#include "tenure/kernels/cpu/gemm/tile-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tenure::kernels::conv {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
using tile::HWY_NAMESPACE::Columns;
using tile::HWY_NAMESPACE::Sums;
using tile::HWY_NAMESPACE::TileShape;

/// The taps of an output as runs of neighbouring source elements.
struct Runs {
  Runs(const Grid& grid, const Source& source) {
    const Axis& x = grid.axes[2];
    const bool merged = grid.groups == 1 && x.apart == 1;
    length = merged ? x.taps * grid.in_channels : grid.in_group();
    counts = {grid.axes[0].taps, grid.axes[1].taps, merged ? 1 : x.taps};
    steps = {source.plane, grid.axes[1].apart * source.row, x.apart * grid.in_channels};
  }
  std::int64_t count() const { return counts[0] * counts[1] * counts[2]; }

  /// A run, and where it begins. To find it takes divisions, to go on to the next one none.
  struct Place {
    std::int64_t y, x;
    std::int64_t offset;
  };
  Place place(std::int64_t run) const {
    const std::int64_t y = run / counts[2] % counts[1];
    const std::int64_t x = run % counts[2];
    const std::int64_t z = run / (counts[1] * counts[2]);
    return {y, x, z * steps[0] + y * steps[1] + x * steps[2]};
  }
  void go_on(Place& place) const {
    place.offset += steps[2];
    if (++place.x < counts[2]) return;
    place.x = 0;
    place.offset += steps[1] - counts[2] * steps[2];
    if (++place.y < counts[1]) return;
    place.y = 0;
    place.offset += steps[0] - counts[1] * steps[1];
  }

  std::int64_t length = 0;
  std::array<std::int64_t, 3> counts{};
  std::array<std::int64_t, 3> steps{};
};

/// What all tiles of a band have in common.
template <class T>
struct Pass {
  const Runs& runs;
  std::int64_t begin;  // runs
  std::int64_t end;
  Runs::Place first;    // of run `begin`
  std::int64_t length;  // of what is summed of each run
  const T* weights;     // packed, of run `begin`
  std::int64_t rest;    // of the weights of each run that are left out
  const T* bias;        // or null
  std::int64_t columns;
  bool add;  // to what the target has
  bool relu;
};

/// Fewer positions of a row are computed beside those of the next one.
constexpr int kFewestOfRow = 8;

/// Neighbours in a row of outputs, or in a column. Three of them share a pointer: then all fit into
/// registers.
template <class T>
struct Row {
  const T* from;
  T* to;
  std::int64_t from_step;  ///< elements from one position to the next
  std::int64_t to_step;

  template <int rows>
  class Taps {
   public:
    HWY_INLINE Taps(const Row& row, std::int64_t offset) : step_(row.from_step) {
      TENURE_UNROLL
      for (int i = 0; i < kPointers; ++i) at_[i] = row.from + offset + kShare * i * step_;
    }
    HWY_INLINE T get(int r, std::int64_t i) const {
      return at_[r / kShare][i + r % kShare * step_];
    }

   private:
    static constexpr int kShare = 3;
    static constexpr int kPointers = (rows + kShare - 1) / kShare;
    const T* at_[kPointers];
    std::int64_t step_;
  };
  HWY_INLINE T* target(int r) const { return to + r * to_step; }
};

/// Positions anywhere.
template <class T>
struct Spots {
  const T* from[TileShape<T>::kRows];
  T* to[TileShape<T>::kRows];

  template <int rows>
  class Taps {
   public:
    HWY_INLINE Taps(const Spots& spots, std::int64_t offset) {
      TENURE_UNROLL
      for (int r = 0; r < rows; ++r) at_[r] = spots.from[r] + offset;
    }
    HWY_INLINE T get(int r, std::int64_t i) const { return at_[r][i]; }

   private:
    const T* at_[rows];
  };
  HWY_INLINE T* target(int r) const { return to[r]; }
};

/// `rows` positions, of which `filled` are stored, times `width` vectors of target channels.
template <class T, int rows, int width, class Where>
HWY_NOINLINE void tile(const Pass<T>& pass, const Where& where, std::int64_t filled) {
  const hn::ScalableTag<T> d;
  using V = hn::Vec<decltype(d)>;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  V sums[rows][width];
  TENURE_UNROLL
  for (int v = 0; v < width; ++v) {
    TENURE_UNROLL
    for (int r = 0; r < rows; ++r) sums[r][v] = hn::Zero(d);
  }
  const T* HWY_RESTRICT w = pass.weights;
  Runs::Place place = pass.first;
  for (std::int64_t run = pass.begin; run < pass.end;
       ++run, w += pass.rest, pass.runs.go_on(place)) {
    const typename Where::template Taps<rows> taps(where, place.offset);
    TENURE_UNROLL_SOME
    for (std::int64_t i = 0; i < pass.length; ++i, w += width * lanes) {
      V column[width];
      TENURE_UNROLL
      for (int v = 0; v < width; ++v) column[v] = hn::Load(d, w + v * lanes);
      TENURE_UNROLL
      for (int r = 0; r < rows; ++r) {
        const V x = hn::Set(d, taps.get(r, i));
        TENURE_UNROLL
        for (int v = 0; v < width; ++v) sums[r][v] = hn::MulAdd(x, column[v], sums[r][v]);
      }
    }
  }
  // The larger of this and then a NaN is the NaN.
  const V least = hn::Set(d, pass.relu ? T{0} : -std::numeric_limits<T>::infinity());
  if (filled == rows && pass.columns == width * lanes) {
    TENURE_UNROLL
    for (int v = 0; v < width; ++v) {
      const V bias = pass.bias == nullptr ? hn::Zero(d) : hn::LoadU(d, pass.bias + v * lanes);
      TENURE_UNROLL
      for (int r = 0; r < rows; ++r) {
        T* const at = where.target(r) + v * lanes;
        const V sum = hn::Add(sums[r][v], pass.add ? hn::LoadU(d, at) : bias);
        hn::StoreU(hn::Max(least, sum), d, at);
      }
    }
    return;
  }
  Sums<T, rows, width> done;
  TENURE_UNROLL
  for (int r = 0; r < rows; ++r) {
    TENURE_UNROLL
    for (int v = 0; v < width; ++v) done.set(sums[r][v], r, v);
  }
  const Columns<T, width> columns(pass.columns);
  TENURE_UNROLL
  for (int v = 0; v < width; ++v) {
    const V bias = pass.bias == nullptr ? hn::Zero(d) : columns.load(pass.bias, v);
    for (int r = 0; r < filled; ++r) {
      const V sum = hn::Add(done.get(r, v), pass.add ? columns.load(where.target(r), v) : bias);
      columns.store(hn::Max(least, sum), where.target(r), v);
    }
  }
}

template <class T>
using RowTile = void (*)(const Pass<T>&, const Row<T>&, std::int64_t);
template <class T, int width, int... more>
constexpr std::array<RowTile<T>, sizeof...(more)> row_tiles(std::integer_sequence<int, more...>) {
  return {tile<T, kFewestOfRow + more, width, Row<T>>...};
}
/// By rows less kFewestOfRow; where there are registers for so many.
template <class T, int width>
constexpr auto kRowTiles =
    row_tiles<T, width>(std::make_integer_sequence<int, TileShape<T>::kRows - kFewestOfRow + 1>());

}  // namespace HWY_NAMESPACE
}  // namespace tenure::kernels::conv
HWY_AFTER_NAMESPACE();
#endif
