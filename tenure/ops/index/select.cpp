#include <fmt/format.h>

#include <algorithm>

#include "tenure/ops/core/define.h"
#include "tenure/ops/core/named.h"
#include "tenure/ops/core/reference.h"
#include "tenure/ops/index/attributes.h"
#include "tenure/ops/index/gradients.h"
#include "tenure/ops/index/operands.h"
#include "tenure/ops/index_ops.h"
#include "tenure/ops/shape_ops.h"
#include "tenure/tensor/sizes.h"

namespace tenure::ops {
namespace {

struct SelectionOp {
  static constexpr auto family = "indexing";
  static constexpr auto types = kAllTypes;
};

/// Input 1 are indices along the axis that the first attribute names.
struct AlongAxisOp : SelectionOp {
  static std::vector<IndexBound> index_bounds(const Kernel& k) {
    const Shape& shape = k.in[0].shape;
    return {index_of_axis(1, shape[normalize_axis(k.attributes.integer(AlongAxisAttributes::axis),
                                                  shape.size(), k.op)])};
  }
};

Sample::Input indices(const Shape& shape, std::vector<double> values, DType dtype = DType::int64) {
  return {.shape = shape, .dtype = dtype, .values = std::move(values)};
}

/// The index that stands in `indices` at a place, counted from the beginning of an axis of size n.
std::int64_t index_at(const Reference& indices, const Dims& place, std::int64_t n) {
  const auto index = static_cast<std::int64_t>(at(indices, place));
  return index < 0 ? index + n : index;
}

struct Take : AlongAxisOp {
  static constexpr auto name = "take";
  static constexpr GradientRule gradient{.needs = {{input_data(1)}}, .run = gradients::take};
  static constexpr auto signature = "take(x, indices, axis = 0)";
  static constexpr auto doc = "the elements at indices along an axis";
  static constexpr auto memory = allocates();
  static Shape taken(const Shape& x, int axis, const Shape& indices) {
    Shape shape = x;
    shape.erase(axis);
    for (int i = 0; i < indices.size(); ++i) shape.insert(axis + i, indices[i]);
    return shape;
  }
  static Specs infer(const Kernel& k) {
    const int axis =
        normalize_axis(k.attributes.integer(AlongAxisAttributes::axis), k.in[0].shape.size(), k.op);
    check_index_type(k.in[1], k.op);
    return {{k.in[0].dtype, taken(k.in[0].shape, axis, k.in[1].shape)}};
  }
  static std::vector<Reference> reference(const std::vector<Reference>& in, const Attributes& a) {
    const int axis = normalize_axis(a.integer(AlongAxisAttributes::axis), in[0].shape.size(), name);
    const int rank = in[1].shape.size();
    return {make_reference(taken(in[0].shape, axis, in[1].shape), [&](Dims place) {
      Dims chosen;
      for (int i = 0; i < rank; ++i) {
        chosen.push_back(place[axis]);
        place.erase(axis);
      }
      place.insert(axis, index_at(in[1], chosen, in[0].shape[axis]));
      return at(in[0], place);
    })};
  }
  static std::vector<Sample> samples() {
    const auto sample = [](const Shape& shape, const Sample::Input& indices, std::int64_t axis) {
      return Sample{.inputs = {{.shape = shape}, indices}, .attributes = Attributes(axis)};
    };
    return {sample({4, 35}, indices({3}, {2, -1, 0}), 0),
            sample({2, 5, 3}, indices({2, 2}, {4, 0, -5, 1}, DType::int32), -2),
            sample({6}, indices({}, {-2}), 0), sample({3, 4}, indices({0}, {}), 1),
            sample({0, 4}, indices({2}, {1, 3}), 1)};
  }
};

/// Throws ShapeError unless `inner` has the rank of `outer` and is nowhere longer, but along
/// `except`.
void check_within(const Shape& inner, const Shape& outer, int except, const char* op) {
  bool fits = inner.size() == outer.size();
  for (int i = 0; fits && i < inner.size(); ++i) fits = i == except || inner[i] <= outer[i];
  if (!fits) {
    throw ShapeError(
        op,
        fmt::format("indices of shape {} do not fit shape {}", to_string(inner), to_string(outer)),
        {inner.to_vector(), outer.to_vector()});
  }
}

struct Gather : AlongAxisOp {
  static constexpr auto name = "gather";
  static constexpr GradientRule gradient{.needs = {{input_data(1)}}, .run = gradients::gather};
  static constexpr auto signature = "gather(x, axis, indices)";
  static constexpr auto doc = "for each index the element at that place along an axis";
  static constexpr auto memory = allocates();
  static Specs infer(const Kernel& k) {
    const int axis =
        normalize_axis(k.attributes.integer(AlongAxisAttributes::axis), k.in[0].shape.size(), name);
    check_index_type(k.in[1], name);
    check_within(k.in[1].shape, k.in[0].shape, axis, name);
    return {{k.in[0].dtype, k.in[1].shape}};
  }
  static std::vector<Reference> reference(const std::vector<Reference>& in, const Attributes& a) {
    const int axis = normalize_axis(a.integer(AlongAxisAttributes::axis), in[0].shape.size(), name);
    return {make_reference(in[1].shape, [&](Dims place) {
      place[axis] = index_at(in[1], place, in[0].shape[axis]);
      return at(in[0], place);
    })};
  }
  static std::vector<Sample> samples() {
    const auto sample = [](const Shape& shape, const Sample::Input& indices, std::int64_t axis) {
      return Sample{.inputs = {{.shape = shape}, indices}, .attributes = Attributes(axis)};
    };
    return {sample({3, 4}, indices({2, 5}, {0, -1, 2, 2, 1, 3, 3, -4, 0, 1}), 1),
            sample({3, 4}, indices({4, 2}, {2, 0, -1, -3, 1, 1, 0, 2}, DType::int32), 0),
            sample({5}, indices({0}, {}), 0)};
  }
};

struct Scatter : AlongAxisOp {
  static constexpr auto name = "scatter";
  static constexpr GradientRule gradient{
      .needs = {{input_data(0, 1, 2) | output_data(0), {}, input_data(0, 1, 2) | output_data(0)}},
      .run = gradients::scatter};
  static constexpr auto signature = "scatter(x, axis, indices, updates, mode = assign)";
  static constexpr auto doc =
      "x with updates put at indices along an axis, or added, multiplied, or kept if larger or "
      "smaller";
  static constexpr auto memory = reuses(1);
  static constexpr auto ulp = 2.0;  // sums and products of a few numbers
  static Specs infer(const Kernel& k) {
    const int axis =
        normalize_axis(k.attributes.integer(ScatterAttributes::axis), k.in[0].shape.size(), name);
    check_index_type(k.in[1], name);
    check_same_type(k.in[0], k.in[2], name);
    check_within(k.in[1].shape, k.in[0].shape, axis, name);
    check_within(k.in[1].shape, k.in[2].shape, -1, name);
    return {{k.in[0].dtype, k.in[0].shape}};
  }
  static std::vector<Reference> reference(const std::vector<Reference>& in, const Attributes& a) {
    const int axis = normalize_axis(a.integer(ScatterAttributes::axis), in[0].shape.size(), name);
    Reference out = in[0];
    for_each_index(in[1].shape, [&](const Dims& place) {
      Dims target = place;
      target[axis] = index_at(in[1], place, out.shape[axis]);
      long double& element = out.values[flat(out.shape, target)];
      const long double update = at(in[2], place);
      switch (static_cast<ScatterMode>(a.integer(ScatterAttributes::mode))) {
        case ScatterMode::assign:
          element = update;
          break;
        case ScatterMode::add:
          element += update;
          break;
        case ScatterMode::multiply:
          element *= update;
          break;
        case ScatterMode::maximum:
          element = std::max(element, update);
          break;
        case ScatterMode::minimum:
          element = std::min(element, update);
          break;
      }
    });
    return {out};
  }
  static std::vector<Sample> samples() {
    const auto sample = [](const Shape& x, const Sample::Input& indices, const Shape& updates,
                           std::int64_t axis, ScatterMode mode) {
      // Positive, so that sums do not cancel.
      return Sample{.inputs = {{.shape = x, .low = 1}, indices, {.shape = updates, .low = 1}},
                    .attributes = Attributes(axis, static_cast<std::int64_t>(mode))};
    };
    const Sample::Input some = indices({2, 3}, {0, 3, -1, 2, 2, 0});
    return {sample({4, 40}, indices({1, 40}, std::vector<double>(40, -2)), {1, 40}, 0,
                   ScatterMode::assign),
            sample({3, 4}, some, {2, 3}, 1, ScatterMode::assign),
            sample({3, 4}, some, {3, 3}, -1, ScatterMode::add),
            sample({3, 4}, some, {2, 4}, 1, ScatterMode::multiply),
            sample({3, 4}, some, {2, 3}, 1, ScatterMode::maximum),
            sample({3, 4}, some, {2, 3}, 1, ScatterMode::minimum),
            sample({5}, indices({0}, {}), {0}, 0, ScatterMode::add)};
  }
};

struct MaskSelect : SelectionOp {
  static constexpr auto name = "mask_select";
  static constexpr GradientRule gradient{.needs = {{input_data(1)}}, .run = gradients::mask_select};
  static constexpr auto signature = "mask_select(x, mask)";
  static constexpr auto doc = "the elements where a mask holds, in row-major order";
  static constexpr auto memory = allocates();
  static constexpr bool data_dependent = true;
  static Specs infer(const Kernel& k) {
    if (k.in[1].dtype != DType::boolean) {
      throw DTypeError(k.op, fmt::format("the mask is {}, not bool", name_of(k.in[1].dtype)));
    }
    if (k.in[1].shape != k.in[0].shape) {
      throw ShapeError(k.op,
                       fmt::format("a mask of shape {} does not fit shape {}",
                                   to_string(k.in[1].shape), to_string(k.in[0].shape)),
                       {k.in[1].shape.to_vector(), k.in[0].shape.to_vector()});
    }
    return {{k.in[0].dtype, {kUnknown}}};
  }
  static std::vector<Reference> reference(const std::vector<Reference>& in, const Attributes&) {
    Reference out{.shape = {0}};
    for (std::size_t i = 0; i < in[0].values.size(); ++i) {
      if (in[1].values[i] != 0) out.values.push_back(in[0].values[i]);
    }
    out.shape[0] = static_cast<std::int64_t>(out.values.size());
    return {out};
  }
  static std::vector<Sample> samples() {
    const auto sample = [](const Shape& shape) {
      return Sample{
          .inputs = {{.shape = shape}, {.shape = shape, .low = 0, .high = 1, .dtype = boolean}}};
    };
    return {sample({3, 50}), sample({}), sample({0, 2})};
  }
};

struct Nonzero : SelectionOp {
  static constexpr auto name = "nonzero";
  static constexpr auto signature = "nonzero(x)";
  static constexpr auto doc = "the places of all elements that are not zero, one row each";
  static constexpr auto memory = allocates();
  static constexpr bool data_dependent = true;
  static Specs infer(const Kernel& k) { return {{DType::int64, {kUnknown, k.in[0].shape.size()}}}; }
  static std::vector<Reference> reference(const std::vector<Reference>& in, const Attributes&) {
    Reference out{.shape = {0, in[0].shape.size()}};
    for_each_index(in[0].shape, [&](const Dims& place) {
      if (at(in[0], place) == 0) return;
      ++out.shape[0];
      out.values.insert(out.values.end(), place.begin(), place.end());
    });
    return {out};
  }
  static std::vector<Sample> samples() {
    return {{.inputs = {{.shape = {2, 3, 2}, .values = {0, 1, 1, 0, 0, 2, 0, 0, 3, 1, 0, 0}}}},
            {.inputs = {{.shape = {100}, .low = 0, .high = 1}}},
            {.inputs = {{.shape = {}, .values = {1}}}},
            {.inputs = {{.shape = {0, 3}}}}};
  }
};

}  // namespace

std::vector<const OpRecord*> selection_ops() {
  return {&record<Take>(), &record<Gather>(), &record<Scatter>(), &record<MaskSelect>(),
          &record<Nonzero>()};
}

}  // namespace tenure::ops

