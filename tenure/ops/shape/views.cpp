#include <fmt/format.h>

#include <algorithm>

#include "tenure/ops/core/define.h"
#include "tenure/ops/core/reference.h"
#include "tenure/ops/shape/attributes.h"
#include "tenure/ops/shape/gradients.h"
#include "tenure/ops/shape/like.h"
#include "tenure/ops/shape/view_op.h"
#include "tenure/ops/shape_ops.h"

namespace tenure::ops {
namespace {

struct Transpose : ViewOp<Transpose> {
  static constexpr auto name = "transpose";
  static constexpr GradientRule gradient = reads_nothing(gradients::transpose);
  static constexpr auto signature = "transpose(x, a = -2, b = -1)";
  static constexpr auto doc = "two axes exchanged";
  static std::optional<ViewSpec> view(const Kernel& k) {
    const int rank = k.in[0].shape.size();
    const int a = normalize_axis(k.attributes.integer(TransposeAttributes::axis_a), rank, k.op);
    const int b = normalize_axis(k.attributes.integer(TransposeAttributes::axis_b), rank, k.op);
    ViewSpec spec{.shape = k.in[0].shape, .strides = k.in[0].strides};
    std::swap(spec.shape[a], spec.shape[b]);
    std::swap(spec.strides[a], spec.strides[b]);
    return spec;
  }
  static Reference expected(const Reference& x, const Kernel& k) {
    const int rank = x.shape.size();
    const int a = normalize_axis(k.attributes.integer(TransposeAttributes::axis_a), rank, name);
    const int b = normalize_axis(k.attributes.integer(TransposeAttributes::axis_b), rank, name);
    Shape shape = x.shape;
    std::swap(shape[a], shape[b]);
    return make_reference(shape, [&](Dims index) {
      std::swap(index[a], index[b]);
      return at(x, index);
    });
  }
  static std::vector<Sample> samples() {
    return {{.inputs = {{.shape = {3, 4}}},
             .attributes = Attributes(std::int64_t{-2}, std::int64_t{-1})},
            {.inputs = {{.shape = {2, 0, 5}}},
             .attributes = Attributes(std::int64_t{0}, std::int64_t{2})}};
  }
};

struct Permute : ViewOp<Permute> {
  static constexpr auto name = "permute";
  static constexpr GradientRule gradient = reads_nothing(gradients::permute);
  static constexpr auto signature = "permute(x, order)";
  static constexpr auto doc = "the axes in a new order";
  static Axes checked_order(const Axes& order, int rank) {
    if (order.size() != rank) {
      throw ShapeError(name, fmt::format("order {} does not have one entry for each of {} axes",
                                         to_string(order), rank));
    }
    normalize_axes(order, rank, name);  // rejects an axis named twice
    Axes result;
    for (int i = 0; i < rank; ++i) result.push_back(normalize_axis(order[i], rank, name));
    return result;
  }
  static std::optional<ViewSpec> view(const Kernel& k) {
    const Axes order =
        checked_order(k.attributes.dims(PermuteAttributes::order), k.in[0].shape.size());
    ViewSpec spec;
    for (const std::int64_t axis : order) {
      spec.shape.push_back(k.in[0].shape[static_cast<int>(axis)]);
      spec.strides.push_back(k.in[0].strides[static_cast<int>(axis)]);
    }
    return spec;
  }
  static Reference expected(const Reference& x, const Kernel& k) {
    const Axes order = checked_order(k.attributes.dims(PermuteAttributes::order), x.shape.size());
    Shape shape;
    for (const std::int64_t axis : order) shape.push_back(x.shape[static_cast<int>(axis)]);
    return make_reference(shape, [&](const Dims& index) {
      Dims source = x.shape;
      for (int i = 0; i < order.size(); ++i) source[static_cast<int>(order[i])] = index[i];
      return at(x, source);
    });
  }
  static std::vector<Sample> samples() {
    return {{.inputs = {{.shape = {2, 3, 4}}}, .attributes = Attributes(Dims{2, 0, 1})},
            {.inputs = {{.shape = {}}}, .attributes = Attributes(Dims{})}};
  }
};

struct MoveAxis : ViewOp<MoveAxis> {
  static constexpr auto name = "moveaxis";
  static constexpr GradientRule gradient = reads_nothing(gradients::moveaxis);
  static constexpr auto signature = "moveaxis(x, source, destination)";
  static constexpr auto doc = "one axis elsewhere, the others in their order";
  static std::optional<ViewSpec> view(const Kernel& k) {
    const int rank = k.in[0].shape.size();
    const int from = normalize_axis(k.attributes.integer(MoveAxisAttributes::source), rank, k.op);
    const int to =
        normalize_axis(k.attributes.integer(MoveAxisAttributes::destination), rank, k.op);
    ViewSpec spec{.shape = k.in[0].shape, .strides = k.in[0].strides};
    spec.shape.erase(from);
    spec.strides.erase(from);
    spec.shape.insert(to, k.in[0].shape[from]);
    spec.strides.insert(to, k.in[0].strides[from]);
    return spec;
  }
  static Reference expected(const Reference& x, const Kernel& k) {
    const int rank = x.shape.size();
    const int from = normalize_axis(k.attributes.integer(MoveAxisAttributes::source), rank, name);
    const int to =
        normalize_axis(k.attributes.integer(MoveAxisAttributes::destination), rank, name);
    return make_reference(view(k)->shape, [&](Dims index) {
      const std::int64_t i = index[to];
      index.erase(to);
      index.insert(from, i);
      return at(x, index);
    });
  }
  static std::vector<Sample> samples() {
    const auto sample = [](const Shape& shape, std::int64_t from, std::int64_t to) {
      return Sample{.inputs = {{.shape = shape}}, .attributes = Attributes(from, to)};
    };
    return {sample({2, 3, 4}, 0, -1), sample({2, 3, 4, 5}, 3, 1), sample({5}, 0, 0)};
  }
};

struct Squeeze : ViewOp<Squeeze> {
  static constexpr auto name = "squeeze";
  static constexpr GradientRule gradient = reads_nothing(gradients::reshape);
  static constexpr auto signature = "squeeze(x, axes = all)";
  static constexpr auto doc = "without dimensions of size 1";
  static std::optional<ViewSpec> view(const Kernel& k) {
    const Shape& shape = k.in[0].shape;
    const Axes& given = k.attributes.dims(SqueezeAttributes::axes);
    const Axes axes = normalize_axes(given, shape.size(), name);
    ViewSpec spec;
    for (int i = 0; i < shape.size(); ++i) {
      const bool named = std::find(axes.begin(), axes.end(), i) != axes.end();
      if (named && shape[i] == 1) continue;
      if (named && !given.empty()) {
        throw ShapeError(
            name, fmt::format("axis {} of shape {} does not have size 1", i, to_string(shape)),
            {shape.to_vector()});
      }
      spec.shape.push_back(shape[i]);
      spec.strides.push_back(k.in[0].strides[i]);
    }
    return spec;
  }
  static Reference expected(const Reference& x, const Kernel& k) {
    return {.shape = view(k)->shape, .values = x.values};
  }
  static std::vector<Sample> samples() {
    return {{.inputs = {{.shape = {1, 3, 1}}}, .attributes = Attributes(Dims{})},
            {.inputs = {{.shape = {1, 3, 1}}}, .attributes = Attributes(Dims{-1})}};
  }
};

struct ExpandDims : ViewOp<ExpandDims> {
  static constexpr auto name = "expand_dims";
  static constexpr GradientRule gradient = reads_nothing(gradients::reshape);
  static constexpr auto signature = "expand_dims(x, axis)";
  static constexpr auto doc = "with a new dimension of size 1";
  static std::optional<ViewSpec> view(const Kernel& k) {
    ViewSpec spec{.shape = k.in[0].shape, .strides = k.in[0].strides};
    const int axis = normalize_axis(k.attributes.integer(ExpandDimsAttributes::axis),
                                    spec.shape.size() + 1, name);
    spec.shape.insert(axis, 1);
    spec.strides.insert(axis, 1);
    return spec;
  }
  static Reference expected(const Reference& x, const Kernel& k) {
    return {.shape = view(k)->shape, .values = x.values};
  }
  static std::vector<Sample> samples() {
    return {{.inputs = {{.shape = {2, 3}}}, .attributes = Attributes(std::int64_t{1})},
            {.inputs = {{.shape = {}}}, .attributes = Attributes(std::int64_t{-1})}};
  }
};

struct BroadcastTo : ViewOp<BroadcastTo> {
  static constexpr auto name = "broadcast_to";
  static constexpr GradientRule gradient = reads_nothing(gradients::broadcast);
  static constexpr auto signature = "broadcast_to(x, shape)";
  static constexpr auto doc = "repeated along new dimensions and those of size 1";
  static std::optional<ViewSpec> view(const Kernel& k) {
    const Shape& from = k.in[0].shape;
    const Shape& to = k.attributes.dims(BroadcastToAttributes::shape);
    check_shape(to, 8, k.op);
    if (broadcast(from, to, k.op) != to) {
      throw ShapeError(
          k.op, fmt::format("shape {} does not broadcast to {}", to_string(from), to_string(to)),
          {from.to_vector(), to.to_vector()});
    }
    return ViewSpec{.shape = to, .strides = broadcast_strides(from, k.in[0].strides, to)};
  }
  static Reference expected(const Reference& x, const Kernel& k) {
    const Shape& to = k.attributes.dims(BroadcastToAttributes::shape);
    const int lead = to.size() - x.shape.size();
    return make_reference(to, [&](const Dims& index) {
      Dims source = x.shape;
      for (int i = 0; i < x.shape.size(); ++i) source[i] = x.shape[i] == 1 ? 0 : index[lead + i];
      return at(x, source);
    });
  }
  static std::vector<Sample> samples() {
    return {{.inputs = {{.shape = {3, 1}}}, .attributes = Attributes(Dims{2, 3, 4})},
            {.inputs = {{.shape = {}}}, .attributes = Attributes(Dims{0, 2})}};
  }
};

struct BroadcastLike : ViewOp<BroadcastLike> {
  static constexpr auto name = "broadcast_like";
  static constexpr GradientRule gradient = reads_nothing(gradients::broadcast);
  static constexpr auto signature = "broadcast_like(x, like)";
  static constexpr auto doc = "repeated to the shape of another tensor";
  static std::optional<ViewSpec> view(const Kernel& k) {
    return BroadcastTo::view({.op = k.op, .in = k.in.first(1), .attributes = shape_of(k.in[1])});
  }
  static std::vector<Reference> reference(const std::vector<Reference>& in, const Attributes&) {
    return BroadcastTo::reference({in[0]}, Attributes(in[1].shape));
  }
  static Attributes shape_of(const View& like) { return Attributes(like.shape); }
  static std::vector<Sample> samples() {
    return {{.inputs = {{.shape = {3, 1}}, {.shape = {2, 3, 4}}}},
            {.inputs = {{.shape = {}}, {.shape = {0, 2}}}},
            {.inputs = {{.shape = {5}}, {.shape = {5}}}}};
  }
};

struct StopGradient : ViewOp<StopGradient> {
  static constexpr auto name = "stop_gradient";
  static constexpr GradientRule gradient = kZeroGradient;
  static constexpr auto signature = "stop_gradient(x)";
  static constexpr auto doc = "x itself; no gradient goes back through it";
  static std::optional<ViewSpec> view(const Kernel& k) {
    return ViewSpec{.shape = k.in[0].shape, .strides = k.in[0].strides};
  }
  static bool is_identity(const Kernel&) { return true; }
  static Reference expected(const Reference& x, const Kernel&) { return x; }
  static std::vector<Sample> samples() {
    return {{.inputs = {{.shape = {3, 4}}}}, {.inputs = {{.shape = {}}}}};
  }
};

}  // namespace

std::vector<const OpRecord*> view_ops() {
  return {&record<Transpose>(),     &record<Permute>(),     &record<MoveAxis>(),
          &record<Squeeze>(),       &record<ExpandDims>(),  &record<BroadcastTo>(),
          &record<BroadcastLike>(), &record<StopGradient>()};
}

}  // namespace tenure::ops

