#include "tenure/graph/ir/body.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "tenure/graph/passes/compile.h"
#include "tenure/ops/core/dispatch.h"
#include "tenure/ops/core/gradient.h"
#include "tenure/ops/core/recorder.h"
#include "tenure/ops/core/tape.h"

namespace tenure::graph {
namespace {

/// Shapes that came and went are looked for when there are so many.
constexpr std::size_t kMaxPrograms = 64;

std::vector<Given> given_for(const Body& body, std::span<const ops::Spec> specs) {
  std::vector<Given> given;
  for (std::size_t i = 0; i < specs.size(); ++i) {
    given.push_back({.value = body.inputs[i], .spec = specs[i]});
  }
  return given;
}

}  // namespace

const ops::Opaque* opaque_in(const Node& node) {
  const ops::Attributes& attributes = node.attribute_list();
  if (attributes.size() == 0) return nullptr;
  const auto* const opaque = std::get_if<std::shared_ptr<const ops::Opaque>>(&attributes[0]);
  return opaque == nullptr ? nullptr : opaque->get();
}

std::vector<ops::Spec> Body::infer(std::span<const ops::Spec> given, Site site) const {
  const Request request = specialize(program, results, given_for(*this, given), site);
  std::vector<ops::Spec> specs;
  for (const Value result : request.fetches) specs.push_back(request.program.spec(result));
  return specs;
}

std::vector<Tensor> replay(const Program& program, std::span<const Value> inputs,
                           std::span<const Value> results, const std::vector<Tensor>& tensors) {
  std::vector<std::vector<Tensor>> values(program.nodes.size());
  const auto at = [&](Value value) -> const Tensor& {
    return values[static_cast<std::size_t>(value.node)][static_cast<std::size_t>(value.output)];
  };
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    values[static_cast<std::size_t>(inputs[i].node)] = {tensors[i]};
  }
  for (std::size_t n = 0; n < program.nodes.size(); ++n) {
    const Node& node = program.nodes[n];
    if (node.kind == Node::Kind::constant) values[n] = {node.data};
    if (node.kind != Node::Kind::call) continue;
    std::vector<Operand> operands;
    for (const Argument& argument : node.arguments) {
      operands.push_back(argument.number ? Operand(*argument.number, node.site)
                                         : Operand(at(argument.value), node.site));
    }
    values[n] = ops::run_many_now(*node.op, operands, node.attribute_list(), node.site);
  }
  std::vector<Tensor> found;
  for (const Value value : results) found.push_back(at(value));
  return found;
}

TracedBody trace_body(const std::shared_ptr<GraphState>& outer, const std::string& name,
                      std::span<const ops::Spec> operands, const BodyFunction& f, Site site) {
  const auto state = std::make_shared<GraphState>(GraphState::Kind::body, name, site, outer);
  TracedBody traced;
  traced.body.name = name;
  std::vector<Tensor> symbols;
  for (const ops::Spec& spec : operands) {
    symbols.push_back(
        state->input(fmt::format("operand {}", symbols.size()), spec.dtype, spec.shape, site));
    traced.body.inputs.push_back(state->value_of(symbols.back(), name.c_str(), site));
  }
  {
    const ops::TraceScope scope(state.get());
    const ops::Untaped untaped;  // a tape takes note of the call that the body is of
    for (const Tensor& result : f(symbols)) {
      traced.body.results.push_back(state->value_of(result, name.c_str(), site));
    }
  }
  traced.captures = state->captures();
  const std::vector<Value> inside = state->captured_inputs();
  traced.body.inputs.insert(traced.body.inputs.end(), inside.begin(), inside.end());
  traced.body.program = state->take();
  return traced;
}

std::size_t Bodies::captures() const {
  return std::accumulate(captures_.begin(), captures_.end(), std::size_t{0});
}

bool Bodies::draws() const {
  const auto draws = [](const Node& node) {
    if (node.kind != Node::Kind::call) return false;
    if (node.op->draws != nullptr) return true;
    const auto* const opaque = opaque_in(node);
    return opaque != nullptr && opaque->draws();
  };
  return std::any_of(bodies_.begin(), bodies_.end(), [&](const Body& body) {
    return std::any_of(body.program.nodes.begin(), body.program.nodes.end(), draws);
  });
}

const Bodies* bodies_in(const Node& node) { return dynamic_cast<const Bodies*>(opaque_in(node)); }

std::size_t body_bytes(const Program& program) {
  std::size_t bytes = 0;
  for (const Node& node : program.nodes) {
    const Bodies* const bodies = node.kind == Node::Kind::call ? bodies_in(node) : nullptr;
    if (bodies != nullptr) bytes += bodies->bytes();
  }
  return bytes;
}

std::size_t Bodies::bytes() const {
  std::size_t bytes = sizeof(*this);
  for (const Body& body : bodies_) {
    bytes += sizeof(Body) + program_bytes(body.program) + body_bytes(body.program);
  }
  return bytes;
}

std::shared_ptr<const CompiledBodies> compiled_in(const ops::Attributes& attributes) {
  if (attributes.size() == 0) return nullptr;
  const auto* const last =
      std::get_if<std::shared_ptr<const ops::Opaque>>(&attributes[attributes.size() - 1]);
  return last == nullptr ? nullptr : std::dynamic_pointer_cast<const CompiledBodies>(*last);
}

ops::Attributes Bodies::prepared(const ops::Kernel& kernel) const {
  const std::shared_ptr<const ops::Opaque> last = compiled(specs(kernel));
  const ops::Attributes& given = kernel.attributes;
  return given.size() == 1 ? ops::Attributes(given[0], last)
                           : ops::Attributes(given[0], given[1], last);
}

std::shared_ptr<const CompiledBodies> Bodies::compiled(std::span<const ops::Spec> specs) const {
  Signature signature;
  for (const ops::Spec& spec : specs) append(signature, spec);
  const std::lock_guard lock(mutex_);
  const auto known = programs_.find(signature);
  std::shared_ptr<const CompiledBodies> found =
      known == programs_.end() ? nullptr : known->second.lock();
  if (found != nullptr) return found;
  const std::size_t operands = specs.size() - captures();
  BodyPrograms programs;
  for (std::size_t i = 0; i < bodies_.size(); ++i) {
    const Body& body = bodies_[i];
    programs.push_back(
        compile(body.program, body.results, body.results.size(),
                given_for(body, inputs_of(i, specs.first(operands), specs.last(captures()))), {},
                {}, {.packed_limit = 0, .draws_all = true}));
  }
  found = std::make_shared<const CompiledBodies>(std::move(programs));
  if (programs_.size() >= kMaxPrograms) {
    std::erase_if(programs_, [](const auto& item) { return item.second.expired(); });
  }
  programs_[signature] = found;
  return found;
}

}  // namespace tenure::graph
