#include "tenure/graph/passes/loop_builder.h"

#include "tenure/ops/core/backend.h"
#include "tenure/ops/core/types.h"

namespace tenure::graph {
namespace {

// Results of steps are named after the inputs, whose number is known only at the end: until then
// step s is kStep + s.
constexpr int kStep = 1 << 20;

bool is_step(int value) { return value >= kStep; }

ops::ElementwiseTypes types_of(const Program& program, const Node& node) {
  std::vector<ops::OperandType> types;
  for (const Argument& argument : node.arguments) {
    types.push_back(argument.number
                        ? ops::OperandType{.dtype = argument.number->dtype(),
                                           .is_number = true,
                                           .kind = argument.number->kind}
                        : ops::OperandType{.dtype = program.spec(argument.value).dtype});
  }
  return ops::elementwise_types(*node.op, types);
}

}  // namespace

void LoopBuilder::read_result(std::int32_t node) {
  loop_.code.in_types.push_back(program_.nodes[static_cast<std::size_t>(node)].outputs[0].dtype);
  first_input_ = 1;
  value_of_[node] = 0;
}

bool LoopBuilder::add(std::span<const std::int32_t> nodes) {
  for (const std::int32_t node : nodes) add_node(node);
  const int inputs = static_cast<int>(loop_.inputs());
  if (inputs > ops::kMaxLoopInputs) return false;
  for (ops::LoopStep& step : loop_.code.steps) {
    for (int& from : step.in) from = is_step(from) ? from - kStep + inputs : from;
  }
  loop_.prepared = ops::backend(device_).prepare(loop_.code);
  return loop_.prepared != nullptr;
}

void LoopBuilder::add_node(std::int32_t number) {
  const Node& node = program_.nodes[static_cast<std::size_t>(number)];
  const auto value_for = [&](const Argument& argument, DType wanted) {
    const auto known = argument.number ? value_of_.end() : value_of_.find(argument.value.node);
    return known != value_of_.end() ? converted(known->second, wanted)
                                    : add_input(argument, wanted, node);
  };
  if (node.op->converts) {
    const Argument& from = node.arguments[0];
    value_of_[number] =
        converted(value_for(from, program_.spec(from.value).dtype), node.outputs[0].dtype);
    return;
  }
  const ops::ElementwiseTypes types = types_of(program_, node);
  static_cast<void>(ops::kernel_of(*node.op, device_));  // or an error that names both
  ops::LoopStep step{.op = node.op, .compute = types.compute, .out_type = types.body_out};
  for (std::size_t k = 0; k < node.arguments.size(); ++k) {
    step.in[k] = value_for(node.arguments[k], types.in[k]);
  }
  value_of_[number] = converted(add_step(step), types.result);
}

int LoopBuilder::add_step(const ops::LoopStep& step) {
  loop_.code.steps.push_back(step);
  return kStep + static_cast<int>(loop_.code.steps.size()) - 1;
}

DType LoopBuilder::type_of(int value) const {
  return is_step(value) ? loop_.code.steps[static_cast<std::size_t>(value - kStep)].out_type
                        : loop_.code.in_types[static_cast<std::size_t>(value)];
}

int LoopBuilder::converted(int value, DType wanted) {
  return type_of(value) == wanted ? value : add_step({.in = {value}, .out_type = wanted});
}

int LoopBuilder::add_input(const Argument& argument, DType wanted, const Node& reader) {
  const Layout layout = find_(argument, wanted, reader.outputs[0].shape, reader.op->name);
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    const Layout& l = inputs_[i];
    const int value = first_input_ + static_cast<int>(i);
    if (l.buffer == layout.buffer && l.offset == layout.offset && l.shape == layout.shape &&
        l.strides == layout.strides && type_of(value) == wanted) {
      return value;
    }
  }
  const auto input = static_cast<int>(loop_.inputs());
  if (argument.number && input < ops::kMaxLoopInputs) loop_.numbers |= 1u << input;
  inputs_.push_back(layout);
  loop_.code.in_types.push_back(wanted);
  return input;
}

}  // namespace tenure::graph
