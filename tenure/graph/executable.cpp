#include "tenure/graph/executable.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <new>
#include <optional>
#include <type_traits>

#include "tenure/base/error.h"
#include "tenure/base/small_array.h"
#include "tenure/base/units.h"
#include "tenure/graph/variable_state.h"
#include "tenure/kernels/cpu/elementwise/engine.h"
#include "tenure/kernels/cpu/move/copy.h"
#include "tenure/memory/scope.h"
#include "tenure/ops/random_ops.h"
#include "tenure/ops/shape_ops.h"
#include "tenure/planner/lifetimes.h"
#include "tenure/planner/order.h"
#include "tenure/tensor/pending.h"

namespace tenure::graph {
namespace {

constexpr std::int64_t kAlign = 64;
constexpr int kArena = 0;  // the first base

std::int64_t aligned(std::int64_t bytes) {
  return static_cast<std::int64_t>(round_up(static_cast<std::size_t>(bytes), kAlign));
}

/// The units as the planner sees them.
planner::Dag dag_of(const Lowered& lowered) {
  planner::Dag dag;
  for (const Unit& unit : lowered.units) {
    planner::Node node;
    // Several results lie side by side, but for outputs, which have memory of their own anyway.
    for (const Layout& out : unit.out) {
      const Buffer& buffer = lowered.buffers[static_cast<std::size_t>(out.buffer)];
      const bool is_output = buffer.kind == Buffer::Kind::output;
      if (unit.out.size() == 1 || !is_output) node.bytes += aligned(buffer.bytes);
      node.output |= unit.out.size() == 1 && is_output;
    }
    node.workspace = aligned(static_cast<std::int64_t>(unit.workspace));
    for (std::size_t i = 0; i < unit.in.size(); ++i) {
      const int producer = lowered.buffers[static_cast<std::size_t>(unit.in[i].buffer)].unit;
      if (producer < 0) continue;
      auto at = std::find(node.inputs.begin(), node.inputs.end(), producer);
      if (at == node.inputs.end()) at = node.inputs.insert(at, producer);
      const auto position = at - node.inputs.begin();
      const bool alone = lowered.units[static_cast<std::size_t>(producer)].out.size() == 1;
      if (i < 32 && (unit.overwrites >> i & 1) != 0 && position < 32 && alone &&
          unit.out.size() == 1) {
        node.overwrites |= 1u << position;
      }
    }
    dag.nodes.push_back(std::move(node));
  }
  return dag;
}

std::string name_of_unit(const Unit& unit) {
  if (unit.nodes == 0) return "copy";
  if (unit.nodes == 1) return unit.node->op->name;
  return fmt::format("fused loop of {}, ending in {}", unit.nodes, unit.node->op->name);
}

Plan::Value plan_value(const ops::Spec& spec) {
  return {.dtype = spec.dtype,
          .shape = spec.shape,
          .bytes = count(spec.shape) * static_cast<std::int64_t>(size_of(spec.dtype))};
}

std::byte* at(std::span<std::byte* const> bases, const Place& place) {
  return bases[static_cast<std::size_t>(place.base)] + place.offset;
}

ops::Look look_of(const Layout& layout) { return {layout.dtype, layout.shape, layout.strides}; }

/// Where the first element of a layout lies.
Place first_of(const Layout& layout, Place place) {
  place.offset += layout.offset * static_cast<std::int64_t>(size_of(layout.dtype));
  return place;
}

/// Room for a view, undefined until it is written.
class ViewRoom {
 public:
  ViewRoom() noexcept {}  // NOLINT(modernize-use-equals-default): clearing it would take time
  kernels::View* get() { return std::launder(reinterpret_cast<kernels::View*>(bytes_)); }
  void write(const Layout& layout, std::byte* data) {
    new (bytes_) kernels::View{
        .dtype = layout.dtype, .shape = layout.shape, .strides = layout.strides, .data = data};
  }

 private:
  static_assert(std::is_trivially_destructible_v<kernels::View>);
  alignas(kernels::View) std::byte bytes_[sizeof(kernels::View)];
};

/// The memory of a run's temporaries.
class Arena {
 public:
  Arena(mem::ThreadContext& context, std::size_t bytes) {
    if (bytes == 0) return;
    const CategoryScope category(Category::workspace);
    storage_ = mem::Storage::allocate(context, bytes);
  }
  ~Arena() {
    if (storage_ != nullptr) storage_->release();
  }
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;
  std::byte* data() const {
    return storage_ == nullptr ? nullptr : static_cast<std::byte*>(storage_->data());
  }

