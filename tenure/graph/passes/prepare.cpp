#include "tenure/graph/passes/prepare.h"

#include <algorithm>
#include <utility>

namespace tenure::graph {

Request prepare(Request request) {
  for (Node& node : request.program.nodes) {
    const ops::Preparable* const programs = ops::preparable_in(node.attribute_list());
    if (node.kind != Node::Kind::call || programs == nullptr) continue;
    std::vector<ops::View> in;
    for (const Argument& argument : node.arguments) {
      const ops::Spec& spec = request.program.spec(argument.value);
      in.push_back({.dtype = spec.dtype,
                    .shape = spec.shape,
                    .strides = contiguous_strides(spec.shape),
                    .data = nullptr});
    }
    node.attributes = std::make_shared<const ops::Attributes>(
        programs->prepared({.op = node.op->name,
                            .in = in,
                            .out = {},
                            .attributes = node.attribute_list(),
                            .workspace = {}}));
  }
  return request;
}

std::vector<std::shared_ptr<const CompiledBodies>> compiled_bodies(const Program& program) {
  std::vector<std::shared_ptr<const CompiledBodies>> all;
  for (const Node& node : program.nodes) {
    auto bodies = compiled_in(node.attribute_list());
    if (bodies == nullptr || std::find(all.begin(), all.end(), bodies) != all.end()) continue;
    all.push_back(std::move(bodies));
  }
  return all;
}

}  // namespace tenure::graph
