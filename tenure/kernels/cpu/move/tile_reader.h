#pragma once

#include <cstddef>
#include <cstdint>

#include "tenure/kernels/view.h"

namespace tenure::kernels {

/// Walks the elements of a strided view in row-major order of `shape`, to which it broadcasts, and
/// hands them out in contiguous pieces.
class TileReader {
 public:
  enum class Layout { contiguous, repeated, strided };

  /// `view.shape` must broadcast to `shape`.
  TileReader(const View& view, const Shape& shape);

  /// contiguous: a piece is a pointer into the view. repeated: one element, everywhere.
  Layout layout() const { return layout_; }
  /// Where element `index` lies, for a contiguous view.
  const void* at(std::int64_t index) const {
    return data_ + index * static_cast<std::int64_t>(element_size_);
  }

  /// Goes to element `index`.
  void seek(std::int64_t index);
  /// Copies the next n elements to `tile` and goes past them.
  void read(void* tile, std::size_t n);

 private:
  template <class Unit>
  void read_units(Unit* tile, std::size_t n);

  const std::byte* data_;
  std::size_t element_size_;
  Shape shape_;      // neighbouring dimensions merged where the strides allow
  Strides strides_;  // in elements
  Layout layout_;
  Dims position_;
  std::int64_t offset_ = 0;
};

}  // namespace tenure::kernels
