#include "tenure/profile/report_plans.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "tenure/profile/arenas.h"
#include "tenure/profile/plan_moments.h"
#include "tenure/profile/queries.h"
#include "tenure/profile/text.h"
#include "tenure/profile/what_if.h"

namespace tenure::profile {
namespace {

/// What each step is, is predicted to take and took.
std::string steps_of(const MeasuredPlan& measured, ReportNumbers& numbers) {
  std::string text;
  for (std::size_t i = 0; i < measured.plan->steps.size(); ++i) {
    const RecordedPlan::Step& step = measured.plan->steps[i];
    const ReportPlace from = numbers.place(step.origin);
    const PlanRuns::StepTime time =
        i < measured.runs.steps.size() ? measured.runs.steps[i] : PlanRuns::StepTime();
    text += fmt::format(
        R"({}{{"op":{},"site":{},"scope":{},"kind":{},"unit":{},"live":{},"predicted_ns":{},"measured_ns":{},"again":{}}})",
        i == 0 ? "" : ",", from.op, from.site, from.scope, static_cast<int>(step.category),
        step.unit, step.live, step.cost, time.times == 0 ? 0 : time.ns / time.times, step.is_again);
  }
  return text;
}

bool is_asked(const History& history, WhatIfs what_ifs, const RecordedPlan& plan) {
  constexpr std::size_t kQuick = 300;
  if (what_ifs != WhatIfs::quick) return what_ifs == WhatIfs::all;
  std::int64_t largest = 0;
  for (const MeasuredPlan& other : plans(history)) {
    largest = std::max(largest, other.plan->peak);
  }
  return plan.peak == largest && plan.steps.size() <= kQuick;
}

/// What parts of its peak would cost a program; nothing where that is not asked or not known.
std::string what_ifs_of(const History& history, WhatIfs what_ifs, const RecordedPlan& plan) try {
  if (plan.steps.empty() || !is_asked(history, what_ifs, plan)) return {};
  constexpr int kPercents[] = {90, 80, 70, 60, 50, 40, 30};
  const std::int64_t all = planned_peak(plan);
  std::vector<std::int64_t> budgets;
  for (const int percent : kPercents) budgets.push_back(all / 100 * percent);
  std::string text;
  for (const WhatIf& answer : what_if(plan, budgets)) {
    std::string again;
    for (const ComputedAgain& one : answer.again) {
      again += fmt::format(R"({}{{"step":{},"times":{},"bytes":{},"ns":{}}})",
                           again.empty() ? "" : ",", one.step, one.times, one.bytes, one.cost);
    }
    const auto i = static_cast<std::size_t>(
        std::find(budgets.begin(), budgets.end(), answer.budget) - budgets.begin());
    text += fmt::format(
        R"({}{{"percent":{},"budget":{},"fits":{},"peak":{},"added":{:.4f},"again":[{}]}})",
        text.empty() ? "" : ",", kPercents[i], answer.budget, answer.fits, answer.peak,
        answer.added, again);
  }
  return text;
} catch (const ValueError&) {  // the file is damaged
  return {};
}

/// The steps of branches and loops, and what the positions are called; nothing without such.
std::string inner_steps(const RecordedPlan& plan, const PlanPositions& positions,
                        ReportNumbers& numbers) {
  if (plan.bodies.empty()) return {};
  std::vector<std::string> labels;
  std::string steps;
  for (const PlanMoment& moment : positions.moments()) {
    // The innermost, which come last, say what a position is.
    labels.resize(static_cast<std::size_t>(moment.end));
    labels[static_cast<std::size_t>(moment.begin)] = '"' + moment.label + '"';
    if (moment.body == RecordedPlan::kNoBody) continue;
    const RecordedPlan::Step& step =
        plan.steps_of(moment.body)[static_cast<std::size_t>(moment.step)];
    const ReportPlace from = numbers.place(step.origin);
    steps += fmt::format(
        R"({}{{"at":"{}","inside":{},"op":{},"site":{},"scope":{},"kind":{},"live":{},"predicted_ns":{},"again":{}}})",
        steps.empty() ? "" : ",", moment.label, json_string(body_text(plan, moment.body)), from.op,
        from.site, from.scope, static_cast<int>(step.category), step.live, step.cost,
        step.is_again);
  }
  return fmt::format(R"(,"positions":[{}],"inner_steps":[{}])", fmt::join(labels, ","), steps);
}

}  // namespace

std::string report_plans(const History& history, WhatIfs what_ifs, ReportNumbers& numbers) {
  const Recorded& recorded = history.recorded;
  std::string text;
  for (const MeasuredPlan& measured : plans(history)) {
    const RecordedPlan& plan = *measured.plan;
    const Origin& from = recorded.origin(plan.origin);
    text += fmt::format(
        R"({}{{"name":{},"predicted":{},"measured":{},"arena":{},"runs":{},"ns":{},"number":{},"steps":[{}],"what_if":[{}],"buffers":[)",
        text.empty() ? "" : ",", json_string(fmt::format("{} at {}", from.op, place_text(from))),
        plan.peak, measured.runs.highest, plan.arena, measured.runs.runs,
        measured.runs.runs == 0 ? 0 : measured.runs.ns / measured.runs.runs,
        &plan - recorded.plans().data() + 1, steps_of(measured, numbers),
        what_ifs_of(history, what_ifs, plan));
    const PlanPositions positions(plan);
    for (std::size_t i = 0; i < plan.buffers.size(); ++i) {
      const RecordedPlan::Buffer& b = plan.buffers[i];
      const ReportPlace made = numbers.place(b.origin);
      text += fmt::format(
          R"({}{{"op":{},"offset":{},"bytes":{},"first":{},"last":{},"site":{},"scope":{},"kind":{},"again":{})",
          i == 0 ? "" : ",", json_string(b.op), b.offset, b.bytes, b.first, b.last, made.site,
          made.scope, kind_of(b), b.is_again);
      if (!b.layout.empty()) text += fmt::format(R"(,"layout":{})", json_string(b.layout));
      if (!plan.bodies.empty()) {
        text += fmt::format(R"(,"begin":{},"end":{})", positions.begin_of(b), positions.end_of(b));
      }
      if (b.body != RecordedPlan::kNoBody) {
        text +=
            fmt::format(R"(,"inside":{},"at":"{}","shown":{})",
                        json_string(body_text(plan, b.body)), positions.label_of(b), b.is_shown);
      }
      text += '}';
    }
    text += fmt::format("]{}}}", inner_steps(plan, positions, numbers));
  }
  return text;
}

}  // namespace tenure::profile
