#include "tenure/graph/place/placement.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

#include "tenure/base/units.h"
#include "tenure/graph/place/shared_buffer.h"
#include "tenure/planner/offsets.h"
#include "tenure/planner/order.h"

namespace tenure::graph {
namespace {

/// Effort of the planner's searches. They end far earlier for most programs.
constexpr std::int64_t kSearch = 200'000;

const Buffer& buffer_of(const Lowered& lowered, const Layout& layout) {
  return lowered.buffers[at(layout.buffer)];
}

/// One unit as the planner sees it. Several results are one to it, but for outputs, which have
/// memory of their own anyway. `reusable_nodes` has the nodes that stand for reusable buffers,
/// by buffer.
planner::Node node_of(const Lowered& lowered, const Unit& unit,
                      const std::vector<int>& reusable_nodes) {
  planner::Node node;
  const bool alone = unit.out.size() == 1;
  for (const Layout& out : unit.out) {
    const bool is_output = buffer_of(lowered, out).kind == Buffer::Kind::output;
    if (alone || !is_output) node.bytes += aligned(lowered, buffer_of(lowered, out).bytes);
    node.output |= alone && is_output;
  }
  node.workspace = aligned(lowered, static_cast<std::int64_t>(unit.workspace));
  for (std::size_t i = 0; i < unit.in.size(); ++i) {
    const int reused = reusable_nodes.empty() ? -1 : reusable_nodes[at(unit.in[i].buffer)];
    const int producer = reused >= 0 ? reused : buffer_of(lowered, unit.in[i]).unit;
    if (producer < 0) continue;
    auto found = std::find(node.inputs.begin(), node.inputs.end(), producer);
    if (found == node.inputs.end()) found = node.inputs.insert(found, producer);
    const auto position = found - node.inputs.begin();
    const bool allowed = alone && i < 32 && (unit.overwrites[0] >> i & 1) != 0 && position < 32;
    if (allowed && (reused >= 0 || lowered.units[at(producer)].out.size() == 1)) {
      node.overwrites |= 1u << position;
    }
  }
  return node;
}

/// An order for a low peak. With reuse, results that can take over the memory of reusable
/// buffers cost nothing.
std::vector<int> order_of(const Lowered& lowered, bool with_reuse) {
  const int units = static_cast<int>(lowered.units.size());
  std::vector<int> reusable_nodes;
  int nodes = units;
  if (with_reuse) {
    for (const Buffer& buffer : lowered.buffers) {
      reusable_nodes.push_back(buffer.is_reusable ? nodes++ : -1);
    }
  }
  planner::Dag dag;
  for (const Unit& unit : lowered.units)
    dag.nodes.push_back(node_of(lowered, unit, reusable_nodes));
  for (std::size_t b = 0; b < reusable_nodes.size(); ++b) {
    if (reusable_nodes[b] >= 0)
      dag.nodes.push_back({.bytes = aligned(lowered, lowered.buffers[b].bytes)});
  }
  std::vector<int> order = planner::order(dag, {.steps = kSearch}).order;
  std::erase_if(order, [&](int node) { return node >= units; });
  return order;
}

/// The same with units that may overwrite what a variable held, or a donated input, behind the last
/// one that reads it, unless others wait for their results.
std::vector<int> behind_readers(const Lowered& lowered, const std::vector<int>& order) {
  std::vector<int> last_read(lowered.buffers.size(), -1);  // place in the order
  std::vector<int> first_read(lowered.buffers.size(), static_cast<int>(order.size()));
  for (std::size_t t = order.size(); t-- > 0;) {
    for (const Layout& in : lowered.units[at(order[t])].in) {
      first_read[at(in.buffer)] = static_cast<int>(t);
      last_read[at(in.buffer)] = std::max(last_read[at(in.buffer)], static_cast<int>(t));
    }
  }
  std::vector<std::pair<int, int>> places;  // twice where it goes, 1 more behind others; the unit
  for (std::size_t t = 0; t < order.size(); ++t) {
    const Unit& unit = lowered.units[at(order[t])];
    int place = static_cast<int>(t);
    for (std::size_t i = 0; i < unit.in.size() && i < 32; ++i) {
      const bool overwrites = std::any_of(unit.overwrites.begin(), unit.overwrites.end(),
                                          [i](std::uint32_t mask) { return (mask >> i & 1) != 0; });
      const Layout& in = unit.in[i];
      if (overwrites && buffer_of(lowered, in).is_reusable) {
        place = std::max(place, last_read[at(in.buffer)]);
      }
    }
    const bool is_waited_for =
        std::any_of(unit.out.begin(), unit.out.end(),
                    [&](const Layout& out) { return first_read[at(out.buffer)] <= place; });
    const bool stays = is_waited_for || place == static_cast<int>(t);
    places.emplace_back(stays ? 2 * static_cast<int>(t) : 2 * place + 1, order[t]);
  }
  std::stable_sort(places.begin(), places.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<int> moved;
  for (const auto& [place, unit] : places) moved.push_back(unit);
  return moved;
}

/// Variables that get another memory than they had.
std::int64_t moved_variables(const Lowered& lowered, const Placement& placement) {
  return std::count_if(lowered.assignments.begin(), lowered.assignments.end(),
                       [&](const Assignment& assignment) {
                         const int reused = placement.reused[at(assignment.output)];
                         if (reused < 0) return true;
                         const Buffer& buffer = lowered.buffers[at(reused)];
                         return buffer.kind != Buffer::Kind::source ||
                                lowered.sources[at(buffer.index)].variable != assignment.variable;
                       });
}

Place place_of(const Buffer& buffer, const Bases& bases) {
  switch (buffer.kind) {
    case Buffer::Kind::input:
      return {.base = bases.input + buffer.index};
    case Buffer::Kind::source:
      return {.base = bases.source + buffer.index};
    case Buffer::Kind::number:
      return {.base = bases.number + buffer.index};
    case Buffer::Kind::output:
      return {.base = bases.output + buffer.index};
    case Buffer::Kind::temporary:
      break;
  }
  return {.base = bases.arena};
}

/// Packs what lies in the arena, and says where everything else is.
Placement pack(const Lowered& lowered, std::vector<int> order, bool with_reuse) {
  Placement placement{.order = std::move(order)};
  const Bases bases(lowered);
  for (const Buffer& buffer : lowered.buffers) placement.buffers.push_back(place_of(buffer, bases));
  placement.workspaces.resize(lowered.units.size());
  placement.reused.assign(lowered.outputs.size(), -1);
  placement.live.assign(placement.order.size(), 0);
  planner::OffsetProblem problem;
  const std::int64_t alignment = ops::backend(lowered.request.device).alignment();
  const auto add = [&](std::int64_t bytes, int lower, int upper) {
    problem.buffers.push_back(
        {.size = aligned(lowered, bytes), .lower = lower, .upper = upper, .alignment = alignment});
  };
  const std::vector<SharedBuffer> shared_buffers =
      shared_buffers_of(lowered, placement.order, with_reuse);
  std::vector<std::int64_t> change(placement.order.size() + 2);  // of what is alive, per step
  for (const SharedBuffer& shared : shared_buffers) {
    if (shared.output >= 0) placement.reused[at(shared.output)] = shared.reused;
    if (shared.reused < 0) {
      change[at(shared.lower)] += shared.bytes;
      change[at(shared.upper)] -= shared.bytes;
      if (shared.output < 0) add(shared.bytes, shared.lower, shared.upper);
    }
  }
  const std::size_t workspaces = problem.buffers.size();
  std::int64_t alive = 0;
  for (std::size_t t = 0; t < placement.order.size(); ++t) {
    const auto workspace =
        static_cast<std::int64_t>(lowered.units[at(placement.order[t])].workspace);
    alive += change[t];
    placement.live[t] = alive + workspace;
    if (workspace != 0) add(workspace, static_cast<int>(t), static_cast<int>(t) + 1);
  }
  const planner::OffsetPlan plan = planner::solve(problem, {.steps = kSearch});
  placement.arena = plan.height;
  std::size_t next = 0;
  for (const SharedBuffer& shared : shared_buffers) {
    const Place place = shared.output >= 0   ? Place{.base = bases.output + shared.output}
                        : shared.reused >= 0 ? placement.buffers[at(shared.reused)]
                                             : Place{bases.arena, plan.offsets[next++]};
    for (const int b : shared.buffers) placement.buffers[at(b)] = place;
  }
  next = workspaces;
  for (const int u : placement.order) {
    if (lowered.units[at(u)].workspace == 0) continue;
    placement.workspaces[at(u)] = {.base = bases.arena, .offset = plan.offsets[next++]};
  }
  return placement;
}

}  // namespace

Bases::Bases(const Lowered& lowered)
    : input(arena + 1),
      source(input + static_cast<int>(lowered.inputs.size())),
      number(source + static_cast<int>(lowered.sources.size())),
      output(number + static_cast<int>(lowered.numbers.size())),
      end(output + static_cast<int>(lowered.outputs.size())) {}

std::int64_t peak_of(const Lowered& lowered, const Placement& placement) {
  std::int64_t bytes = placement.arena;
  for (const Buffer& buffer : lowered.buffers) {
    if (buffer.kind == Buffer::Kind::output && placement.reused[at(buffer.index)] < 0) {
      bytes += buffer.bytes;
    }
  }
  return bytes;
}

Placement place_in_order(const Lowered& lowered) {
  std::vector<int> order(lowered.units.size());
  std::iota(order.begin(), order.end(), 0);
  return pack(lowered, std::move(order), true);
}

Placement place(const Lowered& lowered) {
  std::vector<int> order = order_of(lowered, false);
  const bool has_reusable = std::any_of(lowered.buffers.begin(), lowered.buffers.end(),
                                        [](const Buffer& buffer) { return buffer.is_reusable; });
  if (!has_reusable) return pack(lowered, std::move(order), false);
  // Memory that is given must not make it worse, so the plan without it is in the contest. One that
  // leaves variables where they are may take a little more, unless a budget counts that: the next
  // run finds the same addresses (ops::Replay).
  constexpr std::int64_t kMoved = 1024;  // bytes, for each that is moved
  const std::int64_t for_each = lowered.request.options.budget ? 0 : kMoved;
  Placement best = pack(lowered, order, true);
  const auto rank = [&](const Placement& placement) {
    return peak_of(lowered, placement) + for_each * moved_variables(lowered, placement);
  };
  const auto enter = [&](Placement other) {
    if (rank(other) < rank(best)) best = std::move(other);
  };
  std::vector<int> with_reuse = order_of(lowered, true);
  enter(pack(lowered, with_reuse, true));
  enter(pack(lowered, order, false));
  if (moved_variables(lowered, best) > 0) {
    for (const std::vector<int>* one : {&order, &with_reuse}) {
      std::vector<int> moved = behind_readers(lowered, *one);
      if (moved != *one) enter(pack(lowered, std::move(moved), true));
    }
  }
  return best;
}

}  // namespace tenure::graph
