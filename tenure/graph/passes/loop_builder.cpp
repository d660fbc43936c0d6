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
  loop_.in_types.push_back(program_.nodes[static_cast<std::size_t>(node)].outputs[0].dtype);
  first_input_ = 1;
  value_of_[node] = 0;
}

bool LoopBuilder::add(std::span<const std::int32_t> nodes) {
  for (const std::int32_t node : nodes) add_node(node);
  const int inputs = static_cast<int>(loop_.in_types.size());
  for (kernels::FusedStep& step : loop_.steps) {
    for (int& from : step.in) from = is_step(from) ? from - kStep + inputs : from;
  }
  return kernels::prepare(loop_);
}

void LoopBuilder::add_node(std::int32_t number) {
  const Node& node = program_.nodes[static_cast<std::size_t>(number)];
  const ops::ElementwiseTypes types = types_of(program_, node);
  const ops::ElementwiseRecord& e = *node.op->elementwise;
  const auto& bodies = *ops::kernel_of(*node.op, device_).bodies;
  kernels::FusedStep step{.body = bodies[static_cast<std::size_t>(types.compute)],
                          .arity = e.arity,
                          .out_type = types.body_out};
  for (std::size_t k = 0; k < node.arguments.size(); ++k) {
    const Argument& argument = node.arguments[k];
    const auto known = argument.number ? value_of_.end() : value_of_.find(argument.value.node);
    step.in[k] = known != value_of_.end()
                     ? converted(known->second, types.in[k])
                     : add_input(find_(argument, types.in[k], node.outputs[0].shape, node.op->name),
                                 types.in[k]);
  }
  value_of_[number] = converted(add_step(step), types.result);
  loop_.cost += e.cost;
}

int LoopBuilder::add_step(const kernels::FusedStep& step) {
  loop_.steps.push_back(step);
  return kStep + static_cast<int>(loop_.steps.size()) - 1;
}

DType LoopBuilder::type_of(int value) const {
  return is_step(value) ? loop_.steps[static_cast<std::size_t>(value - kStep)].out_type
                        : loop_.in_types[static_cast<std::size_t>(value)];
}

int LoopBuilder::converted(int value, DType wanted) {
  return type_of(value) == wanted ? value : add_step({.in = {value}, .out_type = wanted});
}

int LoopBuilder::add_input(const Layout& layout, DType wanted) {
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    const Layout& l = inputs_[i];
    const int value = first_input_ + static_cast<int>(i);
    if (l.buffer == layout.buffer && l.offset == layout.offset && l.shape == layout.shape &&
        l.strides == layout.strides && type_of(value) == wanted) {
      return value;
    }
  }
  inputs_.push_back(layout);
  loop_.in_types.push_back(wanted);
  return static_cast<int>(loop_.in_types.size()) - 1;
}

}  // namespace tenure::graph
