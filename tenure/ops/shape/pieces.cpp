#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <string>

#include "tenure/ops/core/define.h"
#include "tenure/ops/core/named.h"
#include "tenure/ops/core/reference.h"
#include "tenure/ops/reduce_ops.h"
#include "tenure/ops/shape/attributes.h"
#include "tenure/ops/shape/gradients.h"
#include "tenure/ops/shape/view_op.h"
#include "tenure/ops/shape_ops.h"
#include "tenure/ops/size_ops.h"

// Several views of one tensor, each by a call of its own: what a record here says is one of them.

namespace tenure::ops {
namespace {

struct Split : ViewOp<Split> {
  static constexpr auto name = "split";
  static constexpr GradientRule gradient = reads_nothing(gradients::split);
  static constexpr auto signature = "split(x, size or sizes, axis = 0)";
  static constexpr auto doc = "pieces along an axis, each from a call of its own";
  static std::optional<ViewSpec> view(const Kernel& k) {
    ViewSpec spec{.shape = k.in[0].shape, .strides = k.in[0].strides};
    const int axis =
        normalize_axis(k.attributes.integer(SplitAttributes::axis), spec.shape.size(), k.op);
    const std::int64_t start = k.attributes.integer(SplitAttributes::start);
    const std::int64_t size = k.attributes.integer(SplitAttributes::size);
    if (start < 0 || size < 0 || start > spec.shape[axis] - size) {
      throw ShapeError(k.op,
                       fmt::format("{} elements from {} on are not all on axis {} of shape {}",
                                   size, start, axis, to_string(spec.shape)),
                       {spec.shape.to_vector()});
    }
    if (size > 0) spec.offset = start * spec.strides[axis];
    spec.shape[axis] = size;
    return spec;
  }
  static Reference expected(const Reference& x, const Kernel& k) {
    const int axis =
        normalize_axis(k.attributes.integer(SplitAttributes::axis), x.shape.size(), name);
    Shape shape = x.shape;
    shape[axis] = k.attributes.integer(SplitAttributes::size);
    return make_reference(shape, [&](Dims index) {
      index[axis] += k.attributes.integer(SplitAttributes::start);
      return at(x, index);
    });
  }
  static std::vector<Sample> samples() {
    const auto sample = [](const Shape& shape, std::int64_t axis, std::int64_t start,
                           std::int64_t size) {
      return Sample{.inputs = {{.shape = shape}}, .attributes = Attributes(axis, start, size)};
    };
    return {sample({7, 3}, 0, 2, 3), sample({4, 6}, -1, 4, 2), sample({5}, 0, 5, 0),
            sample({0, 3}, 0, 0, 0)};
  }
};

struct Select : ViewOp<Select> {
  static constexpr auto name = "select";
  static constexpr GradientRule gradient = reads_nothing(gradients::select);
  static constexpr auto signature = "select(x, axis, index)";
  static constexpr auto doc = "one element along an axis, which disappears";
  static std::optional<ViewSpec> view(const Kernel& k) {
    ViewSpec spec{.shape = k.in[0].shape, .strides = k.in[0].strides};
    const int axis =
        normalize_axis(k.attributes.integer(SelectAttributes::axis), spec.shape.size(), k.op);
    const std::int64_t index = k.attributes.integer(SelectAttributes::index);
    const std::int64_t n = spec.shape[axis];
    if (index < -n || index >= n) {
      throw IndexError(k.op, fmt::format("index {} is outside axis {} of size {}", index, axis, n),
                       index, n);
    }
    spec.offset = (index < 0 ? index + n : index) * spec.strides[axis];
    spec.shape.erase(axis);
    spec.strides.erase(axis);
    return spec;
  }
  static Reference expected(const Reference& x, const Kernel& k) {
    const int axis =
        normalize_axis(k.attributes.integer(SelectAttributes::axis), x.shape.size(), name);
    const std::int64_t index = k.attributes.integer(SelectAttributes::index);
    Shape shape = x.shape;
    shape.erase(axis);
    return make_reference(shape, [&](Dims rest) {
      rest.insert(axis, index < 0 ? index + x.shape[axis] : index);
      return at(x, rest);
    });
  }
  static std::vector<Sample> samples() {
    return {
        {.inputs = {{.shape = {4, 3}}}, .attributes = Attributes(std::int64_t{0}, std::int64_t{2})},
        {.inputs = {{.shape = {4, 3}}},
         .attributes = Attributes(std::int64_t{-1}, std::int64_t{-3})}};
  }
};

struct Chunk : Split {
  static constexpr auto name = "chunk";
  static constexpr auto signature = "chunk(x, pieces, axis = 0)";
  static constexpr auto doc = "so many pieces along an axis, all of one size but for the last";
};

struct Unbind : Select {
  static constexpr auto name = "unbind";
  static constexpr auto signature = "unbind(x, axis = 0)";
  static constexpr auto doc = "all elements along an axis, which disappears";
};

/// The first vector along an axis of its own; the others give the sizes of the other axes, in
/// order.
struct Meshgrid : ViewOp<Meshgrid> {
  static constexpr auto name = "meshgrid";
  static constexpr auto signature = "meshgrid(vectors, indexing = \"ij\")";
  static constexpr auto doc = "vectors repeated along each other's axes, each by a call of its own";

