#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tenure/ops/core/operand.h"

// Views are in shape/views.cpp and shape/slices.cpp, several at once in shape/pieces.cpp; reshape,
// cast and copies in shape/copies.cpp; concat and stack in shape/joins.cpp; what is written in
// others (diag to pixel_unshuffle) in shape/composites.cpp.

namespace tenure {

/// The same elements in another shape; one dimension may be -1. A view where the layout allows.
Tensor reshape(const Operand& x, const Shape& shape);
/// The same elements in the shape of `like`, of which nothing else counts. A view where the layout
/// allows.
Tensor reshape_like(const Operand& x, const Operand& like);
/// One dimension less for each in [first, last], which merge. A view where the layout allows.
Tensor flatten(const Operand& x, int first = 0, int last = -1);
/// The two axes exchanged; a view.
Tensor transpose(const Operand& x, int a = -2, int b = -1);
/// The axes in a new order; a view.
Tensor permute(const Operand& x, const Axes& order);
/// The axis `source` at place `destination` of the result, the others in their order; a view.
Tensor moveaxis(const Operand& x, int source, int destination);
/// Without dimensions of size 1: those given, or all; a view.
Tensor squeeze(const Operand& x, const AxisList& axes = {});
/// With a new dimension of size 1 at `axis` of the result; a view.
Tensor expand_dims(const Operand& x, int axis);
/// Repeated along new dimensions and those of size 1; a view.
Tensor broadcast_to(const Operand& x, const Shape& shape);
/// Repeated to the shape of `like`, of which nothing else counts; a view.
Tensor broadcast_like(const Operand& x, const Operand& like);
/// x itself, but no gradient goes back through it; a view.
Tensor stop_gradient(const Operand& x);
/// Elements start, start + step, ... before stop along an axis; negative positions count from the
/// end, and NumPy's clamping rules hold; a view.
Tensor slice(const Operand& x, int axis, std::optional<std::int64_t> start,
             std::optional<std::int64_t> stop = std::nullopt, std::int64_t step = 1);
/// Element `index` along an axis, which disappears; a view.
Tensor select(const Operand& x, int axis, std::int64_t index);
/// The elements whose index along axis b is that along axis a and k more, along a new last axis; a
/// view.
Tensor diagonal(const Operand& x, int a = -2, int b = -1, std::int64_t k = 0);
/// Windows of `size` elements along an axis, one every `step` elements, as a new last axis; a view
/// whose elements may be there several times.
Tensor unfold(const Operand& x, int axis, std::int64_t size, std::int64_t step = 1);
/// Reversed along axes (all if none are given); a view.
Tensor flip(const Operand& x, const AxisList& axes = {});
/// Pieces along an axis, each `size` long but for the last; views. Of an axis of size 0 one piece.
std::vector<Tensor> split(const Operand& x, std::int64_t size, int axis = 0);
/// Pieces of the given sizes, which add up to the axis; views.
std::vector<Tensor> split(const Operand& x, const std::vector<std::int64_t>& sizes, int axis = 0);

/// `pieces` pieces along an axis, as torch cuts: all of one size but for the last, which may be
/// shorter or, with those before it, missing; views.
std::vector<Tensor> chunk(const Operand& x, std::int64_t pieces, int axis = 0);
/// The elements along an axis, which disappears; views. `for (const Tensor& row : unbind(x))`.
std::vector<Tensor> unbind(const Operand& x, int axis = 0);
/// Vectors repeated along each other's axes, one axis each: all of one shape; views. In the order
/// "xy" the first two axes are exchanged, as pictures have them.
std::vector<Tensor> meshgrid(const OperandList& vectors, const std::string& indexing = "ij");

/// Of a vector a matrix with it on the k-th diagonal and zeros elsewhere; of a matrix its k-th
/// diagonal. A tensor of its own.
Tensor diag(const Operand& x, std::int64_t k = 0);
/// Differences of neighbours along an axis, n times.
Tensor diff(const Operand& x, std::int64_t n = 1, int axis = -1);
/// Images [batch, channels r^2, height, width] as [batch, channels, height r, width r].
Tensor pixel_shuffle(const Operand& x, std::int64_t factor);
/// The reverse of pixel_shuffle.
Tensor pixel_unshuffle(const Operand& x, std::int64_t factor);

/// A tensor of its own with the same elements, contiguous.
Tensor clone(const Operand& x);
/// The same on a device, also from another one. In a graph or a traced function, which run on one
/// device, to that alone. Throws ValueError for an absent device.
Tensor copy_to(const Operand& x, Device device);
/// x itself, sharing the storage, if it is contiguous; else a contiguous copy.
Tensor contiguous(const Operand& x);
/// The elements converted to another type; docs/promotion.md says how.
Tensor cast(const Operand& x, DType dtype);

/// Tensors one after the other along an existing axis.
Tensor concat(const OperandList& tensors, int axis = 0);
/// Tensors of one shape one after the other along a new axis.
Tensor stack(const OperandList& tensors, int axis = 0);

}  // namespace tenure
