#include "tenure/graph/passes/kernel_layout.h"

#include <algorithm>
#include <utility>

#include "tenure/base/units.h"

namespace tenure::graph {
namespace {

/// Kernels one behind the other that a choice looks at, and views.
constexpr int kFar = 3;
constexpr int kMostViews = 32;

ops::View plain_view(const ops::Spec& spec) {
  return {.dtype = spec.dtype, .shape = spec.shape, .strides = contiguous_strides(spec.shape)};
}

std::int64_t bytes_in(const ops::View& view) {
  return view.count() * static_cast<std::int64_t>(size_of(view.dtype));
}

/// Strides of matrices whose rows, or columns if they are turned, are `step` apart.
Strides matrix_strides(const Shape& shape, bool is_turned, std::int64_t step) {
  const int last = shape.size() - 1;
  Strides strides = contiguous_strides(shape);
  strides[is_turned ? last - 1 : last] = 1;
  strides[is_turned ? last : last - 1] = step;
  std::int64_t size = step * shape[is_turned ? last : last - 1];
  for (int d = last - 2; d >= 0; --d) {
    strides[d] = size;
    size *= shape[d];
  }
  return strides;
}

}  // namespace

std::int64_t extent(const Shape& shape, const Strides& strides) {
  std::int64_t elements = 1;
  for (int d = 0; d < shape.size(); ++d) elements = std::max(elements, shape[d] * strides[d]);
  return count(shape) == 0 ? 0 : elements;
}

Strides KernelLayoutChoice::strides(std::int32_t node) {
  const Node& of = program_.nodes[static_cast<std::size_t>(node)];
  Strides best = contiguous_strides(of.outputs[0].shape);
  if (choosing(node) == nullptr) return best;
  std::optional<std::int64_t> least;
  for (const Strides& way : ways(node)) {
    const std::optional<std::int64_t> bytes = moved(node, way, nullptr, kFar);
    if (!bytes || (least && *bytes >= *least)) continue;
    least = bytes;
    best = way;
    if (*least == 0) break;
  }
  return best;
}

const ops::KernelSlot* KernelLayoutChoice::choosing(std::int32_t number) const {
  const Node& node = program_.nodes[static_cast<std::size_t>(number)];
  if (node.kind != Node::Kind::call || node.outputs.size() != 1) return nullptr;
  if (is_in_loop_(number)) return nullptr;
  const ops::KernelSlot* const slot = device_.find(*node.op);
  return slot == nullptr || slot->moved == nullptr ? nullptr : slot;
}

std::int64_t KernelLayoutChoice::row_step(std::int64_t row, DType type) const {
  const auto size = static_cast<std::int64_t>(size_of(type));
  const std::int64_t step = std::max<std::int64_t>(device_.row_alignment() / size, 1);
  return (row + step - 1) / step * step;
}

std::vector<Strides> KernelLayoutChoice::ways(std::int32_t node) const {
  const ops::Spec& spec = program_.nodes[static_cast<std::size_t>(node)].outputs[0];
  const Shape& shape = spec.shape;
  std::vector<Strides> ways{contiguous_strides(shape)};
  const int last = shape.size() - 1;
  if (last < 1 || count(shape) == 0 || shape[last] == 1 || shape[last - 1] == 1) return ways;
  for (const bool is_turned : {false, true}) {
    const std::int64_t row = shape[is_turned ? last - 1 : last];
    const std::int64_t step = row_step(row, spec.dtype);
    if (is_turned) ways.push_back(matrix_strides(shape, true, row));
    if (step != row) ways.push_back(matrix_strides(shape, is_turned, step));
  }
  return ways;
}

ops::View KernelLayoutChoice::known(Value value) const {
  const auto& layouts = layouts_[static_cast<std::size_t>(value.node)];
  if (!layouts.empty()) return view_of(layouts[static_cast<std::size_t>(value.output)]);
  ops::View view = plain_view(program_.spec(value));
  if (view.shape.size() > 1) {
    view.strides = matrix_strides(view.shape, false, row_step(view.shape.back(), view.dtype));
  }
  return view;
}

std::optional<std::int64_t> KernelLayoutChoice::moved(std::int32_t number, const Strides& strides,
                                                      const Guess* guess, int depth) {
  const Node& node = program_.nodes[static_cast<std::size_t>(number)];
  std::vector<ops::View> in;
  for (const Argument& argument : node.arguments) {
    const bool is_guessed = guess != nullptr && argument.value.node == guess->node;
    in.push_back(is_guessed ? guess->view : known(argument.value));
  }
  const ops::View plain = plain_view(node.outputs[0]);
  ops::View out = plain;
  out.strides = strides;
  const auto own = choosing(number)->moved({.op = node.op->name,
                                            .in = in,
                                            .out = {&out, 1},
                                            .attributes = node.attribute_list(),
                                            .workspace = {}});
  if (!own) return std::nullopt;
  // What is too far away is taken to be content.
  const auto others = depth > 0 ? moved_by_readers(number, out, plain, depth - 1) : 0;
  return others ? std::optional(*own + *others) : std::nullopt;
}

std::optional<std::int64_t> KernelLayoutChoice::moved_by_readers(std::int32_t node,
                                                                 const ops::View& view,
                                                                 const ops::View& plain, int depth,
                                                                 int views) {
  std::int64_t bytes = 0;
  const bool is_fetched = std::any_of(fetches_.begin(), fetches_.end(),
                                      [node](Value fetch) { return fetch.node == node; });
  if (is_fetched && !view.contiguous()) bytes += bytes_in(view);
  for (const std::int32_t reader : readers_.of(node)) {
    const auto more = moved_by(reader, {node, view}, plain, depth, views);
    if (!more) return std::nullopt;
    bytes += *more;
  }
  return bytes;
}

std::optional<std::int64_t> KernelLayoutChoice::moved_by(std::int32_t number, const Guess& guess,
                                                         const ops::View& plain, int depth,
                                                         int views) {
  const Node& reader = program_.nodes[static_cast<std::size_t>(number)];
  const bool is_usual = guess.view.strides == plain.strides;
  if (reader.kind == Node::Kind::assign || is_in_loop_(number)) {
    return guess.view.contiguous() ? 0 : bytes_in(guess.view);
  }
  if (reader.op->view != nullptr) {
    if (reader.arguments[0].value.node != guess.node) return 0;  // it wants the shape alone
    const auto seen = [&](const ops::View& base) -> std::optional<ops::View> {
      std::vector<ops::View> in{base};
      for (std::size_t a = 1; a < reader.arguments.size(); ++a) {
        in.push_back(plain_view(program_.spec(reader.arguments[a].value)));
      }
      const auto made = reader.op->view({.op = reader.op->name,
                                         .in = in,
                                         .out = {},
                                         .attributes = reader.attribute_list(),
                                         .workspace = {}});
      if (!made) return std::nullopt;
      return ops::View{.dtype = base.dtype, .shape = made->shape, .strides = made->strides};
    };
    if (views == kMostViews) return is_usual ? std::optional<std::int64_t>(0) : std::nullopt;
    const std::optional<ops::View> view = seen(guess.view);
    const std::optional<ops::View> usual = seen(plain);
    if (!view || !usual) return bytes_in(guess.view);
    return moved_by_readers(number, *view, *usual, depth, views + 1);
  }
  if (choosing(number) == nullptr) {
    return is_usual ? std::optional<std::int64_t>(0) : std::nullopt;
  }
  std::optional<std::int64_t> least;
  for (const Strides& way : ways(number)) {
    const auto bytes = moved(number, way, &guess, depth);
    if (bytes && (!least || *bytes < *least)) least = bytes;
    if (least && *least == 0) break;
  }
  return least;
}

}  // namespace tenure::graph