  static Shape grid(std::span<const Shape> vectors, const Attributes& a) {
    Shape shape;
    for (std::size_t i = 1; i < vectors.size(); ++i) shape.push_back(vectors[i][0]);
    shape.insert(static_cast<int>(a.integer(MeshgridAttributes::axis)), vectors[0][0]);
    return shape;
  }
  static std::optional<ViewSpec> view(const Kernel& k) {
    std::vector<Shape> shapes;
    for (const View& vector : k.in) {
      if (vector.shape.size() != 1) {
        throw ShapeError(k.op, "takes vectors, not " + to_string(vector.shape),
                         {vector.shape.to_vector()});
      }
      shapes.push_back(vector.shape);
    }
    if (k.in.size() > static_cast<std::size_t>(kMaxRank)) {
      throw ShapeError(
          k.op, fmt::format("{} vectors; a tensor has at most {} axes", k.in.size(), kMaxRank));
    }
    ViewSpec spec{.shape = grid(shapes, k.attributes)};
    spec.strides = Strides::filled(spec.shape.size(), 0);
    spec.strides[static_cast<int>(k.attributes.integer(MeshgridAttributes::axis))] =
        k.in[0].strides[0];
    return spec;
  }
  static std::vector<Reference> reference(const std::vector<Reference>& in, const Attributes& a) {
    std::vector<Shape> shapes;
    for (const Reference& vector : in) shapes.push_back(vector.shape);
    const auto axis = static_cast<int>(a.integer(MeshgridAttributes::axis));
    return {make_reference(grid(shapes, a), [&](const Dims& index) {
      return in[0].values[static_cast<std::size_t>(index[axis])];
    })};
  }
  static std::vector<Sample> samples() {
    const auto sample = [](std::initializer_list<std::int64_t> sizes, std::int64_t axis) {
      Sample made{.attributes = Attributes(axis)};
      for (const std::int64_t size : sizes) made.inputs.push_back({.shape = {size}});
      return made;
    };
    return {sample({3}, 0),       sample({3, 2}, 0), sample({2, 3, 4}, 1),
            sample({4, 1, 2}, 2), sample({0, 2}, 1), sample({2, 0}, 0)};
  }
  static void run_gradient(Backward& b) {
    if (!b.wants(0)) return;
    const auto axis = b.attributes.integer(MeshgridAttributes::axis);
    Axes others;
    for (int i = 0; i < b.gradients[0].rank(); ++i) {
      if (i != axis) others.push_back(i);
    }
    b.results[0] = others.empty() ? std::move(b.gradients[0]) : sum(b.take_gradient(), others);
  }
  static constexpr GradientRule gradient = reads_nothing(run_gradient);
};

}  // namespace

std::vector<const OpRecord*> piece_ops() {
  return {&record<Split>(), &record<Chunk>(), &record<Select>(), &record<Unbind>(),
          &record<Meshgrid>()};
}

namespace {

Shape shape_of(const Operand& x, const char* op) {
  return x.is_scalar() ? Shape{} : Shape(x.tensor().body(op, x.site()).shape);
}

/// The pieces of an axis, one after the other, each by a call of `op`.
std::vector<Tensor> cut(const OpRecord& op, const Operand& x,
                        const std::vector<std::int64_t>& sizes, std::int64_t axis) {
  std::vector<Tensor> pieces;
  std::int64_t start = 0;
  for (const std::int64_t size : sizes) {
    pieces.push_back(call(op, Operand(x.tensor(), x.site()), Attributes(axis, start, size)));
    start += size;
  }
  x.consume();
  return pieces;
}

/// So many elements in pieces of `size`, and what is left. Of nothing there is one empty piece.
std::vector<std::int64_t> even_sizes(std::int64_t elements, std::int64_t size) {
  std::vector<std::int64_t> sizes(static_cast<std::size_t>(elements / size), size);
  if (elements % size != 0 || elements == 0) sizes.push_back(elements % size);
  return sizes;
}

/// The size of an axis, which says how many pieces there are.
std::int64_t size_of_axis(const Operand& x, int axis, const char* op, const char* remedy) {
  const Shape shape = shape_of(x, op);
  const std::int64_t size = shape[normalize_axis(axis, shape.size(), op)];
  if (size == kUnknown) {
    throw GraphError(
        fmt::format("{}: how many pieces an axis has is known only when the graph runs; {}", op,
                    remedy),
        x.site());
  }
  return size;
}

}  // namespace
}  // namespace tenure::ops

