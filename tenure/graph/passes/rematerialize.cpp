#include "tenure/graph/passes/rematerialize.h"

#include <fmt/format.h>

#include <algorithm>

#include "tenure/base/units.h"
#include "tenure/graph/body.h"
#include "tenure/ops/cost.h"
#include "tenure/planner/remat.h"

namespace tenure::graph {
namespace {

/// What a usual machine does in a nanosecond, and what it takes to begin.
constexpr double kFlops = 100;
constexpr double kBytes = 20;
constexpr double kBegin = 500;

std::size_t at(int i) { return static_cast<std::size_t>(i); }

kernels::View view_of(const Layout& layout) {
  return {.dtype = layout.dtype, .shape = layout.shape, .strides = layout.strides, .data = nullptr};
}

double cost_of(const Unit& unit) {
  std::vector<kernels::View> in;
  std::vector<kernels::View> out;
  for (const Layout& layout : unit.in) in.push_back(view_of(layout));
  for (const Layout& layout : unit.out) out.push_back(view_of(layout));
  ops::Cost cost;
  if (unit.nodes == 1) {
    cost = ops::cost_of(*unit.node->op,
                        {.in = in, .out = out, .attributes = unit.node->attribute_list()});
  } else {  // loops, or a copy
    std::int64_t elements = count(unit.made.shape);
    for (const auto& views : {in, out}) {
      for (const kernels::View& view : views) {
        elements = std::max(elements, view.count());
        cost.bytes += static_cast<double>(view.count()) * static_cast<double>(size_of(view.dtype));
      }
    }
    cost.flops = unit.loop.cost * static_cast<double>(elements);
  }
  return kBegin + cost.flops / kFlops + cost.bytes / kBytes;
}

/// Whether a variable that the run has found gets this output: it is computed where that lies.
bool has_home(const Lowered& lowered, const Buffer& output) {
  for (const Assignment& assignment : lowered.assignments) {
    if (assignment.output != output.index) continue;
    for (const Buffer& buffer : lowered.buffers) {
      if (buffer.kind == Buffer::Kind::source && buffer.is_home && buffer.bytes == output.bytes &&
          lowered.sources[at(buffer.index)].variable == assignment.variable) {
        return true;
      }
    }
  }
  return false;
}

planner::Dag dag_of(const Lowered& lowered) {
  planner::Dag dag;
  for (const Unit& unit : lowered.units) {
    planner::Node node{.workspace = static_cast<std::int64_t>(unit.workspace),
                       .cost = static_cast<std::int64_t>(cost_of(unit))};
    // Random ops draw the same again; bodies with random ops inside do not.
    const Bodies* const bodies = bodies_in(*unit.node);
    node.pure = bodies == nullptr || !bodies->draw();
    for (const Layout& out : unit.out) {
      const Buffer& buffer = lowered.buffers[at(out.buffer)];
      const bool is_output = buffer.kind == Buffer::Kind::output;
      node.output |= is_output;
      if (is_output && has_home(lowered, buffer)) continue;
      node.bytes += static_cast<std::int64_t>(
          round_up(static_cast<std::size_t>(buffer.bytes), kBufferAlignment));
    }
    for (std::size_t i = 0; i < unit.in.size(); ++i) {
      const int producer = lowered.buffers[at(unit.in[i].buffer)].unit;
      if (producer < 0) continue;
      auto found = std::find(node.inputs.begin(), node.inputs.end(), producer);
      if (found == node.inputs.end()) found = node.inputs.insert(found, producer);
      const auto position = found - node.inputs.begin();
      if (unit.out.size() == 1 && lowered.units[at(producer)].out.size() == 1 && i < 32 &&
          position < 32 && (unit.overwrites[0] >> i & 1) != 0) {
        node.overwrites |= 1u << position;
      }
    }
    dag.nodes.push_back(std::move(node));
  }
  return dag;
}

/// But for the buffer.
bool reads_alike(const Layout& a, const Layout& b) {
  return a.dtype == b.dtype && a.shape == b.shape && a.strides == b.strides && a.offset == b.offset;
}

/// The program as a word over its units says: the last of several computations of a unit writes its
/// buffers, those before write buffers of their own.
std::unique_ptr<Lowered> repeat_units(const Lowered& lowered, const std::vector<int>& word) {
  auto made = std::make_unique<Lowered>(lowered);
  made->units.clear();
  std::vector<int> left(lowered.units.size());  // computations still to come
  std::vector<bool> is_known(lowered.units.size());
  for (const int u : word) ++left[at(u)];
  std::vector<int> latest(lowered.buffers.size());  // the buffer that holds what this one held
  for (std::size_t b = 0; b < latest.size(); ++b) latest[b] = static_cast<int>(b);
  for (const int u : word) {
    Unit unit = lowered.units[at(u)];
    const int position = static_cast<int>(made->units.size());
    unit.origin = u;
    if (is_known[at(u)]) unit.may_fail = false;  // it did not
    is_known[at(u)] = true;
    // Nodes are those of the copy of the program.
    unit.node =
        made->request.program.nodes.data() + (unit.node - lowered.request.program.nodes.data());
    for (Layout& in : unit.in) in.buffer = latest[at(in.buffer)];
    const bool is_last = --left[at(u)] == 0;
    for (Layout& out : unit.out) {
      const int original = out.buffer;
      if (!is_last) {
        out.buffer = static_cast<int>(made->buffers.size());
        made->buffers.push_back(
            {.kind = Buffer::Kind::temporary, .bytes = lowered.buffers[at(original)].bytes});
      }
      latest[at(original)] = out.buffer;
      made->buffers[at(out.buffer)].unit = position;
    }
    made->units.push_back(std::move(unit));
  }
  return made;
}

}  // namespace

Rematerialized rematerialize(const Lowered& lowered, std::int64_t budget, std::int64_t search) {
  const planner::Dag dag = dag_of(lowered);
  const planner::RematPlan plan = planner::rematerialize(dag, budget, {.steps = search});
  Rematerialized made{.lowered = repeat_units(lowered, plan.steps),
                      .added_cost = static_cast<double>(plan.added_cost)};
  for (const planner::Node& node : dag.nodes) made.base_cost += static_cast<double>(node.cost);
  return made;
}

std::optional<std::string> validate(const Lowered& original, const Lowered& rewritten) {
  if (rewritten.buffers.size() < original.buffers.size()) return "buffers are missing";
  // What each buffer of the rewritten program holds: the result of a unit, by the original's buffer
  // for it; -1: nothing yet.
  std::vector<int> holds(rewritten.buffers.size(), -1);
  for (std::size_t b = 0; b < original.buffers.size(); ++b) {
    if (original.buffers[b].unit < 0) holds[b] = static_cast<int>(b);
  }
  std::vector<int> times(original.units.size());
  for (std::size_t t = 0; t < rewritten.units.size(); ++t) {
    const Unit& copy = rewritten.units[t];
    const auto wrong = [t](const char* problem) { return fmt::format("step {} {}", t, problem); };
    if (copy.origin < 0 || at(copy.origin) >= original.units.size()) {
      return wrong("is no unit of the program");
    }
    const Unit& unit = original.units[at(copy.origin)];
    ++times[at(copy.origin)];
    if (copy.node - rewritten.request.program.nodes.data() !=
            unit.node - original.request.program.nodes.data() ||
        copy.in.size() != unit.in.size() || copy.out.size() != unit.out.size()) {
      return wrong("does something else than its unit");
    }
    for (std::size_t i = 0; i < unit.in.size(); ++i) {
      if (!reads_alike(copy.in[i], unit.in[i])) return wrong("reads an input in another way");
      if (holds[at(copy.in[i].buffer)] != unit.in[i].buffer) {
        return wrong("does not find what it reads");
      }
    }
    for (std::size_t o = 0; o < unit.out.size(); ++o) {
      if (!reads_alike(copy.out[o], unit.out[o]) ||
          rewritten.buffers[at(copy.out[o].buffer)].bytes !=
              original.buffers[at(unit.out[o].buffer)].bytes) {
        return wrong("writes a buffer of another size or in another way");
      }
      holds[at(copy.out[o].buffer)] = unit.out[o].buffer;
    }
  }
  for (std::size_t u = 0; u < times.size(); ++u) {
    if (times[u] == 0) return fmt::format("unit {} is never computed", u);
  }
  for (std::size_t b = 0; b < original.buffers.size(); ++b) {
    if (original.buffers[b].kind == Buffer::Kind::output && holds[b] != static_cast<int>(b)) {
      return fmt::format("output {} is not there at the end", original.buffers[b].index);
    }
  }
  return std::nullopt;
}

}  // namespace tenure::graph
