#include "tenure/graph/run/executable.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "tenure/graph/ir/body.h"
#include "tenure/graph/passes/rematerialize.h"
#include "tenure/graph/place/arrange.h"
#include "tenure/graph/run/observed_run.h"

namespace tenure::graph {
namespace {

std::string name_of_unit(const Unit& unit) {
  if (unit.nodes == 0) return "copy";
  if (unit.nodes == 1) return unit.node->op->name;
  if (is_loop(unit)) {
    return fmt::format("fused loop of {}, ending in {}", unit.nodes, unit.node->op->name);
  }
  return fmt::format("{}, fused with {} more", unit.node->op->name, unit.nodes - 1);
}

Plan::Value plan_value(const ops::Spec& spec) {
  return {.dtype = spec.dtype, .shape = spec.shape, .bytes = bytes_of(spec)};
}

bool is_flat(const Unit& unit) {
  const Layout& out = unit.out[0];
  if (!is_loop(unit) || unit.slot->check != nullptr) return false;
  for (std::size_t i = 0; i < unit.in.size(); ++i) {
    const Layout& in = unit.in[i];
    if (!(in.shape == out.shape) || !is_contiguous(in.shape, in.strides) ||
        in.dtype != unit.loop.code.in_types[i]) {
      return false;
    }
  }
  return true;
}

bool is_direct(const Unit& unit) {
  if (unit.nodes != 1 || unit.slot->direct == nullptr || unit.in.size() != 2) return false;
  Shape shape;
  return unit.slot->direct->infer(ref_of(unit.in[0]), ref_of(unit.in[1]), shape);
}

/// Memory that a step reads or writes.
struct Touched {
  Place at;
  std::int64_t bytes = 0;
  bool is_written = false;
};

/// Whether one of them writes what one of the others touches.
bool meet(const std::vector<Touched>& some, const std::vector<Touched>& others) {
  const auto do_meet = [](const Touched& a, const Touched& b) {
    return (a.is_written || b.is_written) && a.at.base == b.at.base &&
           a.at.offset < b.at.offset + b.bytes && b.at.offset < a.at.offset + a.bytes;
  };
  return std::any_of(some.begin(), some.end(), [&](const Touched& a) {
    return std::any_of(others.begin(), others.end(),
                       [&](const Touched& b) { return do_meet(a, b); });
  });
}

/// Whether a run gives the device what every other run gives it. Random numbers begin elsewhere
/// each time, also those that the body of a loop draws, of which the request says nothing.
bool is_same_each_time(const Lowered& lowered) {
  if (!lowered.request.draws.empty() || lowered.request.options.check_numbers) return false;
  return std::none_of(lowered.units.begin(), lowered.units.end(), [](const Unit& unit) {
    const ops::Opaque* const opaque = opaque_in(*unit.node);
    return opaque != nullptr && opaque->draws();
  });
}

}  // namespace

Executable::Executable(std::unique_ptr<Lowered> lowered, CompiledParts parts)
    : lowered_(std::move(lowered)),
      device_(&ops::backend(lowered_->request.device)),
      parts_(std::move(parts)),
      number_(next_executable()) {
  plan_.constants = parts_.constants;
  for (const auto& body : parts_.bodies) plan_.constants += body->plan().constants;
  const Placement placement = arrange();
  plan_.arena = placement.arena;
  indices_ = KnownIndices(*lowered_);
  auto group = lowered_->groups.begin();
  for (std::size_t t = 0; t < placement.order.size();) {
    const bool is_group = group != lowered_->groups.end() && group->begin == placement.order[t];
    const std::size_t end = is_group ? t + at(group->end - group->begin) : t + 1;
    for (int part = 0; part < (is_group ? group->parts : 1); ++part) {
      for (std::size_t s = t; s < end; ++s) {
        add_step(lowered_->units[at(placement.order[s])], part, placement);
      }
    }
    if (is_group) ++group;
    t = end;
  }
  decide_targets(placement);
  join_steps(placement);
  describe(placement);
  packed_ = std::make_unique<const PackedWeights>(*lowered_, packed_room());
  plan_.packed = packed_->bytes();
  if (is_same_each_time(*lowered_)) replay_ = device_->make_replay();
  for (Step& step : steps_) {
    step.packed = packed_->of(static_cast<std::size_t>(step.unit - lowered_->units.data()));
  }
}

std::int64_t Executable::packed_room() const {
  const CompileOptions& options = lowered_->request.options;
  if (!options.budget) return options.packed_limit;
  std::int64_t taken = plan_.peak + plan_.constants;
  for (const Plan::Value& input : plan_.inputs) taken += input.bytes;
  return std::min(options.packed_limit, *options.budget - taken);
}

void Executable::add_step(const Unit& unit, int part, const Placement& placement) {
  const auto u = static_cast<std::size_t>(&unit - lowered_->units.data());
  Step step{.unit = &unit,
            .way = is_flat(unit)     ? Step::Way::flat
                   : is_direct(unit) ? Step::Way::direct
                                     : Step::Way::kernel,
            .workspace = placement.workspaces[u],
            .count = static_cast<std::size_t>(count(unit.out[0].shape)),
            .part = part,
            .is_given_indices = indices_.has(u)};
  // Copies of a unit draw what it draws.
  if (unit.nodes != 0 && unit.node->draw >= 0) step.draw = std::size_t(unit.node->draw);
  const auto first = [&](const Layout& layout) {
    Place place = placement.buffers[at(layout.buffer)];
    place.offset +=
        (layout.offset + part * layout.advance) * static_cast<std::int64_t>(size_of(layout.dtype));
    return place;
  };
  for (const Layout& in : unit.in) step.in.push_back(first(in));
  for (const Layout& out : unit.out) step.out.push_back(first(out));
  // Those of the step, and for a kernel with loops around it one more than its inputs.
  most_views_ = std::max(most_views_, 2 * step.unit->in.size() + step.unit->out.size() + 1);
  steps_.push_back(std::move(step));
}

Place Executable::memory_of(Place place) const {
  const Bases bases(*lowered_);
  const int output = place.base - bases.output;
  const int reused = output < 0 ? -1 : targets_[static_cast<std::size_t>(output)].reused;
  if (reused >= 0) place.base = bases.input + reused;  // sources follow the inputs
  return place;
}

void Executable::join_steps(const Placement& placement) {
  constexpr std::size_t kMost = 64;
  const auto may_join = [](const Step& step) {
    const Unit& unit = *step.unit;
    return step.way == Step::Way::kernel && unit.nodes == 1 && unit.parts == 1 &&
           unit.slot->run_together != nullptr && unit.node->op->draws == nullptr;
  };
  const auto add_touched = [&](const Step& step, std::vector<Touched>& all) {
    const Unit& unit = *step.unit;
    const auto add = [&](const Layout& layout, bool is_written) {
      const auto buffer = at(layout.buffer);
      all.push_back({.at = memory_of(placement.buffers[buffer]),
                     .bytes = lowered_->buffers[buffer].bytes,
                     .is_written = is_written});
    };
    for (const Layout& in : unit.in) add(in, false);
    for (const Layout& out : unit.out) add(out, true);
    all.push_back({.at = step.workspace,
                   .bytes = static_cast<std::int64_t>(unit.workspace),
                   .is_written = true});
  };
  for (std::size_t first = 0, next = 1; first < steps_.size(); first = next, next = first + 1) {
    Step& step = steps_[first];
    if (!may_join(step)) continue;
    std::vector<Touched> touched;
    add_touched(step, touched);
    std::size_t views = step.unit->in.size() + step.unit->out.size();
    for (; next < steps_.size() && next - first < kMost; ++next) {
      const Step& other = steps_[next];
      if (!may_join(other) || other.unit->slot != step.unit->slot) break;
      std::vector<Touched> more;
      add_touched(other, more);
      if (meet(touched, more)) break;
      touched.insert(touched.end(), more.begin(), more.end());
      views += other.unit->in.size() + other.unit->out.size();
    }
    step.together = next - first;
    if (step.together == 1) continue;
    most_together_ = std::max(most_together_, step.together);
    most_views_ = std::max(most_views_, views);
  }
}

void Executable::decide_targets(const Placement& placement) {
  targets_.resize(lowered_->outputs.size());
  for (std::size_t o = 0; o < targets_.size(); ++o) {
    if (placement.reused[o] < 0) continue;
    const Buffer& reused = lowered_->buffers[static_cast<std::size_t>(placement.reused[o])];
    const int inputs = static_cast<int>(lowered_->inputs.size());
    targets_[o].reused = reused.kind == Buffer::Kind::input ? reused.index : inputs + reused.index;
  }
  for (const Assignment& assignment : lowered_->assignments) {
    targets_[static_cast<std::size_t>(assignment.output)].variable = assignment.variable.get();
    assigned_.push_back(assignment.variable.get());
  }
  std::sort(assigned_.begin(), assigned_.end(), std::less<>());
  assigned_.erase(std::unique(assigned_.begin(), assigned_.end()), assigned_.end());
}

Placement Executable::arrange() {
  Arranged arranged = graph::arrange(std::move(lowered_), plan_.constants);
  lowered_ = std::move(arranged.lowered);
  plan_.recomputed = arranged.recomputed;
  return std::move(arranged.placement);
}

void Executable::describe(const Placement& placement) {
  plan_.peak = plan_.arena;
  for (const ops::Spec& spec : lowered_->inputs) plan_.inputs.push_back(plan_value(spec));
  for (const Place& place : placement.buffers) {
    const Buffer& buffer =
        lowered_->buffers[static_cast<std::size_t>(&place - placement.buffers.data())];
    const int input = place.base - Bases(*lowered_).input;
    if (buffer.unit < 0 || input < 0 || input >= static_cast<int>(plan_.inputs.size())) continue;
    plan_.inputs[static_cast<std::size_t>(input)].reused = true;
  }
  for (std::size_t o = 0; o < targets_.size(); ++o) {
    plan_.outputs.push_back(plan_value(lowered_->outputs[o]));
    const int reused = targets_[o].reused;
    if (reused < 0) plan_.peak += plan_.outputs.back().bytes;
    if (reused >= 0 && reused < static_cast<int>(plan_.inputs.size())) {
      plan_.inputs[static_cast<std::size_t>(reused)].reused = true;
    }
  }
  for (const Step& step : steps_) {
    if (step.part != 0) continue;
    const Unit& unit = *step.unit;
    Plan::Step row{.op = name_of_unit(unit),
                   .parts = unit.parts,
                   .site = unit.node->site,
                   .workspace = static_cast<std::int64_t>(unit.workspace),
                   .in_place = std::any_of(
                       step.in.begin(), step.in.end(),
                       [&](const Place& in) { return memory_of(in) == memory_of(step.out[0]); }),
                   .live = placement.live[plan_.steps.size()]};
    for (const Layout& out : unit.out) {
      row.bytes += lowered_->buffers[static_cast<std::size_t>(out.buffer)].bytes;
    }
    plan_.flops += unit.parts * cost_of(unit).flops;
    plan_.steps.push_back(std::move(row));
  }
}

std::int64_t Executable::bytes() const {
  const auto room = []<class T>(const std::vector<T>& list) {
    return list.capacity() * sizeof(T);  // NOLINT(bugprone-sizeof-expression): of pointers too
  };
  const Lowered& low = *lowered_;
  std::size_t bytes = sizeof(*this) + sizeof(Lowered) + program_bytes(low.request.program) +
                      room(low.request.inputs) + room(low.request.fetches) + room(low.buffers) +
                      room(low.units) + room(low.sources) + room(low.numbers) + room(low.inputs) +
                      room(low.outputs) + room(low.fetches) + room(low.assignments) + room(steps_) +
                      room(targets_) + room(assigned_) + room(low.request.draws) +
                      room(plan_.inputs) + room(plan_.outputs) + room(plan_.steps) +
                      room(parts_.bodies) + packed_->own_bytes() + indices_.bytes();
  for (const auto& body : parts_.bodies) bytes += static_cast<std::size_t>(body->bytes());
  for (const Unit& unit : low.units) {
    bytes += room(unit.in) + room(unit.out) + room(unit.overwrites) + room(unit.members);
    for (const FusedLoop* loop : {&unit.loop, &unit.after}) {
      bytes += loop->code.bytes();
      // Copies of a unit share it.
      if (loop->prepared != nullptr && unit.origin < 0) bytes += loop->prepared->bytes();
    }
  }
  for (const auto& number : low.numbers) bytes += room(number);
  for (const Step& step : steps_) bytes += room(step.in) + room(step.out);
  return static_cast<std::int64_t>(bytes);
}

}  // namespace tenure::graph
