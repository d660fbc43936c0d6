#include <algorithm>

#include "tenure/profile/event_words.h"
#include "tenure/profile/history.h"

// When devices that compute later did what they were given. Until it is known that they have, what
// the calls took counts, and that stays where the recording ends before.

namespace tenure::profile {

void History::queue_kernel(const Event& event, Frame& run, std::uint32_t origin, std::size_t step) {
  if (run.first_mark == 0) {
    run.first_mark = event.subject;
    queued_runs_[run.first_mark].plan = run.plan;
  }
  ++queued_runs_[run.first_mark].left;
  queued_[event.subject] = {.origin = origin,
                            .begin = run.kernel,
                            .call_ns = event.time_ns - run.kernel,
                            .run = run.first_mark,
                            .step = step};
}

void History::queue_op(const Event& event, const ThreadState& thread) {
  queued_[event.subject] = {.origin = low(event.third),
                            .begin = thread.last_op_begin,
                            .call_ns = thread.last_op_end - thread.last_op_begin};
}

void History::take_reached(const Event& event) {
  const Device device = device_in(event.extra);
  std::int64_t& last = reached_[mem::place_of(device)];
  const std::int64_t before = last;
  // In a damaged file it may go back, or be of a time to come.
  last = std::clamp(bytes_of(event.third), before, std::max(before, event.time_ns));
  const auto found = queued_.find(event.subject);
  if (found == queued_.end()) return;
  const Queued queued = queued_.extract(found).mapped();
  const std::int64_t begin = std::min(std::max(before, queued.begin), last);
  time_spent[queued.origin].ns += last - begin - queued.call_ns;
  if (with_spans_) {
    spans.push_back({Span::Kind::kernel, device, Span::kNoThread, queued.origin, begin, last});
  }
  if (queued.run != 0) take_reached_of_run(queued, begin, last);
}

void History::take_reached_of_run(const Queued& queued, std::int64_t begin, std::int64_t end) {
  const auto found = queued_runs_.find(queued.run);
  if (found == queued_runs_.end()) return;
  QueuedRun& run = found->second;
  std::vector<PlanRuns::StepTime>& steps = runs[run.plan].steps;
  if (queued.step < steps.size()) steps[queued.step].ns += end - begin - queued.call_ns;
  if (run.begin < 0) run.begin = begin;
  run.end = end;
  --run.left;
  finish_run_if_done(queued.run);
}

void History::end_queued_run(std::uint64_t first_mark, std::int64_t call_ns) {
  const auto found = queued_runs_.find(first_mark);
  if (found == queued_runs_.end()) return;
  found->second.call_ns = call_ns;
  finish_run_if_done(first_mark);
}

void History::finish_run_if_done(std::uint64_t first_mark) {
  const auto found = queued_runs_.find(first_mark);
  const QueuedRun& run = found->second;
  if (run.left > 0 || run.call_ns < 0) return;
  runs[run.plan].ns += run.end - run.begin - run.call_ns;
  queued_runs_.erase(found);
}

}  // namespace tenure::profile
