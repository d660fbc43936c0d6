#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

#include "tenure/kernels/cpu/elementwise/body.h"
#include "tenure/kernels/cpu/move/cast.h"
#include "tenure/kernels/cpu/move/tile_reader.h"

namespace tenure::kernels {

inline constexpr std::size_t kWidest = 8;  // bytes of the largest element

// Left uninitialized: a tile is written before it is read.
struct alignas(64) Tile {
  std::byte bytes[kTile * kWidest];
};

/// One input as the body wants it: piece after piece, in the body's type.
class Source {
 public:
  /// `tile` is where converted or gathered pieces go, `raw` where they wait for conversion.
  Source(const View& view, const Shape& shape, DType wanted, Tile& tile, Tile& raw)
      : reader_(view, shape), from_(view.dtype), to_(wanted), tile_(tile), raw_(raw) {}

  /// Goes to element `index`; pieces are at most `longest` long.
  void begin(std::int64_t index, std::size_t longest) {
    fill(longest);
    seek(index);
  }
  /// For an element that is repeated: makes as many of it as a piece may want.
  void fill(std::size_t longest) {
    if (reader_.layout() != TileReader::Layout::repeated) return;
    cast_elements(from_, reader_.at(0), to_, tile_.bytes, 1);
    repeat_first(longest);
  }
  void seek(std::int64_t index) {
    if (reader_.layout() == TileReader::Layout::strided) reader_.seek(index);
  }

  /// How long a piece may be: one that is not brought into a tile has no limit.
  std::int64_t longest() const {
    if (reader_.layout() == TileReader::Layout::repeated) return sizeof(Tile) / size_of(to_);
    const bool in_tile = reader_.layout() == TileReader::Layout::strided || from_ != to_;
    return in_tile ? std::int64_t{kTile} : std::numeric_limits<std::int64_t>::max();
  }

  /// Where element `index` will be read from memory; nullptr if it will not be, or from many
  /// places.
  const void* after(std::int64_t index) const {
    return reader_.layout() == TileReader::Layout::contiguous ? reader_.at(index) : nullptr;
  }

  const void* piece(std::int64_t index, std::size_t n) {
    if (reader_.layout() == TileReader::Layout::repeated) return tile_.bytes;
    const bool converts = from_ != to_;
    const void* piece = nullptr;
    if (reader_.layout() == TileReader::Layout::contiguous) {
      piece = reader_.at(index);
    } else {
      piece = converts ? raw_.bytes : tile_.bytes;
      reader_.read(converts ? raw_.bytes : tile_.bytes, n);
    }
    if (!converts) return piece;
    cast_elements(from_, piece, to_, tile_.bytes, n);
    return tile_.bytes;
  }

 private:
  void repeat_first(std::size_t n) {
    const View one{.dtype = to_, .data = tile_.bytes};
    TileReader(one, Shape{}).read(tile_.bytes, n);
  }

  TileReader reader_;
  DType from_;
  DType to_;
  Tile& tile_;
  Tile& raw_;
};

}  // namespace tenure::kernels