namespace tenure {

using ops::Attributes;
using ops::call;
using ops::record;

Tensor Tensor::operator[](Subscript i) const { return select(Operand(*this, i.site), 0, i.index); }

Tensor select(const Operand& x, int axis, std::int64_t index) {
  return call(record<ops::Select>(), x, Attributes(std::int64_t{axis}, index));
}

std::vector<Tensor> split(const Operand& x, const std::vector<std::int64_t>& sizes, int axis) {
  return ops::in_call("split", x.site(), [&] {
    const Shape shape = ops::shape_of(x, "split");
    const int along = normalize_axis(axis, shape.size(), "split");
    if (shape[along] == kUnknown) {
      const auto later = [sizes, along, site = x.site()](const std::vector<Tensor>& known) {
        return split({known[0], site}, sizes, along);
      };
      const std::int64_t sum = std::accumulate(sizes.begin(), sizes.end(), std::int64_t{0});
      std::vector<Tensor> pieces =
          ops::with_sizes("split", {x.tensor()}, later, x.site(), {.numbers = {sum}});
      x.consume();
      return pieces;
    }
    std::int64_t sum = 0;
    for (const std::int64_t size : sizes) {
      if (size < 0 || size > shape[along] - sum) sum = -1;
      if (sum < 0) break;
      sum += size;
    }
    if (sum != shape[along]) {
      throw ShapeError("split", fmt::format("the sizes do not add up to {}", shape[along]),
                       {shape.to_vector()});
    }
    return ops::cut(record<ops::Split>(), x, sizes, along);
  });
}

std::vector<Tensor> split(const Operand& x, std::int64_t size, int axis) {
  return ops::in_call("split", x.site(), [&] {
    const std::int64_t elements = ops::size_of_axis(
        x, axis, "split", "give the sizes of all pieces, or reshape() it to pieces of equal size");
    if (size < 1) throw ValueError("split: the size of a piece must be at least 1");
    return ops::cut(record<ops::Split>(), x, ops::even_sizes(elements, size), axis);
  });
}

std::vector<Tensor> chunk(const Operand& x, std::int64_t pieces, int axis) {
  return ops::in_call("chunk", x.site(), [&] {
    if (pieces < 1) throw ValueError(fmt::format("chunk: {} pieces; at least 1", pieces));
    const std::int64_t elements =
        ops::size_of_axis(x, axis, "chunk", "split() takes the sizes of all pieces");
    const std::int64_t size = elements == 0 ? 1 : (elements - 1) / pieces + 1;
    return ops::cut(record<ops::Chunk>(), x, ops::even_sizes(elements, size), axis);
  });
}

std::vector<Tensor> unbind(const Operand& x, int axis) {
  return ops::in_call("unbind", x.site(), [&] {
    const std::int64_t size =
        ops::size_of_axis(x, axis, "unbind", "split() takes the sizes of all pieces");
    std::vector<Tensor> elements;
    elements.reserve(static_cast<std::size_t>(size));
    for (std::int64_t i = 0; i < size; ++i) {
      elements.push_back(call(record<ops::Unbind>(), Operand(x.tensor(), x.site()),
                              Attributes(std::int64_t{axis}, i)));
    }
    x.consume();
    return elements;
  });
}

std::vector<Tensor> meshgrid(const OperandList& vectors, const std::string& indexing) {
  return ops::in_call("meshgrid", vectors.site(), [&] {
    ops::require_some(vectors, "meshgrid");
    if (indexing != "ij" && indexing != "xy") {
      throw ValueError(
          fmt::format("meshgrid: the order is \"ij\" or \"xy\", not \"{}\"", indexing));
    }
    const Site site = vectors.site();
    std::vector<Tensor> sizes;  // whose shapes alone count: no tape goes back to them
    for (const Operand& vector : vectors.operands()) {
      if (vector.is_scalar()) throw ShapeError("meshgrid", "takes vectors, not a number");
      sizes.push_back(stop_gradient(Operand(vector.tensor(), site)));
    }
    const bool exchanges = indexing == "xy" && sizes.size() > 1;
    if (exchanges) std::swap(sizes[0], sizes[1]);
    std::vector<Tensor> grids;
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      const std::size_t axis = exchanges && i < 2 ? 1 - i : i;
      std::vector<Operand> operands{Operand(vectors.operands()[i].tensor(), site)};
      for (std::size_t other = 0; other < sizes.size(); ++other) {
        if (other != axis) operands.emplace_back(sizes[other], site);
      }
      grids.push_back(call(record<ops::Meshgrid>(), std::span<const Operand>(operands),
                           Attributes(static_cast<std::int64_t>(axis))));
    }
    for (const Operand& vector : vectors.operands()) vector.consume();
    return grids;
  });
}

}  // namespace tenure
