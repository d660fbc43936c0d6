#include "tenure/kernels/cpu/move/transpose.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tenure/kernels/cpu/move/transpose.cpp"
#include <hwy/foreach_target.h>

#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cstdint>

HWY_BEFORE_NAMESPACE();
namespace tenure::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Note: transposing by tiles
//
// A tile is as wide and as high as a cache line. Its lines are read once, one after the other, and
// leave as whole lines: lines of a matrix whose rows are a power of two apart compete for the same
// few places in a cache, so none can be counted on to stay there.

template <class Unit>
struct Tile {
  static constexpr std::int64_t kSide = transposed_rows(sizeof(Unit));
  static constexpr std::int64_t kLanes = 16 / sizeof(Unit);
  using Square = hn::FixedTag<Unit, 16 / sizeof(Unit)>;

  HWY_ALIGN Unit elements[kSide * kSide];

  /// Interleaving the first half of the rows with the second moves one bit of an element's row
  /// number to its column number; when all of them have moved, rows and columns are exchanged.
  static HWY_INLINE void transpose_square(const Unit* in, std::int64_t in_column, Unit* out) {
    const Square d;
    hn::Vec<Square> rows[kLanes];
    hn::Vec<Square> next[kLanes];
    for (int i = 0; i < kLanes; ++i) rows[i] = hn::LoadU(d, in + i * in_column);
    for (int moved = 1; moved < kLanes; moved *= 2) {
      for (int i = 0; i < kLanes / 2; ++i) {
        next[2 * i] = hn::InterleaveLower(d, rows[i], rows[i + kLanes / 2]);
        next[2 * i + 1] = hn::InterleaveUpper(d, rows[i], rows[i + kLanes / 2]);
      }
      for (int i = 0; i < kLanes; ++i) rows[i] = next[i];
    }
    for (int i = 0; i < kLanes; ++i) hn::Store(rows[i], d, out + i * kSide);
  }

  HWY_INLINE void read(const Unit* in, std::int64_t in_column) {
    for (std::int64_t column = 0; column < kSide; ++column) {
      hwy::Prefetch(in + kSide + column * in_column);  // the tile below, most likely the next one
    }
    for (std::int64_t column = 0; column < kSide; column += kLanes) {
      for (std::int64_t row = 0; row < kSide; row += kLanes) {
        transpose_square(in + row + column * in_column, in_column, elements + row * kSide + column);
      }
    }
  }

  HWY_INLINE void write(Unit* out, std::int64_t out_row, bool stream) const {
    const hn::CappedTag<Unit, kSide> d;
    const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
    for (std::int64_t row = 0; row < kSide; ++row) {
      for (std::int64_t i = 0; i < kSide; i += lanes) {
        const auto piece = hn::Load(d, elements + row * kSide + i);
        if (stream) {
          hn::Stream(piece, d, out + row * out_row + i);
        } else {
          hn::StoreU(piece, d, out + row * out_row + i);
        }
      }
    }
  }
};

template <class Unit>
void copy_units(const Transposition& t, const Unit* in, Unit* out, std::int64_t begin,
                std::int64_t end) {
  constexpr std::int64_t kSide = Tile<Unit>::kSide;
  const auto address = reinterpret_cast<std::uintptr_t>(out);
  const bool stream = t.stream && address % 64 == 0 && t.out_row % kSide == 0;
  const std::int64_t whole_rows = begin + (end - begin) / kSide * kSide;
  const std::int64_t whole_columns = t.columns / kSide * kSide;
  // Down the rows, where the next lines of `in` follow those just read, but not so far that lines
  // of `out` that are only half written leave the cache.
  constexpr std::int64_t kBand = 32 * kSide;
  Tile<Unit> tile;
  for (std::int64_t band = begin; band < whole_rows; band += kBand) {
    const std::int64_t band_end = std::min(whole_rows, band + kBand);
    for (std::int64_t column = 0; column < whole_columns; column += kSide) {
      for (std::int64_t row = band; row < band_end; row += kSide) {
        tile.read(in + row + column * t.in_column, t.in_column);
        tile.write(out + row * t.out_row + column, t.out_row, stream);
      }
    }
  }
  if (stream) hwy::FlushStream();
  const auto copy_rest = [&](std::int64_t first_row, std::int64_t last_row,
                             std::int64_t first_column) {
    for (std::int64_t row = first_row; row < last_row; ++row) {
      for (std::int64_t column = first_column; column < t.columns; ++column) {
        out[row * t.out_row + column] = in[row + column * t.in_column];
      }
    }
  };
  copy_rest(begin, whole_rows, whole_columns);
  copy_rest(whole_rows, end, 0);
}

void copy_transposed(const Transposition& t, const void* in, void* out, std::int64_t begin,
                     std::int64_t end) {
  const auto copy = [&](auto unit) HWY_ATTR {
    using Unit = decltype(unit);
    copy_units(t, static_cast<const Unit*>(in), static_cast<Unit*>(out), begin, end);
  };
  switch (t.element_size) {
    case 1:
      return copy(std::uint8_t{});
    case 2:
      return copy(std::uint16_t{});
    case 4:
      return copy(std::uint32_t{});
    default:
      return copy(std::uint64_t{});
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace tenure::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenure::kernels {

HWY_EXPORT(copy_transposed);

void copy_transposed(const Transposition& t, const void* in, void* out, std::int64_t begin,
                     std::int64_t end) {
  HWY_DYNAMIC_DISPATCH(copy_transposed)(t, in, out, begin, end);
}

}  // namespace tenure::kernels
#endif
