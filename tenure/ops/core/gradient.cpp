#include "tenure/ops/core/gradient.h"

#include <fmt/format.h>

#include <algorithm>

#include "tenure/ops/creation.h"
#include "tenure/ops/reduce_ops.h"
#include "tenure/ops/shape_ops.h"

namespace tenure::ops {
namespace {

std::size_t input_count(const OpRecord& op) {
  if (op.elementwise != nullptr) return static_cast<std::size_t>(op.elementwise->arity);
  std::size_t count = 0;
  for (const Sample& sample : op.samples()) count = std::max(count, sample.inputs.size());
  return count;
}

void append_places(std::string& text, const char* what, std::uint32_t places, std::size_t count) {
  std::vector<std::size_t> list;
  for (std::size_t i = 0; i < std::min<std::size_t>(count, 32); ++i) {
    if ((places >> i & 1) != 0) list.push_back(i);
  }
  if (list.empty()) return;
  text += fmt::format("{}{} {}", text.empty() ? "" : ", ", what, fmt::join(list, " and "));
}

}  // namespace

std::string describe_saved(const OpRecord& op) {
  if (op.gradient == nullptr) return op.expand != nullptr ? "gradient of its parts" : "no gradient";
  if (op.gradient->run == nullptr) return "zero gradient";
  GradientRule::Needs all;
  const std::size_t inputs = input_count(op);
  for (std::size_t i = 0; i < inputs; ++i) {
    all.inputs |= op.gradient->needs_of(i).inputs;
    all.outputs |= op.gradient->needs_of(i).outputs;
  }
  std::string text;
  if (all.inputs == ~0u) {
    text = "all inputs";
  } else {
    append_places(text, "input", all.inputs, inputs);
  }
  append_places(text, "output", all.outputs, static_cast<std::size_t>(op.outputs));
  return text.empty() ? "nothing" : text;
}

Tensor to_input(const Backward& b, std::size_t i, Tensor gradient) {
  const Spec& spec = b.specs[i];
  if (gradient.shape() != spec.shape) {
    const Shape from = gradient.shape();
    const int lead = from.size() - spec.shape.size();
    Axes axes;
    for (int axis = 0; axis < from.size(); ++axis) {
      if (axis < lead || (spec.shape[axis - lead] == 1 && from[axis] != 1)) axes.push_back(axis);
    }
    gradient = sum(b.at(std::move(gradient)), axes, lead == 0);
    if (gradient.shape() != spec.shape) gradient = reshape(b.at(std::move(gradient)), spec.shape);
  }
  if (gradient.dtype() != spec.dtype) gradient = cast(b.at(std::move(gradient)), spec.dtype);
  return gradient;
}

Tensor reshape_to_input(const Backward& b, std::size_t i, Tensor gradient) {
  return reshape(b.at(std::move(gradient)), b.specs[i].shape);
}

Tensor broadcast_to_input(const Backward& b, std::size_t i, Tensor gradient) {
  const Shape& shape = b.specs[i].shape;
  return gradient.shape() == shape ? gradient : broadcast_to(b.at(std::move(gradient)), shape);
}

Tensor zeros_of_input(const Backward& b, std::size_t i) {
  const Spec& spec = b.specs[i];
  return zeros(spec.shape, spec.dtype, b.site);
}

}  // namespace tenure::ops
