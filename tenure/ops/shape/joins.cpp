#include <fmt/format.h>

#include <algorithm>

#include "tenure/ops/core/define.h"
#include "tenure/ops/core/named.h"
#include "tenure/ops/core/reference.h"
#include "tenure/ops/shape/attributes.h"
#include "tenure/ops/shape/gradients.h"
#include "tenure/ops/shape_ops.h"

namespace tenure::ops {
namespace {

struct JoiningOp {
  static constexpr auto family = "copies";
  static constexpr auto memory = allocates();
  static constexpr auto types = kAllTypes;
};

DType joined_type(std::span<const View> in) {
  DType dtype = in[0].dtype;
  for (const View& view : in) dtype = promote(dtype, view.dtype);
  return dtype;
}

/// The shape of tensors one after the other; they agree in all other dimensions.
Shape concat_shape(std::span<const View> in, int axis, const char* op) {
  Shape shape = in[0].shape;
  shape[axis] = 0;
  for (const View& view : in) {
    Shape other = view.shape;
    if (other.size() == shape.size()) other[axis] = shape[axis];
    if (other != shape) {
      throw ShapeError(op,
                       fmt::format("shapes {} and {} differ outside axis {}",
                                   to_string(in[0].shape), to_string(view.shape), axis),
                       {in[0].shape.to_vector(), view.shape.to_vector()});
    }
    if (__builtin_add_overflow(shape[axis], view.shape[axis], &shape[axis])) {
      throw ShapeError(op, "the sizes along the axis overflow");
    }
  }
  return shape;
}

struct Concat : JoiningOp {
  static constexpr auto name = "concat";
  static constexpr GradientRule gradient = reads_nothing(gradients::concat);
  static constexpr auto signature = "concat(tensors, axis = 0)";
  static constexpr auto doc = "tensors one after the other along an existing axis";
  static Specs infer(const Kernel& k) {
    if (k.in.empty()) throw ValueError("concat: no tensors");
    const int axis =
        normalize_axis(k.attributes.integer(JoinAttributes::axis), k.in[0].shape.size(), name);
    return {{joined_type(k.in), concat_shape(k.in, axis, name)}};
  }
  static std::vector<Reference> reference(const std::vector<Reference>& in, const Attributes& a) {
    const int axis = normalize_axis(a.integer(JoinAttributes::axis), in[0].shape.size(), name);
    Shape shape = in[0].shape;
    shape[axis] = 0;
    for (const Reference& r : in) shape[axis] += r.shape[axis];
    return {make_reference(shape, [&](Dims index) {
      std::size_t i = 0;
      while (index[axis] >= in[i].shape[axis]) index[axis] -= in[i++].shape[axis];
      return at(in[i], index);
    })};
  }
  static std::vector<Sample> samples() {
    return {{.inputs = {{.shape = {2, 3}}, {.shape = {4, 3}}},
             .attributes = Attributes(std::int64_t{0})},
            {.inputs = {{.shape = {2, 3}}, {.shape = {2, 0}}, {.shape = {2, 5}}},
             .attributes = Attributes(std::int64_t{-1})}};
  }
};

struct Stack : JoiningOp {
  static constexpr auto name = "stack";
  static constexpr GradientRule gradient = reads_nothing(gradients::stack);
  static constexpr auto signature = "stack(tensors, axis = 0)";
  static constexpr auto doc = "tensors of one shape one after the other along a new axis";
  static Specs infer(const Kernel& k) {
    if (k.in.empty()) throw ValueError("stack: no tensors");
    Shape shape = k.in[0].shape;
    for (const View& view : k.in) {
      if (view.shape == shape) continue;
      throw ShapeError(
          name, fmt::format("shapes {} and {} differ", to_string(shape), to_string(view.shape)),
          {shape.to_vector(), view.shape.to_vector()});
    }
    shape.insert(normalize_axis(k.attributes.integer(JoinAttributes::axis), shape.size() + 1, name),
                 static_cast<std::int64_t>(k.in.size()));
    return {{joined_type(k.in), shape}};
  }
  static std::vector<Reference> reference(const std::vector<Reference>& in, const Attributes& a) {
    Shape shape = in[0].shape;
    const int axis = normalize_axis(a.integer(JoinAttributes::axis), shape.size() + 1, name);
    shape.insert(axis, static_cast<std::int64_t>(in.size()));
    return {make_reference(shape, [&](Dims index) {
      const auto i = static_cast<std::size_t>(index[axis]);
      index.erase(axis);
      return at(in[i], index);
    })};
  }
  static std::vector<Sample> samples() {
    const auto sample = [](const Shape& shape, std::size_t n, std::int64_t axis) {
      return Sample{.inputs = std::vector<Sample::Input>(n, {.shape = shape}),
                    .attributes = Attributes(axis)};
    };
    return {sample({2, 30}, 3, 0), sample({4, 5}, 2, -1), sample({2, 3, 4}, 5, 1),
            sample({}, 3, 0),      sample({0, 2}, 2, 1),  sample({7}, 1, 1)};
  }
};

}  // namespace

std::vector<const OpRecord*> joining_ops() { return {&record<Concat>(), &record<Stack>()}; }

}  // namespace tenure::ops

namespace tenure {

using ops::Attributes;
using ops::call;
using ops::record;

Tensor concat(const OperandList& tensors, int axis) {
  ops::require_some(tensors, "concat");
  return call(record<ops::Concat>(), tensors.operands(), Attributes(std::int64_t{axis}));
}

Tensor stack(const OperandList& tensors, int axis) {
  ops::require_some(tensors, "stack");
  ops::in_call("stack", tensors.operands()[0].site(), [&] {
    for (const Operand& operand : tensors.operands()) {
      if (!operand.is_scalar()) continue;
      throw ValueError("stack: numbers have no axis to stack along; use tensor({...})");
    }
  });
  return call(record<ops::Stack>(), tensors.operands(), Attributes(std::int64_t{axis}));
}

}  // namespace tenure
