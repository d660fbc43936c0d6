#include "tenure/graph/passes/specialize.h"

#include <fmt/format.h>

#include <algorithm>

#include "tenure/base/error.h"
#include "tenure/graph/builder.h"

namespace tenure::graph {
namespace {

/// Marks the nodes that the fetches need. No recursion: programs may be deep.
std::vector<bool> needed_by(const Program& program, std::span<const Value> fetches) {
  std::vector<bool> needed(program.nodes.size());
  for (const Value fetch : fetches) needed[static_cast<std::size_t>(fetch.node)] = true;
  for (std::size_t i = program.nodes.size(); i-- > 0;) {
    if (!needed[i]) continue;
    for (const Argument& argument : program.nodes[i].arguments) {
      if (!argument.number) needed[static_cast<std::size_t>(argument.value.node)] = true;
    }
  }
  return needed;
}

/// Keeps the numbers of random ops.
Request needed_part(const Program& program, std::span<const Value> fetches,
                    std::span<const Given> given, Site site) {
  const std::vector<bool> needed = needed_by(program, fetches);
  std::vector<std::vector<Value>> renamed(program.nodes.size());
  Builder builder(Builder::Constants::by_identity);
  Request request;
  for (const Given& g : given) {
    const Node& node = program[g.value];
    const Value value = builder.input(node.name, g.spec, node.site);
    renamed[static_cast<std::size_t>(g.value.node)] = {value};
    request.inputs.push_back(value);
    request.strides.push_back(g.strides);
  }
  for (std::size_t i = 0; i < program.nodes.size(); ++i) {
    if (!needed[i] || !renamed[i].empty()) continue;
    const Node& node = program.nodes[i];
    if (node.kind == Node::Kind::input) {
      throw GraphError(fmt::format("{} needs a feed", describe(node)), site);
    }
    std::vector<Argument> arguments = node.arguments;
    for (Argument& argument : arguments) {
      if (argument.number) continue;
      argument.value = renamed[static_cast<std::size_t>(argument.value.node)]
                              [static_cast<std::size_t>(argument.value.output)];
    }
    renamed[i] = builder.copy(node, std::move(arguments));
  }
  for (const Value fetch : fetches) {
    request.fetches.push_back(
        renamed[static_cast<std::size_t>(fetch.node)][static_cast<std::size_t>(fetch.output)]);
  }
  request.returned = request.fetches.size();
  request.program = std::move(builder).take();
  return request;
}

}  // namespace

Request specialize(const Program& program, std::span<const Value> fetches,
                   std::span<const Given> given, Site site, const Terms& terms) {
  Request request = needed_part(program, fetches, given, site);
  // The random ops that are left are in the program's order.
  const std::vector<bool> needed = needed_by(program, fetches);
  auto left = request.program.nodes.begin();
  const auto draws = [](const Node& node) {
    return node.kind == Node::Kind::call && node.op->draws != nullptr;
  };
  for (std::size_t i = 0; i < program.nodes.size(); ++i) {
    const Node& node = program.nodes[i];
    if (!draws(node) || !(needed[i] || terms.draws_all)) continue;
    if (needed[i]) {
      left = std::find_if(left, request.program.nodes.end(), draws);
      (left++)->draw = static_cast<std::int32_t>(request.draws.size());
    }
    request.draws.push_back(node.op->draws(node.attribute_list()));
  }
  request.terms = terms;
  return request;
}

Strides given_strides(const Tensor& tensor) {
  const TensorBody& body = tensor.body("run");
  return body.contiguous || body.symbol() != nullptr ? Strides() : body.strides;
}

Request without_dead_code(const Request& request) {
  std::vector<Given> given;
  for (std::size_t i = 0; i < request.inputs.size(); ++i) {
    given.push_back({.value = request.inputs[i],
                     .spec = request.program.spec(request.inputs[i]),
                     .strides = request.strides[i]});
  }
  Request result = needed_part(request.program, request.fetches, given, {});
  result.returned = request.returned;
  result.donated = request.donated;
  result.draws = request.draws;
  result.terms = request.terms;
  return result;
}

}  // namespace tenure::graph
