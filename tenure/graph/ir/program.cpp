#include "tenure/graph/ir/program.h"

#include <fmt/format.h>

#include "tenure/graph/ir/variable_state.h"
#include "tenure/tensor/symbol.h"

namespace tenure::graph {

std::size_t program_bytes(const Program& program) {
  std::size_t bytes = program.nodes.capacity() * sizeof(Node);
  for (const Node& node : program.nodes) {
    bytes += node.arguments.capacity() * sizeof(Argument) +
             node.outputs.capacity() * sizeof(ops::Spec) + node.name.capacity() +
             node.scope.capacity();
    if (node.attributes != nullptr) bytes += sizeof(ops::Attributes);
    if (node.fixed) bytes += node.data.nbytes();
  }
  return bytes;
}

std::string describe(const ops::Spec& spec) {
  return fmt::format("{}{}", name_of(spec.dtype), to_string(Sizes(spec.shape)));
}

std::string describe(const Node& node) {
  std::string text;
  switch (node.kind) {
    case Node::Kind::input:
      text = fmt::format("placeholder \"{}\"", node.name);
      break;
    case Node::Kind::constant:
      text = "constant";
      break;
    case Node::Kind::variable:
      text = fmt::format("variable \"{}\"", node.variable->path());
      break;
    case Node::Kind::assign:
      text = fmt::format("assignment to variable \"{}\"", node.variable->path());
      break;
    case Node::Kind::call:
      text = node.op->name;
      break;
  }
  text += fmt::format(", made at {}", to_string(node.site));
  if (!node.scope.empty()) text += fmt::format(" in scope {}", node.scope);
  return text;
}

}  // namespace tenure::graph
