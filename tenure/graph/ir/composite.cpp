#include "tenure/graph/ir/composite.h"

#include <fmt/format.h>

#include <utility>

#include "tenure/base/error.h"
#include "tenure/ops/core/dispatch.h"
#include "tenure/ops/core/recorder.h"
#include "tenure/ops/core/tape.h"

namespace tenure::graph {

Body write_out(const ops::OpRecord& op, std::span<const ops::Spec> inputs,
               const ops::Attributes& attributes, Site site) {
  const auto state = std::make_shared<GraphState>(GraphState::Kind::trace, op.name, site);
  Body body{.name = op.name, .program = {}, .inputs = {}, .results = {}};
  std::vector<Tensor> symbols;
  for (const ops::Spec& spec : inputs) {
    symbols.push_back(
        state->input(fmt::format("operand {}", symbols.size()), spec.dtype, spec.shape, site));
    body.inputs.push_back(state->value_of(symbols.back(), op.name, site));
  }
  std::vector<Operand> operands;
  for (const Tensor& symbol : symbols) operands.emplace_back(symbol, site);
  {
    const ops::TraceScope scope(state.get());
    const ops::Untaped untaped;
    const ops::ActingFor acting(op.name);
    for (const Tensor& result : op.expand(operands, attributes)) {
      body.results.push_back(state->value_of(result, op.name, site));
    }
  }
  body.program = state->take();
  for (const Node& node : body.program.nodes) {
    if (node.variable == nullptr) continue;
    throw GraphError(fmt::format("{}: {} is inside a function that runs when sizes are known; "
                                 "read it outside and pass its value in",
                                 op.name, describe(node)),
                     site);
  }
  return body;
}

std::vector<Value> write_out_into(Builder& builder, const Node& node,
                                  std::span<const Argument> arguments) {
  std::vector<ops::Spec> inputs;
  for (const Argument& argument : arguments) {
    inputs.push_back(builder.program().spec(argument.value));
  }
  const Body body = write_out(*node.op, inputs, node.attribute_list(), node.site);
  std::vector<std::vector<Value>> renamed(body.program.nodes.size());
  for (std::size_t i = 0; i < body.inputs.size(); ++i) {
    renamed[static_cast<std::size_t>(body.inputs[i].node)] = {arguments[i].value};
  }
  const auto renamed_of = [&](Value value) {
    return renamed[static_cast<std::size_t>(value.node)][static_cast<std::size_t>(value.output)];
  };
  for (std::size_t i = 0; i < body.program.nodes.size(); ++i) {
    if (!renamed[i].empty()) continue;
    Node part = body.program.nodes[i];
    if (part.kind == Node::Kind::constant) {
      renamed[i] = {builder.constant(part.data, part.site)};
      continue;
    }
    std::vector<Argument> given = part.arguments;
    for (Argument& argument : given) {
      if (!argument.number) argument.value = renamed_of(argument.value);
    }
    part.scope = node.scope;
    part.category = node.category;
    renamed[i] = builder.copy(part, std::move(given));
  }
  std::vector<Value> results;
  for (const Value result : body.results) results.push_back(renamed_of(result));
  return results;
}

}  // namespace tenure::graph