 private:
  mem::Storage* storage_ = nullptr;
};

bool is_tile(const Unit& unit) {
  const Layout& out = unit.out[0];
  if (unit.loop.steps.empty() || count(out.shape) > std::int64_t{kernels::kTile}) return false;
  if (unit.node->op->elementwise->check != nullptr) return false;
  for (std::size_t i = 0; i < unit.in.size(); ++i) {
    const Layout& in = unit.in[i];
    if (!(in.shape == out.shape) || !is_contiguous(in.shape, in.strides) ||
        in.dtype != unit.loop.in_types[i]) {
      return false;
    }
  }
  return static_cast<double>(count(out.shape)) * unit.loop.cost <= kernels::kWorkPerThread;
}

bool is_direct(const Unit& unit) {
  if (unit.nodes == 0 || unit.node->op->direct == nullptr || unit.in.size() != 2) return false;
  Shape shape;
  return unit.node->op->direct->infer(look_of(unit.in[0]), look_of(unit.in[1]), shape);
}

}  // namespace

Executable::Executable(std::unique_ptr<Lowered> lowered) : lowered_(std::move(lowered)) {
  schedule();
}

void Executable::schedule() {
  const Lowered& low = *lowered_;
  const planner::Dag dag = dag_of(low);
  const planner::OrderPlan order = planner::order(dag, {.steps = 200'000});
  planner::Lifetimes lives = planner::lifetimes_of(dag, order.order);

  // A group that ends in an output lives in that output's own memory.
  std::map<int, int> output_of_group;
  const auto is_result = [&](std::size_t b) { return b < order.order.size(); };
  const auto output_of = [&](std::size_t b) -> std::optional<int> {
    if (!is_result(b)) return std::nullopt;
    const Unit& unit =
        low.units[static_cast<std::size_t>(order.order[static_cast<std::size_t>(lives.step[b])])];
    const Buffer& buffer = low.buffers[static_cast<std::size_t>(unit.out[0].buffer)];
    if (unit.out.size() != 1 || buffer.kind != Buffer::Kind::output) return std::nullopt;
    return buffer.index;
  };
  for (std::size_t b = 0; b < lives.problem.buffers.size(); ++b) {
    const int group = lives.problem.buffers[b].group;
    if (const auto output = output_of(b); output && group >= 0) output_of_group[group] = *output;
  }
  planner::OffsetProblem arena;
  std::vector<int> place_in_arena(lives.problem.buffers.size(), -1);
  for (std::size_t b = 0; b < lives.problem.buffers.size(); ++b) {
    planner::Buffer buffer = lives.problem.buffers[b];
    if (output_of(b) || output_of_group.contains(buffer.group)) continue;
    buffer.alignment = kAlign;
    place_in_arena[b] = static_cast<int>(arena.buffers.size());
    arena.buffers.push_back(buffer);
  }
  const planner::OffsetPlan offsets = planner::solve(arena, {.steps = 200'000});

  // Bases: the arena, inputs, sources, numbers, outputs.
  const int first_input = kArena + 1;
  const int first_source = first_input + static_cast<int>(low.inputs.size());
  const int first_number = first_source + static_cast<int>(low.sources.size());
  const int first_output = first_number + static_cast<int>(low.numbers.size());
  std::vector<Place> places(low.buffers.size());
  for (std::size_t b = 0; b < low.buffers.size(); ++b) {
    const Buffer& buffer = low.buffers[b];
    switch (buffer.kind) {
      case Buffer::Kind::input:
        places[b] = {.base = first_input + buffer.index};
        break;
      case Buffer::Kind::source:
        places[b] = {.base = first_source + buffer.index};
        break;
      case Buffer::Kind::number:
        places[b] = {.base = first_number + buffer.index};
        break;
      case Buffer::Kind::output:
        places[b] = {.base = first_output + buffer.index};
        break;
      case Buffer::Kind::temporary:
        break;
    }
  }
  std::vector<Place> workspaces(low.units.size());
  std::vector<bool> in_place(low.units.size());
  for (std::size_t b = 0; b < lives.problem.buffers.size(); ++b) {
    const int u = order.order[static_cast<std::size_t>(lives.step[b])];
    const Unit& unit = low.units[static_cast<std::size_t>(u)];
    const int group = lives.problem.buffers[b].group;
    Place place;
    if (place_in_arena[b] >= 0) {
      place = {.base = kArena,
               .offset = offsets.offsets[static_cast<std::size_t>(place_in_arena[b])]};
    } else if (const auto found = output_of_group.find(group); found != output_of_group.end()) {
      place = {.base = first_output + found->second};
    }
    if (!is_result(b)) {
      workspaces[static_cast<std::size_t>(u)] = place;
      continue;
    }
    for (const Layout& out : unit.out) {
      const Buffer& buffer = low.buffers[static_cast<std::size_t>(out.buffer)];
      if (buffer.kind != Buffer::Kind::temporary) continue;
      places[static_cast<std::size_t>(out.buffer)] = place;
      place.offset += aligned(buffer.bytes);
    }
  }
  for (const int u : order.order) {
    const Unit& unit = low.units[static_cast<std::size_t>(u)];
    Step step{.unit = &unit,
              .way = is_tile(unit)     ? Step::Way::tile
                     : is_direct(unit) ? Step::Way::direct
                                       : Step::Way::kernel,
              .workspace = workspaces[static_cast<std::size_t>(u)],
              .count = static_cast<std::size_t>(count(unit.out[0].shape))};
    for (const Layout& out : unit.out) {
      step.out.push_back(first_of(out, places[static_cast<std::size_t>(out.buffer)]));
    }
    for (const Layout& in : unit.in) {
      step.in.push_back(first_of(in, places[static_cast<std::size_t>(in.buffer)]));
      if (step.in.back() == step.out[0]) in_place[static_cast<std::size_t>(u)] = true;
    }
    steps_.push_back(std::move(step));
  }
  plan_.arena = offsets.height;
  describe(order.order, in_place);
}

void Executable::describe(const std::vector<int>& order, const std::vector<bool>& in_place) {
  const Lowered& low = *lowered_;
  plan_.peak = plan_.arena;
  for (const ops::Spec& spec : low.inputs) plan_.inputs.push_back(plan_value(spec));
  for (const ops::Spec& spec : low.outputs) {
    plan_.outputs.push_back(plan_value(spec));
    plan_.peak += plan_.outputs.back().bytes;
  }
  for (const int u : order) {
    const Unit& unit = low.units[static_cast<std::size_t>(u)];
    Plan::Step step{.op = name_of_unit(unit),
                    .site = unit.node->site,
                    .workspace = static_cast<std::int64_t>(unit.workspace),
                    .in_place = in_place[static_cast<std::size_t>(u)]};
    for (const Layout& out : unit.out) {
      step.bytes += low.buffers[static_cast<std::size_t>(out.buffer)].bytes;
    }
    plan_.steps.push_back(std::move(step));
  }
}

std::int64_t Executable::bytes() const {
  std::size_t bytes = sizeof(*this) + sizeof(Lowered);
  bytes += lowered_->program.nodes.size() * sizeof(Node);
  bytes += lowered_->units.size() * (sizeof(Unit) + sizeof(Step) + 4 * sizeof(Layout));
  bytes += lowered_->buffers.size() * sizeof(Buffer) + plan_.steps.size() * sizeof(Plan::Step);
  return static_cast<std::int64_t>(bytes);
}

void Executable::run_kernel(const Step& step, Bases bases) {
  const Unit& unit = *step.unit;
  SmallArray<ViewRoom, 4> room(unit.in.size() + unit.out.size());
  kernels::View* const in = room.data()->get();
  for (std::size_t i = 0; i < unit.in.size(); ++i) {
    room[i].write(unit.in[i], at(bases, step.in[i]));
  }
  kernels::View* const out = in + unit.in.size();
  for (std::size_t i = 0; i < unit.out.size(); ++i) {
    room[unit.in.size() + i].write(unit.out[i], at(bases, step.out[i]));
  }
  if (unit.nodes == 0) return kernels::copy(*in, *out);
  const ops::OpRecord& op = *unit.node->op;
  const std::span<const kernels::View> inputs(in, unit.in.size());
  if (op.elementwise != nullptr) {
    if (op.elementwise->check != nullptr) {
      op.elementwise->check(op.name, unit.loop.in_types[0], inputs);
    }
    return kernels::run_fused(unit.loop, inputs, *out);
  }
  const std::span<std::byte> workspace = unit.workspace == 0
                                             ? std::span<std::byte>()
                                             : std::span(at(bases, step.workspace), unit.workspace);
  const auto run = [&](const ops::Attributes& attributes) {
    op.run({.op = op.name,
            .in = inputs,
            .out = {out, unit.out.size()},
            .attributes = attributes,
            .workspace = workspace});
  };
  const ops::Attributes& attributes = unit.node->attribute_list();
  if (op.draws == nullptr) return run(attributes);
  const Generator::State state = default_generator().reserve(op.draws(attributes));
  run(attributes.with_last(static_cast<std::int64_t>(state.seed),
                           static_cast<std::int64_t>(state.offset)));
}

void Executable::run_step(const Step& step, Bases bases) {
  const Unit& unit = *step.unit;
  switch (step.way) {
    case Step::Way::tile: {
      std::array<const void*, kernels::kMaxFusedInputs> in;
      for (std::size_t i = 0; i < step.in.size(); ++i) in[i] = at(bases, step.in[i]);
      return kernels::run_fused_tile(unit.loop, in.data(), at(bases, step.out[0]), step.count);
    }
    case Step::Way::direct:
      return unit.node->op->direct->run(look_of(unit.in[0]), at(bases, step.in[0]),
                                        look_of(unit.in[1]), at(bases, step.in[1]),
                                        at(bases, step.out[0]));
    case Step::Way::kernel:
      return run_kernel(step, bases);
  }
}

std::vector<Tensor> Executable::run(std::span<const Tensor> inputs, Site site) const {
  const Lowered& low = *lowered_;
  mem::ThreadContext& context = mem::this_thread();
  const std::size_t pinned = low.inputs.size() + low.sources.size();
  SmallArray<std::byte*, 16> bases(1 + pinned + low.numbers.size() + low.outputs.size());
  SmallArray<Pin, 8> pins(pinned);
  std::size_t base = kArena + 1;
  const auto pin = [&](const Tensor& tensor) {
    Pin& taken = pins[base - 1];
    taken.take(tensor.body("run", site), "run", site);
    bases[base++] = static_cast<std::byte*>(taken.data());
  };
  for (const Tensor& input : inputs) pin(input);
  // What a variable holds may be replaced meanwhile: the run keeps what it began with.
  SmallArray<Tensor, 8> held(low.sources.size());
  for (std::size_t i = 0; i < low.sources.size(); ++i) {
    const Source& source = low.sources[i];
    if (source.variable != nullptr) held[i] = source.variable->value();
    pin(source.variable != nullptr ? held[i] : source.constant);
  }
  for (const auto& number : low.numbers) bases[base++] = const_cast<std::byte*>(number.data());

  SmallArray<PendingTensor, 4> outputs(low.outputs.size());
  for (std::size_t o = 0; o < low.outputs.size(); ++o) {
    outputs[o].allocate(context, low.outputs[o].dtype, low.outputs[o].shape);
    bases[base++] = static_cast<std::byte*>(outputs[o].data());
  }
  Arena arena(context, static_cast<std::size_t>(plan_.arena));
  bases[kArena] = arena.data();
  for (const Step& step : steps_) {
    try {
      run_step(step, {bases.data(), bases.size()});
    } catch (const ValueError& error) {
      throw ValueError(fmt::format("{}\n  in {}", error.what(), graph::describe(*step.unit->node)));
    }
  }
  std::vector<Tensor> results(low.fetches.size());
  for (std::size_t i = 0; i < results.size(); ++i) {
    const auto o = static_cast<std::size_t>(low.fetches[i]);
    const auto first = std::find(low.fetches.begin(), low.fetches.begin() + i, low.fetches[i]);
    results[i] = first == low.fetches.begin() + i
                     ? outputs[o].finish("run", site)
                     : results[static_cast<std::size_t>(first - low.fetches.begin())];
  }
  if (!low.assignments.empty()) commit(results, site);
  return results;
}

void Executable::commit(std::vector<Tensor>& results, Site site) const {
  for (const Assignment& assignment : lowered_->assignments) {
    const Tensor now = assignment.variable->value();
    if (now.is_disposed()) throw_disposed(now.body("assign", site), "assign", site);
  }
  for (const Assignment& assignment : lowered_->assignments) {
    const auto at = static_cast<std::size_t>(
        std::find(lowered_->fetches.begin(), lowered_->fetches.end(), assignment.output) -
        lowered_->fetches.begin());
    const Tensor made = results[at];
    // The variable gets the tensor itself, the caller views of it: what he disposes is his own.
    for (Tensor& result : results) {
      if (result.id() == made.id()) result = reshape(Operand(made, site), made.shape());
    }
    // A second variable that gets the same value finds a view here already.
    const bool is_first = made.op() == std::string("run");
    assignment.variable->replace(is_first ? made : clone(Operand(made, site)), site);
  }
}

}  // namespace tenure::graph
