#include "tenure/graph/passes/specialize.h"

#include <fmt/format.h>

#include <algorithm>

#include "tenure/base/error.h"
#include "tenure/graph/ir/body.h"
#include "tenure/graph/ir/builder.h"
#include "tenure/graph/ir/composite.h"
#include "tenure/graph/ir/variable_state.h"

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

/// A shape that was inferred before the sizes were known holds for all of them. A rule that has it
/// otherwise is not to be trusted with what was built on it.
void require_as_inferred(const Node& node, const Program& program, std::span<const Value> values) {
  for (std::size_t o = 0; o < node.outputs.size(); ++o) {
    const ops::Spec& inferred = node.outputs[o];
    const ops::Spec& found = program.spec(values[o]);
    bool fits = inferred.shape.size() == found.shape.size() && inferred.dtype == found.dtype;
    for (int d = 0; d < found.shape.size() && fits; ++d) {
      fits = inferred.shape[d] == kUnknown || inferred.shape[d] == found.shape[d];
    }
    if (fits) continue;
    throw GraphError(fmt::format("{} gives {} in this run, and {} was inferred for any; give its "
                                 "inputs known sizes",
                                 describe(node), describe(found), describe(inferred)),
                     node.site);
  }
}

/// Functions that wait for sizes: only the ops that they are written out in tell whether they draw
/// random numbers, and how many.
std::vector<Value> may_draw(const Program& program) {
  std::vector<Value> values;
  for (std::size_t i = 0; i < program.nodes.size(); ++i) {
    const Node& node = program.nodes[i];
    const bool waits = node.kind == Node::Kind::call && node.op->expand != nullptr &&
                       node.op->infer == nullptr && opaque_in(node) != nullptr;
    if (waits) values.push_back({.node = static_cast<std::int32_t>(i)});
  }
  return values;
}

/// Keeps the numbers of random ops. With `made`, it says where what each node has become begins.
/// What `also` needs is made with the rest.
Request needed_part(const Program& program, std::span<const Value> fetches,
                    std::span<const Given> given, Site site,
                    std::vector<std::size_t>* made = nullptr, std::span<const Value> also = {}) {
  std::vector<Value> wanted(fetches.begin(), fetches.end());
  wanted.insert(wanted.end(), also.begin(), also.end());
  const std::vector<bool> needed = needed_by(program, wanted);
  std::vector<std::vector<Value>> renamed(program.nodes.size());
  Builder builder(Builder::Constants::by_identity, program.device);
  Request request{.device = program.device};
  for (const Given& g : given) {
    const Node& node = program[g.value];
    const Value value = builder.input(node.name, g.spec, node.site);
    renamed[static_cast<std::size_t>(g.value.node)] = {value};
    request.inputs.push_back(value);
    request.strides.push_back(g.strides);
  }
  for (std::size_t i = 0; i < program.nodes.size(); ++i) {
    if (made != nullptr) made->push_back(builder.program().nodes.size());
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
    const bool is_composite = node.kind == Node::Kind::call && node.op->expand != nullptr;
    renamed[i] = is_composite ? write_out_into(builder, node, arguments)
                              : builder.copy(node, std::move(arguments));
    require_as_inferred(node, builder.program(), renamed[i]);
    if (node.kind == Node::Kind::assign) {
      const ops::Spec& assigned = builder.program().spec(renamed[i][0]);
      node.variable->require_fit(assigned.dtype, assigned.shape);
    }
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
                   std::span<const Given> given, Site site, const CompileOptions& options) {
  std::vector<std::size_t> made;
  const std::vector<Value> drawing = options.draws_all ? may_draw(program) : std::vector<Value>();
  Request request = needed_part(program, fetches, given, site, &made, drawing);
  made.push_back(request.program.nodes.size());
  const auto draws = [](const Node& node) {
    return node.kind == Node::Kind::call && node.op->draws != nullptr;
  };
  // In the program's order. A composite may have become several.
  for (std::size_t i = 0; i < program.nodes.size(); ++i) {
    for (std::size_t n = made[i]; n < made[i + 1]; ++n) {
      Node& node = request.program.nodes[n];
      if (!draws(node)) continue;
      node.draw = static_cast<std::int32_t>(request.draws.size());
      request.draws.push_back(node.op->draws(node.attribute_list()));
    }
    const Node& node = program.nodes[i];
    if (made[i] == made[i + 1] && draws(node) && options.draws_all) {
      request.draws.push_back(node.op->draws(node.attribute_list()));
    }
  }
  request.options = options;
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
  result.options = request.options;
  return result;
}

}  // namespace tenure::graph
