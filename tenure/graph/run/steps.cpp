#include <array>
#include <utility>

#include "tenure/base/error.h"
#include "tenure/base/small_array.h"
#include "tenure/graph/number_error.h"
#include "tenure/graph/run/draws.h"
#include "tenure/graph/run/executable.h"
#include "tenure/graph/run/observed_run.h"
#include "tenure/ops/core/view_room.h"

namespace tenure::graph {
namespace {

std::byte* at(std::span<std::byte* const> bases, const Place& place) {
  return bases[static_cast<std::size_t>(place.base)] + place.offset;
}

void write(ops::View* room, const ops::View& view) { std::construct_at(room, view); }
void write(ops::View* room, const Layout& layout, std::byte* data) {
  write(room,
        {.dtype = layout.dtype, .shape = layout.shape, .strides = layout.strides, .data = data});
}

/// An error of Tenure's that leaves `run()` names the unit. What else an op throws stays what it
/// is.
template <class Run>
void named(const Unit& unit, const Run& run) {
  try {
    run();
  } catch (Error& error) {
    error.add_place("in " + graph::describe(*unit.node));
    throw;
  }
}

/// A kernel with the loops that have joined it, of which one may follow on its first result. `room`
/// is for one view more than there are inputs.
void run_fused_kernel(ops::Backend& device, const Unit& unit, std::span<const ops::View> in,
                      std::span<ops::View> out, std::span<std::byte> workspace,
                      const std::byte* packed, ops::View* room) {
  const ops::OpRecord& op = *unit.node->op;
  const std::size_t before = unit.loop.inputs();
  const std::size_t after = unit.after.empty() ? 1 : unit.after.inputs();
  const Shape after_shape = out[0].shape;
  ops::View& result = out[0];
  result.dtype = unit.node->outputs[0].dtype;
  result.shape = unit.node->outputs[0].shape;
  if (unit.parts > 1) result.shape[0] /= unit.parts;
  result.strides = contiguous_strides(result.shape);
  std::size_t n = 0;
  if (before > 0) write(room + n++, unit.made, nullptr);
  for (const ops::View& view : in.subspan(before, in.size() - before - (after - 1))) {
    write(room + n++, view);
  }
  ops::View* const after_in = room + n;
  std::size_t m = n;
  write(room + m++, result);
  for (const ops::View& view : in.last(after - 1)) write(room + m++, view);
  const ops::Kernel kernel{.op = op.name,
                           .in = {room, n},
                           .out = out,
                           .attributes = unit.node->attribute_list(),
                           .workspace = workspace};
  const ops::FusedNeighbours neighbours{.before = unit.loop.prepared.get(),
                                        .before_inputs = {in.first(before), unit.loop.numbers},
                                        .after = unit.after.prepared.get(),
                                        .after_inputs = {{after_in, after}, unit.after.numbers},
                                        .after_shape = after_shape};
  if (packed != nullptr) {
    return device.run_packed(*unit.slot, kernel, packed, neighbours, unit.threads);
  }
  device.run_fused(*unit.slot, kernel, neighbours, unit.threads);
}

}  // namespace

void Executable::run_kernel(const Step& step, const Frame& frame) {
  const Unit& unit = *step.unit;
  ops::View* const in = frame.views;
  for (std::size_t i = 0; i < unit.in.size(); ++i) {
    write(in + i, unit.in[i], at(frame.bases, step.in[i]));
  }
  ops::View* const out = in + unit.in.size();
  for (std::size_t i = 0; i < unit.out.size(); ++i) {
    write(out + i, unit.out[i], at(frame.bases, step.out[i]));
  }
  if (unit.nodes == 0) return frame.device.copy(*out, *in);
  const ops::OpRecord& op = *unit.node->op;
  const std::span<const ops::View> inputs(in, unit.in.size());
  if (is_loop(unit)) {
    if (unit.slot->check != nullptr) {
      unit.slot->check(op.name, unit.loop.code.in_types[0], {inputs, unit.loop.numbers});
    }
    return unit.loop.prepared->run({inputs, unit.loop.numbers}, *out);
  }
  const std::span<std::byte> workspace =
      unit.workspace == 0 ? std::span<std::byte>()
                          : std::span(at(frame.bases, step.workspace), unit.workspace);
  const std::byte* const packed = frame.packed == nullptr ? nullptr : (*frame.packed)[step.packed];
  if (!unit.loop.empty() || !unit.after.empty()) {
    return run_fused_kernel(frame.device, unit, inputs, {out, unit.out.size()}, workspace, packed,
                            out + unit.out.size());
  }
  const auto run = [&](const ops::Attributes& attributes) {
    const ops::Kernel kernel{.op = op.name,
                             .in = inputs,
                             .out = {out, unit.out.size()},
                             .attributes = attributes,
                             .workspace = workspace,
                             .adds = unit.adds && step.part > 0,
                             .indices_hold = frame.indices_hold && step.is_given_indices};
    if (packed != nullptr) {
      return frame.device.run_packed(*unit.slot, kernel, packed, {}, unit.threads);
    }
    frame.device.run(*unit.slot, kernel, unit.threads);
  };
  const ops::Attributes& attributes = unit.node->attribute_list();
  if (op.draws == nullptr) return run(attributes);
  const Generator::State state = frame.draws[step.draw];
  run(attributes.with_last(static_cast<std::int64_t>(state.seed),
                           static_cast<std::int64_t>(state.offset)));
}

void Executable::run_together(std::span<const Step> steps, const Frame& frame) {
  ops::View* room = frame.views;
  for (std::size_t s = 0; s < steps.size(); ++s) {
    const Unit& unit = *steps[s].unit;
    ops::View* const in = room;
    for (std::size_t i = 0; i < unit.in.size(); ++i) {
      write(room++, unit.in[i], at(frame.bases, steps[s].in[i]));
    }
    ops::View* const out = room;
    for (std::size_t i = 0; i < unit.out.size(); ++i) {
      write(room++, unit.out[i], at(frame.bases, steps[s].out[i]));
    }
    std::span<std::byte> workspace;
    if (unit.workspace > 0) workspace = {at(frame.bases, steps[s].workspace), unit.workspace};
    std::construct_at(&frame.kernels[s],
                      ops::Kernel{.op = unit.node->op->name,
                                  .in = {in, unit.in.size()},
                                  .out = {out, unit.out.size()},
                                  .attributes = unit.node->attribute_list(),
                                  .workspace = workspace,
                                  .indices_hold = frame.indices_hold && steps[s].is_given_indices});
  }
  steps.front().unit->slot->run_together(frame.kernels.first(steps.size()));
}

void Executable::run_step(const Step& step, const Frame& frame) {
  const Unit& unit = *step.unit;
  switch (step.way) {
    case Step::Way::flat: {
      std::array<const void*, ops::kMaxLoopInputs> in;
      for (std::size_t i = 0; i < step.in.size(); ++i) in[i] = at(frame.bases, step.in[i]);
      return unit.loop.prepared->run_flat(in.data(), unit.loop.numbers,
                                          at(frame.bases, step.out[0]), step.count);
    }
    case Step::Way::direct:
      return unit.slot->direct->run(ref_of(unit.in[0]), at(frame.bases, step.in[0]),
                                    ref_of(unit.in[1]), at(frame.bases, step.in[1]),
                                    at(frame.bases, step.out[0]));
    case Step::Way::kernel:
      return run_kernel(step, frame);
  }
}

void Executable::run_step_named(const Step& step, const Frame& frame) {
  named(*step.unit, [&] { run_step(step, frame); });
}

void Executable::run_joined(const Frame& frame) const {
  for (std::size_t s = 0; s < steps_.size(); s += steps_[s].together) {
    const Step& step = steps_[s];
    if (step.together == 1) {
      run_step_named(step, frame);
    } else {
      named(*step.unit, [&] { run_together({&step, step.together}, frame); });
    }
  }
}

void Executable::check_numbers(const Step& step, const Frame& frame) {
  const Unit& unit = *step.unit;
  for (std::size_t o = 0; o < unit.out.size(); ++o) {
    ops::View view = view_of(unit.out[o]);
    view.data = at(frame.bases, step.out[o]);
    const std::int64_t bad = frame.device.find_not_finite(view);
    if (bad >= 0) throw NumberError(graph::describe(*unit.node), unit.node->site, bad);
  }
}

void Executable::run_steps(std::span<std::byte* const> bases, const Told& told) const {
  // In the order of the program, whatever order the steps run in.
  Draws draws;
  const std::vector<std::uint64_t>& counters = lowered_->request.draws;
  SmallArray<Generator::State, 4> states(counters.size());
  for (std::size_t i = 0; i < counters.size(); ++i) states[i] = draws.take(counters[i]);
  // Before the first step: later ones may have computed in what variables hold when one fails.
  SmallArray<ops::ViewRoom<1>, 16> views(most_views_);
  SmallArray<ops::Kernel, 1> kernels(most_together_);
  const Frame frame{.device = *device_,
                    .bases = bases,
                    .draws = {states.data(), states.size()},
                    .packed = told.packed,
                    .views = views.size() == 0 ? nullptr : views.data()->data(),
                    .kernels = {kernels.data(), kernels.size()},
                    .indices_hold = told.indices_hold};
  const bool is_observed = told.observed != nullptr && told.observed->is_told();
  if (replay_ != nullptr && told.indices_hold && !is_observed) {
    replay_->run(bases, [this, &frame] { run_joined(frame); });
    return draws.succeed();
  }
  if (!is_observed && !lowered_->request.options.check_numbers) {
    run_joined(frame);
    return draws.succeed();
  }
  for (const Step& step : steps_) {
    run_step_named(step, frame);
    if (lowered_->request.options.check_numbers) check_numbers(step, frame);
    // Once for each step of the plan: of a unit in parts, when the last one is done.
    const bool is_last = step.part + 1 == step.unit->parts;
    if (is_observed && is_last) told.observed->kernel_ran(*step.unit);
  }
  draws.succeed();
}

}  // namespace tenure::graph
