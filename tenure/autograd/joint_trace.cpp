#include "tenure/autograd/joint_trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <map>
#include <set>
#include <utility>

#include "tenure/autograd/state.h"
#include "tenure/graph/ir/builder.h"
#include "tenure/graph/ir/variable_state.h"
#include "tenure/graph/trace/call_signature.h"
#include "tenure/graph/trace/state.h"

namespace tenure::autograd {
namespace {

using graph::Argument;
using graph::FunctionCore;
using graph::GraphState;
using GraphNode = graph::Node;
using graph::Program;

struct Precedes {
  bool operator()(graph::Value a, graph::Value b) const {
    return std::pair(a.node, a.output) < std::pair(b.node, b.output);
  }
};
using Values = std::map<graph::Value, graph::Value, Precedes>;
using Places = std::map<graph::Value, std::size_t, Precedes>;  // among JointTrace::sources' numbers

/// The second part of a joint program.
struct Cut {
  graph::Builder builder;
  Values values;                    ///< of the joint program, in this part
  std::vector<graph::Value> saved;  ///< those of the first part that this one reads
};

/// Nodes from `first` on belong to the way back; `wanted` are values of it, or of the first part.
/// `places` has what is known before the first part runs.
Cut cut_off(const Program& joint, std::int32_t first, std::span<const graph::Value> wanted,
            const Places& places) {
  const auto is_made_again = [&](std::int32_t n) {
    const GraphNode& node = joint.nodes[static_cast<std::size_t>(n)];
    if (node.kind == GraphNode::Kind::constant) return !places.contains({.node = n});
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
  Cut cut{
      .builder = {graph::Builder::Constants::by_identity, joint.device}, .values = {}, .saved = {}};
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

/// Of each value, whether a target depends on it.
std::vector<bool> reached_from(const TapeState& tape, std::span<const Value> targets) {
  std::vector<bool> reached = tape.reached_from(kNoValue);
  for (const Value target : targets) {
    const std::vector<bool> more = tape.reached_from(target);
    for (std::size_t i = 0; i < reached.size(); ++i) reached[i] = reached[i] || more[i];
  }
  return reached;
}

bool is_open(std::span<const ops::Spec> specs) {
  return std::any_of(specs.begin(), specs.end(), [](const ops::Spec& spec) {
    return std::find(spec.shape.begin(), spec.shape.end(), kUnknown) != spec.shape.end();
  });
}

/// nullptr: the way back has to know dimensions that are unknown.
std::shared_ptr<JointTrace> try_joint_trace(const FunctionCore& core,
                                            const FunctionCore::Trace& trace,
                                            std::span<const ops::Spec> specs,
                                            std::span<const Tensor> arguments,
                                            const TapeState& outside) {
  const Site site = core.site();
  static constinit std::atomic<std::int64_t> numbers{0};
  auto joint = std::make_shared<JointTrace>();
  joint->number = ++numbers;
  const auto state =
      std::make_shared<GraphState>(GraphState::Kind::trace, core.options().name, site);
  std::vector<Tensor> symbols;
  for (const ops::Spec& spec : specs) {
    symbols.push_back(
        state->input(fmt::format("argument {}", symbols.size()), spec.dtype, spec.shape, site));
    joint->inputs.push_back(state->value_of(symbols.back(), "function", site));
  }

  const ops::TraceScope scope(state.get());
  const auto tape = std::make_shared<TapeState>(false, true, site);
  tape->adopt_from(outside);
  FunctionCore::Result traced;
  {
    TapeState::begin(tape);
    struct Ending {
      const std::shared_ptr<TapeState>& tape;
      ~Ending() { TapeState::end(tape); }
    };
    const Ending ending{tape};
    for (std::size_t i = 0; i < symbols.size(); ++i) {
      if (outside.find(arguments[i]) != kNoValue) tape->watch(symbols[i]);
    }
    traced = core.trace_into(*state, symbols, trace);
  }
  joint->frame = traced.frame;

  std::vector<graph::Value>& fetches = joint->fetches;
  joint->outputs = traced.tensors.size();
  for (const Tensor& output : traced.tensors) {
    fetches.push_back(state->value_of(output, "function", site));
  }
  const auto first = state->read([](const Program& p) { return std::int32_t(p.nodes.size()); });
  std::vector<Value> targets;
  std::vector<Tensor> seeds;
  std::vector<graph::Value> seed_values;
  for (std::size_t o = 0; o < traced.tensors.size(); ++o) {
    const Tensor& output = traced.tensors[o];
    const Value target = tape->find_or_adopt(output);
    if (target == kNoValue) continue;
    joint->differentiable_outputs.push_back(o);
    targets.push_back(target);
    seeds.push_back(
        state->input(fmt::format("gradient {}", o), output.dtype(), output.shape(), site));
    seed_values.push_back(state->value_of(seeds.back(), "function", site));
  }

  // Sources: watched arguments, trainable variables that were read, and what is captured and known
  // outside, as far as results depend on them.
  const std::vector<bool> reached = reached_from(*tape, targets);
  std::vector<Value> sources;
  Places places;
  const auto add = [&](graph::Value at, Value value) {
    const std::size_t place = places.size();
    places[at] = place;
    if (value == kNoValue || !reached[value]) return;
    joint->sources.push_back(place);
    sources.push_back(value);
  };
  for (std::size_t i = 0; i < symbols.size(); ++i) add(joint->inputs[i], tape->find(symbols[i]));
  const auto for_each_of = [&](GraphNode::Kind kind, const auto& f) {
    state->read([&](const Program& program) {
      for (std::int32_t n = 0; n < first; ++n) {
        const GraphNode& node = program.nodes[static_cast<std::size_t>(n)];
        if (node.kind == kind) f(n, node);
      }
    });
  };
  for_each_of(GraphNode::Kind::variable, [&](std::int32_t n, const GraphNode& node) {
    joint->variables.push_back(node.variable);
    add({.node = n}, tape->find_variable(node.variable->number));
  });
  for_each_of(GraphNode::Kind::constant, [&](std::int32_t n, const GraphNode& node) {
    joint->captures.push_back(n);
    add({.node = n}, tape->find(node.data));
  });
  if (sources.empty()) {  // no tape has to know of such calls
    joint->differentiable_outputs.clear();
    targets.clear();
    seeds.clear();
    seed_values.clear();
  }
  std::vector<Tensor> gradients;
  try {
    const ops::Untaped untaped;  // the tape around the call sees nothing of the trace
    gradients = tape->go_back(targets, seeds, sources, false);
  } catch (const std::exception&) {
    if (!is_open(specs)) throw;
    return nullptr;
  }

  std::vector<graph::Value> wanted = seed_values;
  for (const Tensor& gradient : gradients) {
    joint->has_gradient.push_back(gradient.defined());
    // Where no gradient arrives nothing is computed; any value stands in.
    wanted.push_back(gradient.defined() ? state->value_of(gradient, "function", site)
                                        : seed_values[0]);
  }
  const std::vector<graph::Value> assignments = state->assignments();
  joint->program = state->take();
  joint->watched_captures = joint->known_captures(outside);
  Cut cut = cut_off(joint->program, first, wanted, places);
  auto back = std::make_shared<graph::Traced>();
  for (const graph::Value value : cut.saved) {
    back->inputs.push_back(cut.values.at(value));
    if (const auto place = places.find(value); place != places.end()) {
      joint->saved.push_back({.is_result = false, .index = place->second});
    } else {
      const auto known = std::find(fetches.begin(), fetches.end(), value);
      joint->saved.push_back(
          {.is_result = true, .index = static_cast<std::size_t>(known - fetches.begin())});
      if (known == fetches.end()) fetches.push_back(value);
    }
  }
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    (i < seed_values.size() ? back->inputs : back->fetches).push_back(cut.values.at(wanted[i]));
  }
  back->returned = back->fetches.size();
  back->program = std::move(cut.builder).take();
  joint->back = std::move(back);
  joint->program.nodes.resize(static_cast<std::size_t>(first));
  joint->returned = fetches.size();
  fetches.insert(fetches.end(), assignments.begin(), assignments.end());
  return joint;
}

}  // namespace

std::vector<std::int64_t> JointTrace::known_captures(const TapeState& tape) const {
  std::vector<std::int64_t> ids;
  for (std::size_t i = 0; i < captures.size(); ++i) {
    if (tape.find(capture(i)) != kNoValue) {
      ids.push_back(static_cast<std::int64_t>(capture(i).id()));
    }
  }
  return ids;
}

std::shared_ptr<const JointTrace> make_joint_trace(const FunctionCore& core,
                                                   const FunctionCore::Call& call,
                                                   const FunctionCore::Trace& trace,
                                                   std::span<const ops::Spec> specs,
                                                   const TapeState& outside) {
  auto joint = try_joint_trace(core, trace, specs, call.tensors, outside);
  if (joint == nullptr) {
    joint = try_joint_trace(core, trace, graph::specs_of(call), call.tensors, outside);
  }
  graph::take_over_constants(joint->program);
  return joint;
}

}  // namespace tenure::autograd
