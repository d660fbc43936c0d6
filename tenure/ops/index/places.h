#pragma once

#include <array>
#include <cstddef>
#include <span>

#include "tenure/ops/core/record.h"

// Which places of a tensor the attributes and the tensors of indices of a call stand for.

namespace tenure::ops {

/// The part of a tensor that the attributes starts, counts and steps describe. Throws IndexError
/// and ShapeError.
ViewSpec region(const Shape& shape, const Strides& strides, const Attributes& attributes);

/// A view with the chosen axes in front.
View axes_first(const View& x, const Axes& axes);

/// What index_update and index_add write to: the region of `x`, with the axes in front that tensors
/// choose along.
View part_of(const View& x, const Attributes& attributes);

/// Tensors of indices in their common shape.
class IndexViews {
 public:
  /// Throws, in the name of `op`, unless they are integers and broadcast.
  IndexViews(std::span<const View> indices, const char* op);
  std::span<const View> views() const { return {views_.data(), size_}; }
  /// The shape of what they choose from a view whose first axes are theirs.
  Shape chosen_from(const Shape& shape) const {
    Shape result = shape_;
    for (int i = static_cast<int>(size_); i < shape.size(); ++i) result.push_back(shape[i]);
    return result;
  }

 private:
  std::array<View, kMaxRank> views_;
  std::size_t size_;
  Shape shape_;
};

}  // namespace tenure::ops
