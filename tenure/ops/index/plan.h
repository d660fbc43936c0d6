#pragma once

#include <optional>
#include <span>
#include <vector>

#include "tenure/ops/index_ops.h"

namespace tenure::ops {

// Note: how an index list is carried out
//
// First a view: every axis of x is cut to start, start + step, ... (a number's axis vanishes), and
// new axes are put in. Then the tensors of indices choose along axes of that view. Their common
// axes come out in front of the others, and a permuted view moves them to their place.

/// The count of an axis that vanishes.
inline constexpr std::int64_t kDropped = -1;

/// What a list of indices selects from a tensor.
struct IndexPlan {
  /// Throws the typed errors of `op` for indices that do not fit a tensor of this shape.
  IndexPlan(const Shape& shape, std::span<const Index> indices, const char* op, Site site);

  // The view: one entry for each axis of x, and where its new axes stand.
  Dims starts;
  Dims counts;
  Dims steps;
  Dims new_axes;
  Shape view_shape;
  bool is_whole = true;  ///< the view is x itself

  /// A mask of the shape of x that is the only index; `tensors` is then empty until
  /// resolve_mask().
  std::optional<Tensor> mask;
  std::vector<Tensor> tensors;
  Axes axes;      ///< of the view, one for each tensor
  int place = 0;  ///< among the other axes of the view, where those of the tensors go

  /// Turns the mask into tensors of indices.
  void resolve_mask(Site site);
  /// The shape that the tensors of indices broadcast to.
  Shape chosen(const char* op) const;
  /// The axes of the view that no tensor of indices chooses along.
  Axes others() const;

 private:
  void add_axis(std::int64_t start, std::int64_t count, std::int64_t step, std::int64_t size);
  void add_mask(const Shape& shape, const Tensor& given, bool alone, const char* op, Site site);
  void choose_nonzero(const Tensor& given, Site site);
};

}  // namespace tenure::ops
