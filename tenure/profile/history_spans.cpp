#include <algorithm>
#include <utility>

#include "tenure/profile/event_words.h"
#include "tenure/profile/history.h"

// What took which time: ops, scopes, runs and kernels, thread by thread.

namespace tenure::profile {
namespace {

constexpr auto is_run = [](const auto& frame) { return frame.is_run; };

}  // namespace

std::uint32_t History::allocator_of(std::uint32_t thread) const {
  const auto state = states_.find(thread);
  if (state == states_.end()) return 0;
  const auto& frames = state->second.frames;
  const auto run = std::find_if(frames.rbegin(), frames.rend(), is_run);
  return run == frames.rend() ? state->second.op_origin : run->origin;
}

History::Frame* History::ThreadState::run() {
  const auto found = std::find_if(frames.rbegin(), frames.rend(), is_run);
  return found == frames.rend() ? nullptr : &*found;
}

void History::add_span(Span::Kind kind, const Event& event, std::uint32_t origin,
                       std::int64_t begin, Device device) {
  if (kind != Span::Kind::scope && kind != Span::Kind::run) {
    TimeSpent& spent = time_spent[origin];
    ++spent.times;
    spent.ns += event.time_ns - begin;
  }
  if (with_spans_) spans.push_back({kind, device, event.thread, origin, begin, event.time_ns});
}

void History::take_span(const Event& event, ThreadState& thread) {
  const std::int64_t now = event.time_ns;
  switch (event.kind) {
    case EventKind::use: {
      const std::uint32_t op = recorded.op_number(event.third);
      if (thread.op_begin < 0 || (thread.op_number != 0 && thread.op_number != op)) {
        thread.op_begin = now;
      }
      thread.op_number = op;
      thread.op_origin = low(event.third);
      break;
    }
    case EventKind::create: {
      const std::uint32_t origin = low(event.fourth);
      const bool is_its = thread.op_number == 0 || thread.op_number == recorded.op_number(origin);
      const std::int64_t begin = thread.op_begin >= 0 && is_its ? thread.op_begin : now;
      add_span(Span::Kind::op, event, origin, begin);
      thread.last_op_begin = begin;
      thread.last_op_end = now;
      if (Frame* const run = thread.run(); run != nullptr && run->kernel > begin) run->kernel = now;
      thread.op_begin = -1;
      thread.op_number = 0;
      thread.op_origin = 0;
      break;
    }
    case EventKind::allocate:
      take_allocation(event, thread);
      break;
    case EventKind::free:
      for (Frame& frame : thread.frames) frame.level -= bytes_of(event.third);
      break;
    case EventKind::kernel:
      if (Frame* const run = thread.run()) {
        take_kernel(event, thread, *run);
      } else if (event.subject != 0) {
        queue_op(event, thread);
      }
      break;
    case EventKind::reached:
      take_reached(event);
      break;
    default:
      take_frame(event, thread);
  }
}

// Pieces of time nest because ops and kernels begin within the innermost frame, or before it and
// end after it.
void History::take_frame(const Event& event, ThreadState& thread) {
  Frame* const run = thread.run();
  switch (event.kind) {
    case EventKind::scope_begin:
    case EventKind::run_begin: {
      const bool begins_run = event.kind == EventKind::run_begin;
      Frame frame{.is_run = begins_run,
                  .origin = low(event.third),
                  .begin = event.time_ns,
                  .kernel = event.time_ns,
                  .op_begin = thread.op_begin,
                  .op_number = thread.op_number,
                  .op_origin = thread.op_origin};
      if (begins_run) {
        frame.plan = event.subject;
        frame.device = device_in(event.extra);
      } else if (run != nullptr) {
        std::swap(frame.kernel, run->kernel);
      }
      thread.frames.push_back(std::move(frame));
      thread.op_begin = -1;
      thread.op_number = 0;
      break;
    }
    case EventKind::scope_end:
      // Where the file is damaged, its beginning may be missing.
      if (!thread.frames.empty() && !thread.frames.back().is_run) end_frame(event, thread);
      break;
    case EventKind::run_end: {
      const auto found = std::find_if(
          thread.frames.rbegin(), thread.frames.rend(),
          [&](const Frame& frame) { return frame.is_run && frame.plan == event.subject; });
      if (found == thread.frames.rend()) break;
      thread.frames.erase(found.base(), thread.frames.end());  // whose ends are missing
      end_frame(event, thread);
      break;
    }
    default:
      break;
  }
}

void History::end_frame(const Event& event, ThreadState& thread) {
  const Frame frame = std::move(thread.frames.back());
  thread.frames.pop_back();
  add_span(frame.is_run ? Span::Kind::run : Span::Kind::scope, event, frame.origin, frame.begin,
           frame.device);
  thread.op_begin = frame.op_begin;
  thread.op_number = frame.op_number;
  thread.op_origin = frame.op_origin;
  if (frame.is_run) {
    end_run(frame, event.thread, event.time_ns);
    // It made its results, so the call that it was for has ended.
    thread.op_begin = -1;
    thread.op_number = 0;
    thread.op_origin = 0;
  } else if (Frame* const run = thread.run()) {
    run->kernel = run->kernel == frame.begin ? frame.kernel : event.time_ns;
  }
}

const RecordedPlan* History::plan_of(const Frame& run) const {
  const auto found = plans_.find(run.plan);
  return found == plans_.end() ? nullptr : &recorded.plans()[found->second];
}

void History::take_allocation(const Event& event, ThreadState& thread) {
  const std::int64_t bytes = bytes_of(event.third);
  if (thread.op_begin < 0) thread.op_begin = event.time_ns;
  for (Frame& frame : thread.frames) {
    frame.level += bytes;
    frame.peak = std::max(frame.peak, frame.level);
  }
  // A run allocates its outputs, then its arena, then nothing.
  Frame* const run = thread.run();
  const RecordedPlan* const plan = run == nullptr ? nullptr : plan_of(*run);
  const bool is_arena = plan != nullptr && run->kernel_ends.empty() && bytes == plan->arena &&
                        category_of(event.tag) == Category::workspace;
  if (const auto found = live_.find(event.subject); is_arena && found != live_.end()) {
    run->arena = found->second;
  }
}

void History::take_kernel(const Event& event, ThreadState& thread, Frame& run) {
  std::uint32_t origin = low(event.third);
  std::size_t step = kNoStep;
  if (const RecordedPlan* const plan = plan_of(run)) {
    if (run.kernel_ends.size() < plan->steps.size()) {
      step = run.kernel_ends.size();
      origin = plan->steps[step].origin;
      PlanRuns& all = runs[run.plan];
      all.steps.resize(plan->steps.size());
      ++all.steps[step].times;
      all.steps[step].ns += event.time_ns - run.kernel;
    }
    run.kernel_ends.push_back(event.time_ns);
  }
  if (event.subject != 0) queue_kernel(event, run, origin, step);
  add_span(event.subject == 0 ? Span::Kind::kernel : Span::Kind::launch, event, origin, run.kernel,
           device_in(event.extra));
  run.kernel = event.time_ns;
  if (thread.op_begin >= 0) thread.op_begin = event.time_ns;
}

void History::end_run(const Frame& run, std::uint32_t thread, std::int64_t end_ns) {
  if (end_ns != kNever) {
    PlanRuns& all = runs[run.plan];
    all.lowest = all.runs == 0 ? run.peak : std::min(all.lowest, run.peak);
    all.highest = std::max(all.highest, run.peak);
    all.ns += end_ns - run.begin;
    ++all.runs;
    end_queued_run(run.first_mark, end_ns - run.begin);
  }
  const auto plan = plans_.find(run.plan);
  if (plan == plans_.end()) return;
  run_lives.push_back({.plan = plan->second,
                       .arena = run.arena,
                       .thread = thread,
                       .kernels = static_cast<std::uint32_t>(run.kernel_ends.size()),
                       .first_kernel = kernel_ends.size(),
                       .begin_ns = run.begin,
                       .end_ns = end_ns,
                       .peak = run.peak});
  kernel_ends.insert(kernel_ends.end(), run.kernel_ends.begin(), run.kernel_ends.end());
  const bool is_itemized =
      run.arena != RunLife::kNoArena && !recorded.plans()[plan->second].steps.empty();
  if (is_itemized) storages[run.arena].run = static_cast<std::uint32_t>(run_lives.size());
}

}  // namespace tenure::profile
