#include "tenure/profile/what_if.h"

#include <algorithm>

#include "tenure/base/error.h"
#include "tenure/planner/order.h"

namespace tenure::profile {
namespace {

/// Changes that the search looks at: of usual ones, about a second's work.
constexpr std::int64_t kSteps = 300'000;

/// Of each unit, the first step that computes it.
std::vector<std::uint32_t> first_steps(const RecordedPlan& plan) {
  std::vector<std::uint32_t> first;
  std::size_t known = 0;
  for (std::uint32_t i = 0; i < plan.steps.size(); ++i) {
    const RecordedPlan::Step& step = plan.steps[i];
    if (step.is_again) continue;
    if (step.unit >= plan.steps.size()) throw ValueError("the recording of a program is damaged");
    if (step.unit >= first.size()) first.resize(step.unit + 1);
    first[step.unit] = i;
    ++known;
  }
  if (known != first.size() || known == 0) {
    throw ValueError("not all steps of the program are in the recording");
  }
  return first;
}

/// Units in the order in which the recorded program first computes them.
std::vector<int> order_of(const RecordedPlan& plan) {
  std::vector<int> order;
  for (const RecordedPlan::Step& step : plan.steps) {
    if (!step.is_again) order.push_back(static_cast<int>(step.unit));
  }
  return order;
}

std::vector<ComputedAgain> computed_again(const RecordedPlan& plan, const planner::Dag& dag,
                                          const std::vector<int>& steps) {
  const std::vector<std::uint32_t> first = first_steps(plan);
  std::vector<int> times(dag.nodes.size());
  for (const int unit : steps) ++times[static_cast<std::size_t>(unit)];
  std::vector<ComputedAgain> again;
  for (std::size_t unit = 0; unit < times.size(); ++unit) {
    if (times[unit] < 2) continue;
    const planner::Node& node = dag.nodes[unit];
    again.push_back({first[unit], times[unit] - 1, node.bytes, node.cost * (times[unit] - 1)});
  }
  std::stable_sort(again.begin(), again.end(),
                   [](const auto& a, const auto& b) { return a.bytes > b.bytes; });
  return again;
}

}  // namespace

planner::Dag dag_of(const RecordedPlan& plan) {
  planner::Dag dag{.nodes = {}, .resident = plan.resident};
  for (const std::uint32_t i : first_steps(plan)) {
    const RecordedPlan::Step& step = plan.steps[i];
    dag.nodes.push_back({.bytes = step.bytes,
                         .workspace = step.workspace,
                         .cost = step.cost,
                         .inputs = std::vector<int>(step.inputs.begin(), step.inputs.end()),
                         .overwrites = step.overwrites,
                         .pure = step.is_pure,
                         .output = step.is_output});
  }
  check(dag);
  return dag;
}

std::int64_t planned_peak(const RecordedPlan& plan) {
  const planner::Dag dag = dag_of(plan);
  return planner::order_peak(dag, order_of(plan));
}

std::vector<WhatIf> what_if(const RecordedPlan& plan, const std::vector<std::int64_t>& budgets,
                            std::int64_t effort) {
  const planner::Dag dag = dag_of(plan);
  const std::vector<planner::Rung> rungs =
      planner::ladder(dag, {.steps = kSteps * effort, .given = order_of(plan)});
  std::int64_t cost = 0;
  for (const planner::Node& node : dag.nodes) cost += node.cost;
  std::vector<WhatIf> answers;
  for (const std::int64_t budget : budgets) {
    const auto above = std::find_if(rungs.begin(), rungs.end(), [&](const planner::Rung& rung) {
      return rung.budget > budget;
    });
    const bool fits = above != rungs.begin();
    const planner::RematPlan& chosen = (fits ? above - 1 : above)->plan;
    answers.push_back({.budget = budget,
                       .fits = fits,
                       .peak = chosen.peak,
                       .added = static_cast<double>(chosen.added_cost) /
                                static_cast<double>(std::max<std::int64_t>(cost, 1)),
                       .again = computed_again(plan, dag, chosen.steps)});
  }
  return answers;
}

}  // namespace tenure::profile
