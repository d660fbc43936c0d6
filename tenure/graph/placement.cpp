#include "tenure/graph/placement.h"

#include <algorithm>
#include <map>
#include <optional>

#include "tenure/base/units.h"
#include "tenure/planner/lifetimes.h"
#include "tenure/planner/order.h"

namespace tenure::graph {
namespace {

constexpr std::int64_t kAlign = 64;
/// Effort of the planner's searches. They end far earlier for most programs.
constexpr std::int64_t kSearch = 200'000;

std::size_t at(int i) { return static_cast<std::size_t>(i); }

std::int64_t aligned(std::int64_t bytes) {
  return static_cast<std::int64_t>(round_up(static_cast<std::size_t>(bytes), kAlign));
}

const Buffer& buffer_of(const Lowered& lowered, const Layout& layout) {
  return lowered.buffers[at(layout.buffer)];
}

/// One unit as the planner sees it. Several results lie side by side, but for outputs, which have
/// memory of their own anyway.
planner::Node node_of(const Lowered& lowered, const Unit& unit) {
  planner::Node node;
  const bool alone = unit.out.size() == 1;
  for (const Layout& out : unit.out) {
    const bool is_output = buffer_of(lowered, out).kind == Buffer::Kind::output;
    if (alone || !is_output) node.bytes += aligned(buffer_of(lowered, out).bytes);
    node.output |= alone && is_output;
  }
  node.workspace = aligned(static_cast<std::int64_t>(unit.workspace));
  for (std::size_t i = 0; i < unit.in.size(); ++i) {
    const int producer = buffer_of(lowered, unit.in[i]).unit;
    if (producer < 0) continue;
    auto found = std::find(node.inputs.begin(), node.inputs.end(), producer);
    if (found == node.inputs.end()) found = node.inputs.insert(found, producer);
    const auto position = found - node.inputs.begin();
    const bool allowed = i < 32 && (unit.overwrites >> i & 1) != 0 && position < 32;
    if (allowed && alone && lowered.units[at(producer)].out.size() == 1) {
      node.overwrites |= 1u << position;
    }
  }
  return node;
}

planner::Dag dag_of(const Lowered& lowered) {
  planner::Dag dag;
  for (const Unit& unit : lowered.units) dag.nodes.push_back(node_of(lowered, unit));
  return dag;
}

/// What the planner calls a buffer: the results of a unit, or its workspace.
class Packing {
 public:
  Packing(const Lowered& lowered, const planner::Dag& dag, const std::vector<int>& order)
      : lowered_(lowered), order_(order), lives_(planner::lifetimes_of(dag, order)) {
    for (std::size_t b = 0; b < size(); ++b) {
      const int group = lives_.problem.buffers[b].group;
      if (const auto output = own_output(b); output && group >= 0)
        output_of_group_[group] = *output;
    }
    planner::OffsetProblem arena;
    index_.resize(size(), -1);
    for (std::size_t b = 0; b < size(); ++b) {
      if (output(b)) continue;
      index_[b] = static_cast<int>(arena.buffers.size());
      arena.buffers.push_back(lives_.problem.buffers[b]);
      arena.buffers.back().alignment = kAlign;
    }
    plan_ = planner::solve(arena, {.steps = kSearch});
  }

  std::size_t size() const { return lives_.problem.buffers.size(); }
  int unit(std::size_t b) const { return order_[at(lives_.step[b])]; }
  bool is_workspace(std::size_t b) const { return b >= order_.size(); }
  std::int64_t height() const { return plan_.height; }

  /// The output whose memory it lies in: its own, or that of an output computed in place of it.
  std::optional<int> output(std::size_t b) const {
    const auto found = output_of_group_.find(lives_.problem.buffers[b].group);
    return found == output_of_group_.end() ? own_output(b) : std::optional(found->second);
  }
  std::int64_t offset(std::size_t b) const { return plan_.offsets[at(index_[b])]; }

 private:
  std::optional<int> own_output(std::size_t b) const {
    if (is_workspace(b)) return std::nullopt;
    const Unit& made = lowered_.units[at(unit(b))];
    const Buffer& buffer = buffer_of(lowered_, made.out[0]);
    if (made.out.size() != 1 || buffer.kind != Buffer::Kind::output) return std::nullopt;
    return buffer.index;
  }

  const Lowered& lowered_;
  const std::vector<int>& order_;
  planner::Lifetimes lives_;
  std::map<int, int> output_of_group_;
  std::vector<int> index_;  // in the arena's problem; -1: not in the arena
  planner::OffsetPlan plan_;
};

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

}  // namespace

Bases::Bases(const Lowered& lowered)
    : input(arena + 1),
      source(input + static_cast<int>(lowered.inputs.size())),
      number(source + static_cast<int>(lowered.sources.size())),
      output(number + static_cast<int>(lowered.numbers.size())),
      end(output + static_cast<int>(lowered.outputs.size())) {}

Placement place(const Lowered& lowered) {
  const planner::Dag dag = dag_of(lowered);
  Placement placement{.order = planner::order(dag, {.steps = kSearch}).order};
  const Packing packing(lowered, dag, placement.order);
  const Bases bases(lowered);
  for (const Buffer& buffer : lowered.buffers) placement.buffers.push_back(place_of(buffer, bases));
  placement.workspaces.resize(lowered.units.size());
  for (std::size_t b = 0; b < packing.size(); ++b) {
    const auto output = packing.output(b);
    Place place = output ? Place{.base = bases.output + *output}
                         : Place{.base = bases.arena, .offset = packing.offset(b)};
    if (packing.is_workspace(b)) {
      placement.workspaces[at(packing.unit(b))] = place;
      continue;
    }
    for (const Layout& out : lowered.units[at(packing.unit(b))].out) {
      const Buffer& buffer = buffer_of(lowered, out);
      if (buffer.kind != Buffer::Kind::temporary) continue;
      placement.buffers[at(out.buffer)] = place;
      place.offset += aligned(buffer.bytes);
    }
  }
  placement.arena = packing.height();
  return placement;
}

}  // namespace tenure::graph
