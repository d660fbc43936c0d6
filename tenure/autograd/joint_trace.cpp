#include "tenure/autograd/joint_trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "tenure/autograd/state.h"
#include "tenure/graph/body.h"
#include "tenure/graph/builder.h"
#include "tenure/graph/compile.h"
#include "tenure/graph/state.h"
#include "tenure/graph/variable_state.h"

namespace tenure::autograd {
namespace {

using graph::Argument;
using graph::FunctionCore;
using graph::Given;
using graph::GraphState;
using GraphNode = graph::Node;
using graph::Program;

struct Precedes {
  bool operator()(graph::Value a, graph::Value b) const {
    return std::pair(a.node, a.output) < std::pair(b.node, b.output);
  }
};
using Values = std::map<graph::Value, graph::Value, Precedes>;

/// The second part of a joint program.
struct Cut {
  graph::Builder builder{graph::Builder::Constants::by_identity};
  Values values;                    ///< of the joint program, in this part
  std::vector<graph::Value> saved;  ///< those of the first part that this one reads
};

/// Nodes from `first` on belong to the way back; `wanted` are values of it, or of the first part.
Cut cut_off(const Program& joint, std::int32_t first, std::span<const graph::Value> wanted) {
  const auto is_made_again = [&](std::int32_t n) {
    const GraphNode& node = joint.nodes[static_cast<std::size_t>(n)];
    if (node.kind == GraphNode::Kind::constant) return true;
    if (node.kind != GraphNode::Kind::call) return false;
    return n >= first || node.op->memory.kind == ops::MemoryEffect::Kind::view;
  };
  std::set<graph::Value, Precedes> read(wanted.begin(), wanted.end());
  for (auto value = read.rbegin(); value != read.rend(); ++value) {  // arguments come before it
    if (!is_made_again(value->node)) continue;
    for (const Argument& argument : joint[*value].arguments) {
      if (!argument.number) read.insert(argument.value);
    }
  }
  Cut cut;
  for (const graph::Value value : read) {
    if (cut.values.contains(value)) continue;
    const GraphNode& node = joint[value];
    if (!is_made_again(value.node)) {
      if (value.node < first) cut.saved.push_back(value);
      cut.values[value] = cut.builder.input(fmt::format("{}.{}", value.node, value.output),
                                            joint.spec(value), node.site);
      continue;
    }
    std::vector<Argument> arguments;
    for (const Argument& argument : node.arguments) {
      arguments.push_back(argument.number ? argument
                                          : Argument{.value = cut.values.at(argument.value)});
    }
    const std::vector<graph::Value> made = cut.builder.copy(node, std::move(arguments));
    for (std::size_t o = 0; o < made.size(); ++o) {
      cut.values[{.node = value.node, .output = static_cast<std::int32_t>(o)}] = made[o];
    }
  }
  return cut;
}

}  // namespace

std::vector<Tensor> JointTrace::go_back(std::vector<Tensor> arguments) const {
  FunctionCore::Call call;
  call.layout.push_back(static_cast<std::int64_t>(arguments.size()));
  call.tensors = std::move(arguments);
  return core
      ->call(call,
             [this](const std::vector<Tensor>& symbols) {
               return FunctionCore::Result{
                   .tensors = graph::replay(back, back_arguments, back_results, symbols),
                   .frame = {}};
             })
      .tensors;
}

std::shared_ptr<const JointTrace> make_joint_trace(FunctionCore& core,
                                                   const FunctionCore::Call& call,
                                                   const FunctionCore::Trace& trace,
                                                   const std::vector<bool>& watched) {
  const Site site = core.site();
  auto joint = std::make_shared<JointTrace>();
  joint->name = fmt::format("function \"{}\"", core.options().name);
  const auto state =
      std::make_shared<GraphState>(GraphState::Kind::trace, core.options().name, site);
  std::vector<Tensor> symbols;
  std::vector<Given> given;
  for (std::size_t i = 0; i < call.tensors.size(); ++i) {
    const Tensor& tensor = call.tensors[i];
    symbols.push_back(
        state->input(fmt::format("argument {}", i), tensor.dtype(), tensor.shape(), site));
    given.push_back({.value = state->value_of(symbols.back(), "function", site),
                     .spec = {tensor.dtype(), tensor.shape()}});
  }

  const ops::TraceScope scope(state.get());
  const auto tape = std::make_shared<TapeState>(false, true, site);
  FunctionCore::Result traced;
  {
    TapeState::begin(tape);
    struct Ending {
      const std::shared_ptr<TapeState>& tape;
      ~Ending() { TapeState::end(tape); }
    };
    const Ending ending{tape};
    for (std::size_t i = 0; i < symbols.size(); ++i) {
      if (watched[i]) tape->watch(symbols[i]);
    }
    traced = core.trace_into(*state, symbols, trace);
  }
  joint->frame = traced.frame;

  // Sources: watched arguments, and the trainable variables that were read.
  const auto first = state->read([](const Program& p) { return std::int32_t(p.nodes.size()); });
  std::vector<Value> sources;
  for (std::size_t i = 0; i < symbols.size(); ++i) {
    if (!watched[i]) continue;
    joint->sources.push_back(i);
    sources.push_back(tape->find(symbols[i]));
  }
  std::map<graph::Value, std::size_t, Precedes> places;  // among arguments and variables
  for (std::size_t i = 0; i < given.size(); ++i) places[given[i].value] = i;
  state->read([&](const Program& program) {
    for (std::int32_t n = 0; n < first; ++n) {
      const GraphNode& node = program.nodes[static_cast<std::size_t>(n)];
      if (node.kind != GraphNode::Kind::variable) continue;
      const std::size_t place = symbols.size() + joint->variables.size();
      joint->variables.push_back(node.variable);
      places[{.node = n}] = place;
      const Value value = tape->find_variable(node.variable->number);
      if (value == kNoValue) continue;
      joint->sources.push_back(place);
      sources.push_back(value);
    }
  });

  std::vector<graph::Value> fetches;
  std::vector<Value> targets;
  std::vector<Tensor> seeds;
  std::vector<graph::Value> seed_values;
  for (std::size_t o = 0; o < traced.tensors.size(); ++o) {
    const Tensor& output = traced.tensors[o];
    fetches.push_back(state->value_of(output, "function", site));
    joint->output_specs.push_back({output.dtype(), output.shape()});
    const Value target = tape->find(output);
    if (target == kNoValue || sources.empty()) continue;
    joint->differentiable_outputs.push_back(o);
    targets.push_back(target);
    seeds.push_back(
        state->input(fmt::format("gradient {}", o), output.dtype(), output.shape(), site));
    seed_values.push_back(state->value_of(seeds.back(), "function", site));
  }
  if (targets.empty()) {  // no tape has to know of such calls
    joint->sources.clear();
    sources.clear();
  }
  const std::vector<Tensor> gradients = tape->go_back(targets, seeds, sources, false);

  std::vector<graph::Value> wanted = seed_values;
  for (const Tensor& gradient : gradients) {
    joint->has_gradient.push_back(gradient.defined());
    // Where no gradient arrives nothing is computed; any value stands in.
    wanted.push_back(gradient.defined() ? state->value_of(gradient, "function", site)
                                        : seed_values[0]);
  }
  const Program program = state->read([](const Program& p) { return p; });
  Cut cut = cut_off(program, first, wanted);
  for (const graph::Value value : cut.saved) {
    joint->back_arguments.push_back(cut.values.at(value));
    if (const auto place = places.find(value); place != places.end()) {
      joint->saved.push_back({.is_result = false, .index = place->second});
    } else {
      joint->saved.push_back({.is_result = true, .index = fetches.size()});
      fetches.push_back(value);
    }
  }
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    (i < seed_values.size() ? joint->back_arguments : joint->back_results)
        .push_back(cut.values.at(wanted[i]));
  }
  joint->back = std::move(cut.builder).take();
  const std::vector<graph::Value> assignments = state->assignments();
  const std::size_t returned = fetches.size();
  fetches.insert(fetches.end(), assignments.begin(), assignments.end());
  FunctionOptions options = core.options();
  joint->forward = graph::compile(program, fetches, returned, given, {}, site,
                                  {.budget = options.budget,
                                   .recompute = options.recompute,
                                   .check_numbers = options.check_numbers});
  options.name = "way back of " + options.name;
  joint->core = std::make_shared<FunctionCore>(std::move(options), site);
  return joint;
}

}  // namespace tenure::autograd
