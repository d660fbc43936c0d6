#pragma once

#include <cstddef>
#include <cstdint>

#include "tenure/kernels/cpu/move/cast.h"
#include "tenure/kernels/cpu/move/tile_reader.h"

namespace tenure::kernels {

/// The elements of a view, floats no wider than T, as contiguous pieces of T (float or double), in
/// row-major order of a shape that it broadcasts to. What is not so already is copied to a tile.
template <class T>
class Pieces {
 public:
  static constexpr std::int64_t kTile = 8192 / static_cast<std::int64_t>(sizeof(T));
  struct Tile {
    alignas(64) T elements[kTile];
  };

  Pieces(const View& view, const Shape& shape) : reader_(view, shape), dtype_(view.dtype) {}

  /// Pieces are pointers into the view, of any length; else they have at most kTile elements.
  bool direct() const {
    return dtype_ == dtype_of<T>() && reader_.layout() == TileReader::Layout::contiguous;
  }

  /// Elements [index, index + n).
  const T* read(std::int64_t index, std::int64_t n, Tile& tile) const {
    if (direct()) return static_cast<const T*>(reader_.at(index));
    TileReader reader = reader_;
    reader.seek(index);
    if (dtype_ == dtype_of<T>()) {
      reader.read(tile.elements, static_cast<std::size_t>(n));
      return tile.elements;
    }
    alignas(64) std::byte raw[kTile * sizeof(T)];
    reader.read(raw, static_cast<std::size_t>(n));
    cast_elements(dtype_, raw, dtype_of<T>(), tile.elements, static_cast<std::size_t>(n));
    return tile.elements;
  }

 private:
  TileReader reader_;
  DType dtype_;
};

/// Where pieces of T are written to contiguous elements of T's type or a narrower one.
template <class T>
class PieceWriter {
 public:
  using Tile = typename Pieces<T>::Tile;
  explicit PieceWriter(const View& out) : out_(out) {}

  /// Room for elements [index, index + n); `write` completes them.
  T* room(std::int64_t index, Tile& tile) const { return direct() ? at(index) : tile.elements; }
  void write(std::int64_t index, std::int64_t n, const Tile& tile) const {
    if (direct()) return;
    cast_elements(dtype_of<T>(), tile.elements, out_.dtype,
                  out_.as<std::byte>() + index * static_cast<std::int64_t>(size_of(out_.dtype)),
                  static_cast<std::size_t>(n));
  }
  bool direct() const { return out_.dtype == dtype_of<T>(); }

 private:
  T* at(std::int64_t index) const { return out_.as<T>() + index; }

  const View& out_;
};

}  // namespace tenure::kernels
