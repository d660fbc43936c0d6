#include "tenure/graph/passes/rematerialize.h"

#include <algorithm>
#include <numeric>

#include "tenure/graph/ir/body.h"
#include "tenure/graph/passes/kernel_views.h"
#include "tenure/ops/core/cost.h"

namespace tenure::graph {

ops::Cost cost_of(const Unit& unit) {
  ops::Cost cost;
  double elements = 0;
  for (const auto& layouts : {unit.in, unit.out}) {
    for (const Layout& layout : layouts) {
      const auto n = static_cast<double>(count(layout.shape));
      elements = std::max(elements, n);
      cost.bytes += n * static_cast<double>(size_of(layout.dtype));
    }
  }
  if (unit.nodes == 0) {
    cost.flops = elements;
  } else if (is_loop(unit)) {
    cost.flops = unit.loop.code.cost() * elements;
  } else {
    const KernelViews views(unit);
    cost.flops = ops::cost_of(*unit.node->op, views.kernel()).flops;
    if (!unit.loop.empty()) {
      cost.flops += unit.loop.code.cost() * static_cast<double>(count(unit.made.shape));
    }
    if (!unit.after.empty()) {
      cost.flops += unit.after.code.cost() * static_cast<double>(count(unit.out[0].shape));
    }
  }
  return cost;
}

namespace {

/// The most that costs may come to, which the planner could not add up otherwise.
constexpr double kMostCost = 1e15;

/// Of each unit, in nanoseconds.
std::vector<double> nanoseconds_of(const Lowered& lowered) {
  const ops::WorkRates rates = ops::backend(lowered.request.device).work_rates();
  std::vector<double> costs;
  for (const Unit& unit : lowered.units) {
    costs.push_back(unit.parts * nanoseconds(cost_of(unit), rates));
  }
  return costs;
}

double total(const std::vector<double>& costs) {
  return std::accumulate(costs.begin(), costs.end(), 0.0);
}

/// The buffer that holds what a variable held which gets this output: it can be computed there. -1:
/// there is none.
int reusable_for(const Lowered& lowered, const Buffer& output) {
  for (const Assignment& assignment : lowered.assignments) {
    if (assignment.output != output.index) continue;
    for (std::size_t b = 0; b < lowered.buffers.size(); ++b) {
      const Buffer& buffer = lowered.buffers[b];
      if (buffer.kind == Buffer::Kind::source && buffer.is_reusable &&
          buffer.bytes == output.bytes &&
          lowered.sources[at(buffer.index)].variable == assignment.variable) {
        return static_cast<int>(b);
      }
    }
  }
  return -1;
}

/// Temporaries that end in the memory of an output: only a unit that may overwrite them reads them,
/// and its result is the output, or such a temporary itself.
std::vector<bool> become_outputs(const Lowered& lowered) {
  std::vector<int> readers(lowered.buffers.size());
  for (const Unit& unit : lowered.units) {
    for (const Layout& in : unit.in) ++readers[at(in.buffer)];
  }
  std::vector<bool> become(lowered.buffers.size());
  for (auto unit = lowered.units.rbegin(); unit != lowered.units.rend(); ++unit) {
    for (std::size_t o = 0; o < unit->out.size(); ++o) {
      const int out = unit->out[o].buffer;
      if (lowered.buffers[at(out)].kind != Buffer::Kind::output && !become[at(out)]) continue;
      for (std::size_t i = 0; i < unit->in.size() && i < 32; ++i) {
        const int in = unit->in[i].buffer;
        if ((unit->overwrites[o] >> i & 1) == 0 || readers[at(in)] != 1 ||
            lowered.buffers[at(in)].kind != Buffer::Kind::temporary) {
          continue;
        }
        become[at(in)] = true;
        break;
      }
    }
  }
  return become;
}

/// The step of a word after which nobody reads the buffer any more; -1: nobody does.
int last_reader(const Lowered& lowered, const std::vector<int>& word, int buffer) {
  for (std::size_t t = word.size(); t-- > 0;) {
    const std::vector<Layout>& in = lowered.units[at(word[t])].in;
    if (std::any_of(in.begin(), in.end(), [&](const Layout& l) { return l.buffer == buffer; })) {
      return static_cast<int>(t);
    }
  }
  return -1;
}

}  // namespace

std::vector<std::int64_t> costs_of(const Lowered& lowered) {
  const std::vector<double> costs = nanoseconds_of(lowered);
  const double all = total(costs);
  std::vector<std::int64_t> rounded;
  for (const double cost : costs) {
    rounded.push_back(static_cast<std::int64_t>(all > kMostCost ? cost / all * kMostCost : cost));
  }
  return rounded;
}

planner::Dag dag_of(const Lowered& lowered) {
  planner::Dag dag;
  const std::vector<bool> becomes_output = become_outputs(lowered);
  const std::vector<std::int64_t> costs = costs_of(lowered);
  for (const Unit& unit : lowered.units) {
    planner::Node node{.workspace = aligned(lowered, static_cast<std::int64_t>(unit.workspace)),
                       .cost = costs[at(static_cast<int>(dag.nodes.size()))]};
    // Random ops draw the same again; bodies with random ops inside do not. What runs in turn with
    // others cannot be computed again alone.
    const Bodies* const bodies = bodies_in(*unit.node);
    node.pure = unit.parts == 1 && (bodies == nullptr || !bodies->draws());
    for (const Layout& out : unit.out) {
      const Buffer& buffer = lowered.buffers[at(out.buffer)];
      if (buffer.kind == Buffer::Kind::output) {
        node.output = true;
        if (reusable_for(lowered, buffer) < 0) dag.resident += buffer.bytes;
      } else if (!becomes_output[at(out.buffer)]) {
        node.bytes += aligned(lowered, buffer.bytes);
      }
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

std::vector<int> with_late_updates(const Lowered& lowered, std::vector<int> word) {
  for (const Buffer& output : lowered.buffers) {
    if (output.kind != Buffer::Kind::output) continue;
    const int reusable = reusable_for(lowered, output);
    if (reusable < 0 || std::count(word.begin(), word.end(), output.unit) != 1) continue;
    const auto update = std::find(word.begin(), word.end(), output.unit);
    const auto last = word.begin() + last_reader(lowered, word, reusable);
    const bool is_read = std::any_of(update, word.end(), [&](int u) {
      const std::vector<Layout>& in = lowered.units[at(u)].in;
      return std::any_of(in.begin(), in.end(), [&](const Layout& layout) {
        return lowered.buffers[at(layout.buffer)].unit == output.unit;
      });
    });
    if (update < last && !is_read) std::rotate(update, update + 1, last + 1);
  }
  return word;
}

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

std::int64_t added_cost(const Lowered& lowered, const Lowered& rewritten) {
  const double once = total(nanoseconds_of(lowered));
  const double added = std::max(total(nanoseconds_of(rewritten)) - once, 0.0);
  return static_cast<std::int64_t>(once > kMostCost ? added / once * kMostCost : added);
}

}  // namespace tenure::graph
