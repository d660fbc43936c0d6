#include "tenure/graph/executable.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <new>
#include <type_traits>

#include "tenure/base/error.h"
#include "tenure/base/small_array.h"
#include "tenure/graph/arena_map.h"
#include "tenure/graph/variable_state.h"
#include "tenure/kernels/cpu/elementwise/engine.h"
#include "tenure/kernels/cpu/move/copy.h"
#include "tenure/memory/scope.h"
#include "tenure/ops/random_ops.h"
#include "tenure/ops/shape_ops.h"
#include "tenure/tensor/pending.h"

namespace tenure::graph {
namespace {

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

Executable::Executable(std::unique_ptr<Lowered> lowered)
    : lowered_(std::move(lowered)), number_(next_executable()) {
  const Placement placement = place(*lowered_);
  arena_map_ = arena_map(*lowered_, placement);
  plan_.arena = placement.arena;
  std::map<const Unit*, std::size_t> draw_of;
  for (const Unit& unit : lowered_->units) {
    if (unit.nodes == 0 || unit.node->op->draws == nullptr) continue;
    draw_of[&unit] = draws_.size();
    draws_.push_back(&unit);
  }
  for (const int u : placement.order) {
    const Unit& unit = lowered_->units[static_cast<std::size_t>(u)];
    Step step{.unit = &unit,
              .way = is_tile(unit)     ? Step::Way::tile
                     : is_direct(unit) ? Step::Way::direct
                                       : Step::Way::kernel,
              .workspace = placement.workspaces[static_cast<std::size_t>(u)],
              .count = static_cast<std::size_t>(count(unit.out[0].shape))};
    if (const auto found = draw_of.find(&unit); found != draw_of.end()) step.draw = found->second;
    const auto first = [&](const Layout& layout) {
      Place place = placement.buffers[static_cast<std::size_t>(layout.buffer)];
      place.offset += layout.offset * static_cast<std::int64_t>(size_of(layout.dtype));
      return place;
    };
    for (const Layout& in : unit.in) step.in.push_back(first(in));
    for (const Layout& out : unit.out) step.out.push_back(first(out));
    steps_.push_back(std::move(step));
  }
  describe();
}

void Executable::describe() {
  plan_.peak = plan_.arena;
  for (const ops::Spec& spec : lowered_->inputs) plan_.inputs.push_back(plan_value(spec));
  for (const ops::Spec& spec : lowered_->outputs) {
    plan_.outputs.push_back(plan_value(spec));
    plan_.peak += plan_.outputs.back().bytes;
  }
  for (const Step& step : steps_) {
    const Unit& unit = *step.unit;
    Plan::Step row{
        .op = name_of_unit(unit),
        .site = unit.node->site,
        .workspace = static_cast<std::int64_t>(unit.workspace),
        .in_place = std::find(step.in.begin(), step.in.end(), step.out[0]) != step.in.end()};
    for (const Layout& out : unit.out) {
      row.bytes += lowered_->buffers[static_cast<std::size_t>(out.buffer)].bytes;
    }
    plan_.steps.push_back(std::move(row));
  }
}

std::int64_t Executable::bytes() const {
  std::size_t bytes = sizeof(*this) + sizeof(Lowered);
  bytes += lowered_->program.nodes.size() * sizeof(Node);
  bytes += lowered_->units.size() * (sizeof(Unit) + sizeof(Step) + 4 * sizeof(Layout));
  bytes += lowered_->buffers.size() * sizeof(Buffer) + plan_.steps.size() * sizeof(Plan::Step);
  bytes += arena_map_.size() * sizeof(mem::PlannedRun::Buffer);
  return static_cast<std::int64_t>(bytes);
}

void Executable::run_kernel(const Step& step, const Frame& frame) {
  const Unit& unit = *step.unit;
  SmallArray<ViewRoom, 4> room(unit.in.size() + unit.out.size());
  kernels::View* const in = room.data()->get();
  for (std::size_t i = 0; i < unit.in.size(); ++i) {
    room[i].write(unit.in[i], at(frame.bases, step.in[i]));
  }
  kernels::View* const out = in + unit.in.size();
  for (std::size_t i = 0; i < unit.out.size(); ++i) {
    room[unit.in.size() + i].write(unit.out[i], at(frame.bases, step.out[i]));
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
  const std::span<std::byte> workspace =
      unit.workspace == 0 ? std::span<std::byte>()
                          : std::span(at(frame.bases, step.workspace), unit.workspace);
  const auto run = [&](const ops::Attributes& attributes) {
    op.run({.op = op.name,
            .in = inputs,
            .out = {out, unit.out.size()},
            .attributes = attributes,
            .workspace = workspace});
  };
  const ops::Attributes& attributes = unit.node->attribute_list();
  if (op.draws == nullptr) return run(attributes);
  const Generator::State state = frame.draws[step.draw];
  run(attributes.with_last(static_cast<std::int64_t>(state.seed),
                           static_cast<std::int64_t>(state.offset)));
}

void Executable::run_step(const Step& step, const Frame& frame) {
  const Unit& unit = *step.unit;
  switch (step.way) {
    case Step::Way::tile: {
      std::array<const void*, kernels::kMaxFusedInputs> in;
      for (std::size_t i = 0; i < step.in.size(); ++i) in[i] = at(frame.bases, step.in[i]);
      return kernels::run_fused_tile(unit.loop, in.data(), at(frame.bases, step.out[0]),
                                     step.count);
    }
    case Step::Way::direct:
      return unit.node->op->direct->run(look_of(unit.in[0]), at(frame.bases, step.in[0]),
                                        look_of(unit.in[1]), at(frame.bases, step.in[1]),
                                        at(frame.bases, step.out[0]));
    case Step::Way::kernel:
      return run_kernel(step, frame);
  }
}

std::vector<Tensor> Executable::run(std::span<const Tensor> inputs, Site site) const {
  const Lowered& low = *lowered_;
  mem::ThreadContext& context = mem::this_thread();
  const std::size_t pinned = low.inputs.size() + low.sources.size();
  SmallArray<std::byte*, 16> bases(static_cast<std::size_t>(Bases(low).end));
  SmallArray<Pin, 8> pins(pinned);
  std::size_t base = 1;  // the arena comes first
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

  ObservedRun observed(context, {.id = number_,
                                 .site = site,
                                 .peak = plan_.peak,
                                 .arena = plan_.arena,
                                 .buffers = arena_map_});
  SmallArray<PendingTensor, 4> outputs(low.outputs.size());
  for (std::size_t o = 0; o < low.outputs.size(); ++o) {
    outputs[o].allocate(context, low.outputs[o].dtype, low.outputs[o].shape);
    bases[base++] = static_cast<std::byte*>(outputs[o].data());
  }
  Arena arena(context, static_cast<std::size_t>(plan_.arena));
  bases[0] = arena.data();
  // In the order of the program, whatever order the steps run in.
  SmallArray<Generator::State, 4> states(draws_.size());
  for (std::size_t i = 0; i < draws_.size(); ++i) {
    const Node& node = *draws_[i]->node;
    states[i] = default_generator().reserve(node.op->draws(node.attribute_list()));
  }
  const Frame frame{.bases = {bases.data(), bases.size()}, .draws = {states.data(), states.size()}};
  for (const Step& step : steps_) {
    try {
      run_step(step, frame);
      observed.kernel_ran(*step.unit);
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