namespace tenure {

using ops::Attributes;
using ops::call;
using ops::record;

Tensor take(const Operand& x, const Operand& indices, int axis) {
  return call(record<ops::Take>(), {x, indices}, Attributes(std::int64_t{axis}));
}

Tensor gather(const Operand& x, int axis, const Operand& indices) {
  return call(record<ops::Gather>(), {x, indices}, Attributes(std::int64_t{axis}));
}

Tensor scatter(const Operand& x, int axis, const Operand& indices, const Operand& updates,
               ScatterMode mode) {
  Tensor values = ops::in_call("scatter", x.site(), [&]() -> Tensor {
    const Tensor made = ops::converted(updates, ops::body_of(x, "scatter"), "scatter");
    if (!updates.is_scalar()) return made;
    return broadcast_to(Operand(made, x.site()), ops::body_of(indices, "scatter").shape);
  });
  Tensor result = call(record<ops::Scatter>(), {x, indices, Operand(values, updates.site())},
                       Attributes(std::int64_t{axis}, static_cast<std::int64_t>(mode)));
  updates.consume();
  return result;
}

Tensor mask_select(const Operand& x, const Operand& mask) {
  return call(record<ops::MaskSelect>(), {x, mask});
}

Tensor nonzero(const Operand& x) { return call(record<ops::Nonzero>(), x); }

}  // namespace tenure