namespace tenure {

using ops::Attributes;
using ops::call;
using ops::record;

Tensor transpose(const Operand& x, int a, int b) {
  return call(record<ops::Transpose>(), x, Attributes(std::int64_t{a}, std::int64_t{b}));
}
Tensor permute(const Operand& x, const Axes& order) {
  return call(record<ops::Permute>(), x, Attributes(order));
}
Tensor moveaxis(const Operand& x, int source, int destination) {
  return call(record<ops::MoveAxis>(), x,
              Attributes(std::int64_t{source}, std::int64_t{destination}));
}
Tensor squeeze(const Operand& x, const AxisList& axes) {
  return call(record<ops::Squeeze>(), x, Attributes(axes.get()));
}
Tensor expand_dims(const Operand& x, int axis) {
  return call(record<ops::ExpandDims>(), x, Attributes(std::int64_t{axis}));
}
Tensor broadcast_to(const Operand& x, const Shape& shape) {
  return call(record<ops::BroadcastTo>(), x, Attributes(shape));
}
Tensor broadcast_like(const Operand& x, const Operand& like) {
  return ops::call_like(record<ops::BroadcastLike>(), x, like);
}
Tensor stop_gradient(const Operand& x) { return call(record<ops::StopGradient>(), x); }

}  // namespace tenure
