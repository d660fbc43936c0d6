#include "tenure/graph/passes/layout.h"

#include <algorithm>

namespace tenure::graph {
namespace {

bool is_sorted(const Axes& order) { return std::is_sorted(order.begin(), order.end()); }

}  // namespace

std::optional<Axes> dense_order(const Shape& shape, const Strides& strides) {
  Axes order;
  for (int i = 0; i < shape.size(); ++i) {
    // Axes of one element come where they stand.
    int at = order.size();
    while (at > 0 && shape[i] != 1 && shape[static_cast<int>(order[at - 1])] != 1 &&
           strides[static_cast<int>(order[at - 1])] < strides[i]) {
      --at;
    }
    order.insert(at, i);
  }
  std::int64_t step = 1;
  for (int i = order.size() - 1; i >= 0; --i) {
    const auto axis = static_cast<int>(order[i]);
    if (shape[axis] == 1) continue;
    if (strides[axis] != step) return std::nullopt;
    step *= shape[axis];
  }
  return order;
}

Strides strides_in_order(const Shape& shape, const Axes& order) {
  Strides strides = contiguous_strides(shape);
  std::int64_t step = 1;
  for (int i = order.size() - 1; i >= 0; --i) {
    strides[static_cast<int>(order[i])] = step;
    step *= shape[static_cast<int>(order[i])];
  }
  return strides;
}

Dims in_order(const Dims& dims, const Axes& order) {
  Dims moved;
  for (const std::int64_t axis : order) moved.push_back(dims[static_cast<int>(axis)]);
  return moved;
}

void reorder(Layout& in, const Axes& order, bool is_number) {
  if (in.shape.empty()) return;
  while (in.shape.size() < order.size()) {
    in.shape.insert(0, 1);
    in.strides.insert(0, 0);
  }
  in.shape = in_order(in.shape, order);
  in.strides = is_number ? contiguous_strides(in.shape) : in_order(in.strides, order);
}

std::optional<Axes> LayoutChoice::order(std::int32_t node, std::span<const Layout> in) {
  constexpr int kFar = 8;  // loops and views between the result and who copies it
  const ops::Spec& spec = program_.nodes[static_cast<std::size_t>(node)].outputs[0];
  for (const Layout& input : in) {
    if (!(input.shape == spec.shape)) continue;
    const std::optional<Axes> order = dense_order(input.shape, input.strides);
    if (!order || is_sorted(*order)) continue;
    const Strides strides = strides_in_order(spec.shape, *order);
    const auto moved = copied(node, spec, strides, kFar);
    const auto plain = copied(node, spec, contiguous_strides(spec.shape), kFar);
    return moved && plain && *moved < *plain ? order : std::nullopt;
  }
  return std::nullopt;
}

std::optional<std::int64_t> LayoutChoice::copied(std::int32_t node, const ops::Spec& spec,
                                                 const Strides& strides, int depth) {
  if (depth == 0) return std::nullopt;
  std::int64_t bytes = 0;
  const bool is_fetched = std::any_of(fetches_.begin(), fetches_.end(),
                                      [node](Value fetch) { return fetch.node == node; });
  if (is_fetched && !is_contiguous(spec.shape, strides)) bytes += bytes_of(spec);
  for (const std::int32_t r : readers_.of(node)) {
    const auto more = copied_for(r, node, spec, strides, depth);
    if (!more) return std::nullopt;
    bytes += *more;
  }
  return bytes;
}

std::optional<std::int64_t> LayoutChoice::copied_for(std::int32_t number, std::int32_t node,
                                                     const ops::Spec& spec, const Strides& strides,
                                                     int depth) {
  const Node& reader = program_.nodes[static_cast<std::size_t>(number)];
  const bool is_plain = is_contiguous(spec.shape, strides);
  if (reader.kind == Node::Kind::assign) return is_plain ? 0 : bytes_of(spec);
  const ops::OpRecord& op = *reader.op;
  if (op.elementwise != nullptr) {
    if (!(reader.outputs[0].shape == spec.shape)) return 0;
    const ops::Spec result{reader.outputs[0].dtype, spec.shape};
    return copied(number, result, strides, depth - 1);
  }
  if (op.view != nullptr) {
    if (reader.arguments[0].value.node != node) return 0;  // it wants the shape alone
    const ops::View view{.dtype = spec.dtype, .shape = spec.shape, .strides = strides};
    std::vector<ops::View> in{view};
    for (std::size_t a = 1; a < reader.arguments.size(); ++a) {
      const ops::Spec& other = program_.spec(reader.arguments[a].value);
      in.push_back(
          {.dtype = other.dtype, .shape = other.shape, .strides = contiguous_strides(other.shape)});
    }
    const auto seen = op.view({.op = op.name,
                               .in = in,
                               .out = {},
                               .attributes = reader.attribute_list(),
                               .workspace = {}});
    if (!seen) return bytes_of(spec);
    return copied(number, {spec.dtype, seen->shape}, seen->strides, depth - 1);
  }
  if (op.stages) return is_plain ? 0 : bytes_of(spec);
  if (is_plain) return 0;
  return std::nullopt;
}

}  // namespace tenure::graph
