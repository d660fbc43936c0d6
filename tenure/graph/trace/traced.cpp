#include "tenure/graph/trace/traced.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "tenure/base/error.h"
#include "tenure/base/per_thread.h"
#include "tenure/graph/ir/body.h"
#include "tenure/graph/passes/compile.h"
#include "tenure/graph/trace/state.h"

namespace tenure::graph {
namespace {

/// The functions that this thread is tracing.
std::vector<const void*>& being_traced() { return PerThread<std::vector<const void*>>::get(); }

}  // namespace

TracingOnce::TracingOnce(const void* function, const std::string& name, Site site) {
  if (std::find(being_traced().begin(), being_traced().end(), function) != being_traced().end()) {
    throw GraphError(fmt::format("function \"{}\" calls itself; a trace has no end then", name),
                     site);
  }
  being_traced().push_back(function);
}

TracingOnce::~TracingOnce() { being_traced().pop_back(); }

Traced trace_call(const FunctionCore::Trace& callable, std::span<const ops::Spec> specs,
                  const void* function, const std::string& name, Site site) {
  const auto state = std::make_shared<GraphState>(GraphState::Kind::trace, name, site);
  Traced traced;
  std::vector<Tensor> symbols;
  for (const ops::Spec& spec : specs) {
    symbols.push_back(
        state->input(fmt::format("argument {}", symbols.size()), spec.dtype, spec.shape, site));
    traced.inputs.push_back(state->value_of(symbols.back(), "function", site));
  }
  FunctionCore::Result result;
  {
    const TracingOnce once(function, name, site);
    const ops::TraceScope scope(state.get());
    result = callable(symbols);
  }
  for (const Tensor& tensor : result.tensors) {
    traced.fetches.push_back(state->value_of(tensor, "function", site));
  }
  traced.returned = traced.fetches.size();
  const std::vector<Value> assignments = state->assignments();
  traced.fetches.insert(traced.fetches.end(), assignments.begin(), assignments.end());
  traced.frame = std::move(result.frame);
  traced.program = state->take();  // without its graph, symbols that got away are of no use
  take_over_constants(traced.program);
  return traced;
}

void take_over_constants(const Program& program) {
  for (const Node& node : program.nodes) {
    TensorBody* const body = node.kind == Node::Kind::constant ? node.data.body_or_null() : nullptr;
    if (body != nullptr && body->sole_handle()) body->set_kind(HolderKind::cache);
  }
}

std::size_t Traced::bytes() const { return program_bytes(program) + body_bytes(program); }

std::vector<ops::Spec> Traced::specs() const {
  std::vector<ops::Spec> specs;
  for (const Value input : inputs) specs.push_back(program.spec(input));
  return specs;
}

std::shared_ptr<const Executable> Traced::compiled(std::span<const ops::Spec> specs,
                                                   std::span<const Strides> strides,
                                                   std::vector<bool> donated, Site site,
                                                   const CompileOptions& options) const {
  std::vector<Given> given;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    given.push_back({.value = inputs[i], .spec = specs[i], .strides = strides[i]});
  }
  CompileOptions all = options;
  all.draws_all = true;
  return compile(program, fetches, returned, given, std::move(donated), site, all);
}

}  // namespace tenure::graph
