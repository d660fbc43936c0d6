#include "tenure/graph/control.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "tenure/base/error.h"
#include "tenure/graph/ir/control_ops.h"
#include "tenure/memory/default_device.h"
#include "tenure/memory/threads/call.h"
#include "tenure/ops/core/dispatch.h"
#include "tenure/ops/creation.h"
#include "tenure/ops/shape_ops.h"

namespace tenure::graph {
namespace {

using ops::Spec;
using Tensors = std::vector<Tensor>;

std::vector<Spec> specs_of(const Tensors& tensors) {
  std::vector<Spec> specs;
  for (const Tensor& tensor : tensors) specs.push_back({tensor.dtype(), tensor.shape()});
  return specs;
}

/// What records a call with these operands: the trace that this thread is in, or the graph of a
/// symbol. nullptr: it runs now.
std::shared_ptr<GraphState> recorder_for(const char* op, const Tensors& operands, Site site) {
  if (auto* const trace = dynamic_cast<GraphState*>(ops::current_trace())) {
    return trace->shared_from_this();
  }
  for (const Tensor& operand : operands) {
    const Symbol* const symbol = operand.body(op, site).symbol();
    if (symbol == nullptr) continue;
    return std::dynamic_pointer_cast<GraphState>(symbol->recorder(op, site));
  }
  return nullptr;
}

/// One node for the whole call. It takes a symbol for it to be recorded; other operands stay the
/// tensors that they are, so that a tape knows them.
Tensors record(const std::shared_ptr<GraphState>& state, const ops::OpRecord& op, BodySpecs specs,
               Tensors operands, std::vector<TracedBody> traced,
               std::span<const std::int64_t> numbers, Site site) {
  std::vector<Body> bodies;
  std::vector<std::size_t> captured;
  for (TracedBody& body : traced) {
    operands.insert(operands.end(), body.captures.begin(), body.captures.end());
    captured.push_back(body.captures.size());
    bodies.push_back(std::move(body.body));
  }
  if (operands.empty()) throw ValueError(fmt::format("{}: it has no operands", op.name));
  const auto is_symbol = [](const Tensor& tensor) { return tensor.is_symbolic(); };
  if (std::none_of(operands.begin(), operands.end(), is_symbol)) {
    operands[0] = state->constant(operands[0], site);
  }
  const std::shared_ptr<const ops::Opaque> all =
      std::make_shared<const Bodies>(std::move(bodies), std::move(captured), specs);
  const ops::Attributes attributes = numbers.empty() ? ops::Attributes(all)
                                     : numbers.size() == 1
                                         ? ops::Attributes(all, numbers[0])
                                         : ops::Attributes(all, numbers[0], numbers[1]);
  std::vector<Operand> list;
  for (const Tensor& operand : operands) list.emplace_back(operand, site);
  return ops::run_many_now(op, list, attributes, site);
}

bool holds(const char* op, const Tensor& predicate, Site site) {
  require_predicate(op, {predicate.dtype(site), predicate.shape(site)});
  return predicate.item<bool>(site);
}

}  // namespace

Tensors run_cond(const Operand& predicate, const FlatFunction& then, const FlatFunction& otherwise,
                 const Tensors& operands) try {
  const Site site = predicate.site();
  if (predicate.is_scalar()) return (predicate.scalar().floating != 0 ? then : otherwise)(operands);
  Tensors all{predicate.tensor()};
  all.insert(all.end(), operands.begin(), operands.end());
  const auto state = recorder_for("cond", all, site);
  if (state == nullptr) {
    return (holds("cond", predicate.tensor(), site) ? then : otherwise)(operands);
  }
  const std::vector<Spec> specs = specs_of(operands);
  return record(state, cond_record(), cond_specs, std::move(all),
                {trace_body(state, "then branch", specs, then, site),
                 trace_body(state, "else branch", specs, otherwise, site)},
                {}, site);
} catch (Error& error) {
  mem::name_call(error, "cond", predicate.site());
  throw;
}

Tensors run_while(const FlatFunction& condition, const FlatFunction& body, Tensors state,
                  std::int64_t max_iterations, Site site) try {
  if (max_iterations < 0) throw ValueError("while_loop: the most iterations are negative");
  if (state.empty()) throw ValueError("while_loop: the state has no tensors");
  const std::vector<Spec> specs = specs_of(state);
  const auto as_node = [&](const std::shared_ptr<GraphState>& recorder) {
    const std::array numbers{max_iterations};
    return record(recorder, while_record(), while_specs, state,
                  {trace_body(recorder, "condition", specs, condition, site),
                   trace_body(recorder, "loop body", specs, body, site)},
                  numbers, site);
  };
  if (const auto recorder = recorder_for("while_loop", state, site)) return as_node(recorder);
  for (std::int64_t i = 0;; ++i) {
    const Tensors flag = condition(state);
    // It may ask a graph, which knows only when it runs.
    const auto recorder = i == 0 ? recorder_for("while_loop", flag, site) : nullptr;
    if (recorder != nullptr) return as_node(recorder);
    if (!holds("while_loop", flag.at(0), site)) return state;
    if (max_iterations != 0 && i >= max_iterations) throw_runaway(max_iterations);
    Tensors next = body(state);
    require_same("while_loop", specs, "the state", specs_of(next), "what the body gives");
    state = std::move(next);
  }
} catch (Error& error) {
  mem::name_call(error, "while_loop", site);
  throw;
}

Tensors run_scan(const FlatFunction& body, Tensors carry, const Tensors& xs, Site site) try {
  Tensors all = carry;
  all.insert(all.end(), xs.begin(), xs.end());
  std::vector<Spec> elements;
  for (const Spec& spec : specs_of(xs)) elements.push_back(element_of(spec));
  const std::int64_t length = length_of(specs_of(xs));
  std::vector<Spec> specs = specs_of(carry);
  specs.insert(specs.end(), elements.begin(), elements.end());
  const auto carried = static_cast<std::int64_t>(carry.size());
  if (const auto recorder = recorder_for("scan", all, site)) {
    const std::array numbers{carried};
    return record(recorder, scan_record(), scan_specs, std::move(all),
                  {trace_body(recorder, "loop body", specs, body, site)}, numbers, site);
  }
  std::vector<Tensors> rows;  // per result besides the carry
  for (std::int64_t i = 0; i < length; ++i) {
    Tensors operands = carry;
    for (const Tensor& x : xs) operands.push_back(select(Operand(x, site), 0, i));
    Tensors results = body(operands);
    if (results.size() < carry.size())
      throw ShapeError("scan", "the body gives less than the carry");
    const Tensors next(results.begin(), results.begin() + carried);
    require_same("scan", specs_of(carry), "the carry", specs_of(next), "what the body gives");
    carry = next;
    rows.resize(results.size() - carry.size());
    for (std::size_t y = 0; y < rows.size(); ++y) rows[y].push_back(results[carry.size() + y]);
  }
  Tensors results = carry;
  for (const Tensors& row : rows) results.push_back(stack(OperandList(row, site), 0));
  if (length != 0) return results;
  // Nothing ran: what the body would give tells the shapes.
  const DeviceScope device(all.empty() ? default_device() : all[0].device());
  const auto scratch = std::make_shared<GraphState>(GraphState::Kind::trace, "scan", site);
  const TracedBody traced = trace_body(scratch, "loop body", specs, body, site);
  const Program& program = traced.body.program;
  for (std::size_t y = carry.size(); y < traced.body.results.size(); ++y) {
    const Spec& spec = program.spec(traced.body.results[y]);
    Shape shape{0};
    for (const std::int64_t d : spec.shape) shape.push_back(d);
    results.push_back(zeros(shape, spec.dtype, site));
  }
  return results;
} catch (Error& error) {
  mem::name_call(error, "scan", site);
  throw;
}

}  // namespace tenure::graph
