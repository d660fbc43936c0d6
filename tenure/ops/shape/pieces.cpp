#include <fmt/format.h>

#include <algorithm>

#include "tenure/ops/core/named.h"
#include "tenure/ops/shape_ops.h"

// Several views of one tensor, each by a call of an op of its own.

namespace tenure {

Tensor Tensor::operator[](Subscript i) const { return select(Operand(*this, i.site), 0, i.index); }

namespace {

/// The size of an axis, which says how many pieces there are.
std::int64_t size_of_axis(const Operand& x, int axis, const char* op) {
  const Shape shape = x.is_scalar() ? Shape{} : Shape(x.tensor().body(op, x.site()).shape);
  const std::int64_t size = shape[normalize_axis(axis, shape.size(), op)];
  if (size == kUnknown) {
    throw GraphError(fmt::format("{}: how many pieces an axis has is known only when the graph "
                                 "runs; split() takes the sizes of all pieces",
                                 op),
                     x.site());
  }
  return size;
}

}  // namespace

std::vector<Tensor> chunk(const Operand& x, std::int64_t pieces, int axis) {
  return ops::in_name_of("chunk", x.site(), [&] {
    if (pieces < 1) throw ValueError(fmt::format("chunk: {} pieces; at least 1", pieces));
    const std::int64_t size = size_of_axis(x, axis, "chunk");
    return split(x, std::max<std::int64_t>(size == 0 ? 1 : (size - 1) / pieces + 1, 1), axis);
  });
}

std::vector<Tensor> unbind(const Operand& x, int axis) {
  return ops::in_name_of("unbind", x.site(), [&] {
    const std::int64_t size = size_of_axis(x, axis, "unbind");
    std::vector<Tensor> elements;
    elements.reserve(static_cast<std::size_t>(size));
    for (std::int64_t i = 0; i < size; ++i) {
      elements.push_back(select(Operand(x.tensor(), x.site()), axis, i));
    }
    x.consume();
    return elements;
  });
}

std::vector<Tensor> meshgrid(const OperandList& vectors, const std::string& indexing) {
  return ops::in_name_of("meshgrid", vectors.site(), [&] {
    ops::require_some(vectors, "meshgrid");
    if (indexing != "ij" && indexing != "xy") {
      throw ValueError(
          fmt::format("meshgrid: the order is \"ij\" or \"xy\", not \"{}\"", indexing));
    }
    const std::vector<Operand>& all = vectors.operands();
    const bool exchanges = indexing == "xy" && all.size() > 1;
    Shape shape;
    for (const Operand& vector : all) {
      const Shape own = vector.is_scalar()
                            ? Shape{}
                            : Shape(vector.tensor().body("meshgrid", vector.site()).shape);
      if (own.size() != 1) {
        throw ShapeError("meshgrid", "takes vectors, not " + to_string(own), {own.to_vector()});
      }
      shape.push_back(own[0]);
    }
    if (exchanges) std::swap(shape[0], shape[1]);
    std::vector<Tensor> grids;
    for (std::size_t i = 0; i < all.size(); ++i) {
      const std::size_t axis = exchanges && i < 2 ? 1 - i : i;
      Tensor column = Operand(all[i]).tensor();
      for (std::size_t after = axis + 1; after < all.size(); ++after) {
        column = expand_dims(Operand(column, vectors.site()), -1);
      }
      grids.push_back(broadcast_to(Operand(column, vectors.site()), shape));
    }
    for (const Operand& vector : all) vector.consume();
    return grids;
  });
}

}  // namespace tenure
