#include "cli/top_programs.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <stdexcept>

#include "cli/commands.h"
#include "cli/table.h"
#include "tenure/base/text.h"
#include "tenure/profile/plan_moments.h"
#include "tenure/profile/text.h"
#include "tenure/profile/what_if.h"

namespace tenure::cli {
namespace {

using profile::History;
using profile::MeasuredPlan;
using profile::RecordedPlan;

bool is_exact(const MeasuredPlan& measured) {
  return measured.runs.lowest == measured.plan->peak &&
         measured.runs.highest == measured.plan->peak;
}

/// Those that ran, the largest first.
std::vector<MeasuredPlan> largest_first(const History& history) {
  std::vector<MeasuredPlan> all = plans(history);
  std::stable_sort(all.begin(), all.end(), [](const MeasuredPlan& a, const MeasuredPlan& b) {
    return a.plan->peak > b.plan->peak;
  });
  return all;
}

std::string title_of(const History& history, const RecordedPlan& plan) {
  return origin_text(history.recorded.origin(plan.origin));
}

std::string layer_text(const profile::Origin& origin) {
  return origin.scope.empty() ? "(no scope)" : plain(origin.scope);
}

double seconds_of(std::int64_t ns) { return static_cast<double>(ns) * 1e-9; }

std::int64_t measured_ns(const MeasuredPlan& measured, std::size_t step) {
  if (step >= measured.runs.steps.size()) return 0;
  const profile::PlanRuns::StepTime& time = measured.runs.steps[step];
  return time.times == 0 ? 0 : time.ns / time.times;
}

Json saved_json(const History& history, const RecordedPlan& plan) {
  Json list = Json::array();
  for (const profile::SavedLayer& layer : saved_by_layer(history, plan)) {
    list.push_back({{"scope", layer.scope}, {"bytes", layer.bytes}, {"buffers", layer.buffers}});
  }
  return list;
}

Json steps_json(const History& history, const MeasuredPlan& measured) {
  Json list = Json::array();
  for (std::size_t i = 0; i < measured.plan->steps.size(); ++i) {
    const RecordedPlan::Step& step = measured.plan->steps[i];
    list.push_back({{"origin", origin_json(history.recorded.origin(step.origin))},
                    {"category", name_of(step.category)},
                    {"live_bytes", step.live},
                    {"predicted_ns", step.cost},
                    {"measured_ns", measured_ns(measured, i)},
                    {"again", step.is_again}});
  }
  return list;
}

Json inner_steps_json(const History& history, const RecordedPlan& plan) {
  Json list = Json::array();
  for (const profile::PlanMoment& moment : profile::moments(plan)) {
    if (moment.body == RecordedPlan::kNoBody) continue;
    const RecordedPlan::Step& step =
        plan.steps_of(moment.body)[static_cast<std::size_t>(moment.step)];
    list.push_back({{"at", moment.label},
                    {"inside", body_text(plan, moment.body)},
                    {"origin", origin_json(history.recorded.origin(step.origin))},
                    {"category", name_of(step.category)},
                    {"live_bytes", step.live},
                    {"predicted_ns", step.cost},
                    {"again", step.is_again}});
  }
  return list;
}

Json buffers_json(const History& history, const RecordedPlan& plan) {
  Json list = Json::array();
  const profile::PlanPositions positions(plan);
  for (const RecordedPlan::Buffer& buffer : plan.buffers) {
    Json origin = origin_json(history.recorded.origin(buffer.origin));
    origin["op"] = buffer.op;
    list.push_back({{"origin", std::move(origin)},
                    {"category", profile::kind_name(kind_of(buffer))},
                    {"bytes", buffer.bytes},
                    {"offset", buffer.offset},
                    {"first_step", buffer.first},
                    {"last_step", buffer.last},
                    {"steps", positions.label_of(buffer)},
                    {"inside", body_text(plan, buffer.body)},
                    {"tensor", buffer.layout},
                    {"again", buffer.is_again}});
  }
  return list;
}

/// What lies in its arena, in the order in which it comes to be.
void print_buffers(const History& history, const RecordedPlan& plan) {
  const Terminal terminal;
  const profile::PlanPositions positions(plan);
  std::vector<const RecordedPlan::Buffer*> all;
  for (const RecordedPlan::Buffer& buffer : plan.buffers) all.push_back(&buffer);
  std::stable_sort(all.begin(), all.end(), [&](const auto* a, const auto* b) {
    return positions.begin_of(*a) < positions.begin_of(*b);
  });
  std::vector<std::vector<std::string>> table;
  for (const RecordedPlan::Buffer* const buffer : all) {
    const profile::Origin& origin = history.recorded.origin(buffer->origin);
    table.push_back({positions.label_of(*buffer), size_text(buffer->bytes),
                     size_text(buffer->offset), plain(buffer->layout),
                     std::string(profile::kind_name(kind_of(*buffer))), layer_text(origin),
                     place_text(origin), (buffer->is_again ? "again: " : "") + plain(buffer->op)});
  }
  if (table.empty()) return;
  print_heading(terminal, fmt::format("The buffers in the arena of {}: {}", title_of(history, plan),
                                      size_text(plan.arena)));
  print_table(terminal, {">steps", ">bytes", ">offset", "tensor", "kind", "layer", "line", "op"},
              table);
}

std::vector<std::int64_t> budgets_of(const RecordedPlan& plan, double percent) {
  const auto peak = static_cast<double>(profile::planned_peak(plan));
  return {static_cast<std::int64_t>(peak * percent / 100)};
}

Json what_if_json(const History& history, const RecordedPlan& plan, double percent) {
  const profile::WhatIf answer = what_if(plan, budgets_of(plan, percent)).front();
  Json again = Json::array();
  for (const profile::ComputedAgain& one : answer.again) {
    again.push_back({{"origin", origin_json(history.recorded.origin(plan.steps[one.step].origin))},
                     {"step", one.step},
                     {"times", one.times},
                     {"bytes", one.bytes},
                     {"cost_ns", one.cost}});
  }
  return {{"percent", percent},
          {"budget", answer.budget},
          {"fits", answer.fits},
          {"peak", answer.peak},
          {"added_percent", 100 * answer.added},
          {"computed_again", std::move(again)}};
}

}  // namespace

std::string share_text(std::int64_t part, std::int64_t whole) {
  return whole <= 0 ? ""
                    : fmt::format("{:.0f} %",
                                  100.0 * static_cast<double>(part) / static_cast<double>(whole));
}

Json programs_json(const History& history, const ProgramOptions& options) {
  Json list = Json::array();
  for (const MeasuredPlan& measured : plans(history)) {
    const RecordedPlan& plan = *measured.plan;
    Json one{{"origin", origin_json(history.recorded.origin(plan.origin))},
             {"runs", measured.runs.runs},
             {"predicted", plan.peak},
             {"measured", measured.runs.highest},
             {"arena", plan.arena},
             {"mean_ns", measured.runs.runs == 0 ? 0 : measured.runs.ns / measured.runs.runs},
             {"saved", saved_json(history, plan)}};
    if (options.steps) {
      one["steps"] = steps_json(history, measured);
      one["inner_steps"] = inner_steps_json(history, plan);
      one["buffers"] = buffers_json(history, plan);
    }
    if (options.at && !plan.steps.empty())
      one["what_if"] = what_if_json(history, plan, *options.at);
    list.push_back(std::move(one));
  }
  return list;
}

void print_programs(const History& history, std::size_t rows) {
  const Terminal terminal;
  std::vector<std::vector<std::string>> table;
  for (const MeasuredPlan& measured : plans(history)) {
    if (table.size() == rows) break;
    table.push_back(
        {fmt::to_string(measured.runs.runs), size_text(measured.plan->peak),
         size_text(measured.runs.highest), is_exact(measured) ? "exact" : "off",
         measured.runs.runs == 0
             ? ""
             : seconds_text(seconds_of(measured.runs.ns) / static_cast<double>(measured.runs.runs)),
         title_of(history, *measured.plan)});
  }
  if (table.empty()) return;
  print_heading(terminal, "Predicted against measured");
  print_table(terminal, {">runs", ">predicted", ">measured", "", ">a run", "compiled program"},
              table);
}

void print_saved(const History& history, std::size_t rows) {
  const Terminal terminal;
  for (const MeasuredPlan& measured : largest_first(history)) {
    const auto layers = saved_by_layer(history, *measured.plan);
    if (layers.empty()) continue;
    std::int64_t all = 0;
    for (const profile::SavedLayer& layer : layers) all += layer.bytes;
    std::vector<std::vector<std::string>> table;
    for (const profile::SavedLayer& layer : layers) {
      if (table.size() == rows) break;
      table.push_back({size_text(layer.bytes), share_text(layer.bytes, all),
                       fmt::to_string(layer.buffers),
                       layer.scope.empty() ? "(no scope)" : plain(layer.scope), plain(layer.ops)});
    }
    print_heading(terminal, fmt::format("Saved for backward by {}, by layer: {}",
                                        title_of(history, *measured.plan), size_text(all)));
    print_table(terminal, {">bytes", ">share", ">buffers", "layer", "made by"}, table);
    if (layers.size() > rows) fmt::print("  and {} more layers\n", layers.size() - rows);
    return;  // the largest alone
  }
}

void print_steps(const History& history) {
  const Terminal terminal;
  for (const MeasuredPlan& measured : largest_first(history)) {
    const RecordedPlan& plan = *measured.plan;
    std::vector<std::vector<std::string>> table;
    for (const profile::PlanMoment& moment : profile::moments(plan)) {
      const auto i = static_cast<std::size_t>(moment.step);
      const bool is_inside = moment.body != RecordedPlan::kNoBody;
      const RecordedPlan::Step& step = plan.steps_of(moment.body)[i];
      const profile::Origin& origin = history.recorded.origin(step.origin);
      table.push_back(
          {moment.label, size_text(step.live), seconds_text(seconds_of(step.cost)),
           is_inside ? "" : seconds_text(seconds_of(measured_ns(measured, i))),
           std::string(name_of(step.category)), layer_text(origin), place_text(origin),
           (step.is_again ? "again: " : "") + plain(origin.op) +
               (is_inside ? fmt::format(" ({})", plain(body_text(plan, moment.body))) : "")});
    }
    if (table.empty()) continue;
    print_heading(terminal, fmt::format("The steps of {}", title_of(history, plan)));
    print_table(terminal,
                {">step", ">live", ">predicted", ">measured", "for", "layer", "line", "op"}, table);
    print_buffers(history, plan);
  }
}

void print_what_if(const History& history, double percent, std::size_t rows) {
  const Terminal terminal;
  const std::vector<MeasuredPlan> all = largest_first(history);
  const auto found = std::find_if(all.begin(), all.end(), [](const MeasuredPlan& measured) {
    return !measured.plan->steps.empty();
  });
  if (found == all.end()) {
    throw std::runtime_error("--at: no compiled program ran while it was recorded");
  }
  const RecordedPlan& plan = *found->plan;
  const profile::WhatIf answer = what_if(plan, budgets_of(plan, percent)).front();
  print_heading(terminal,
                fmt::format("At {:g} % of the peak of {}", percent, title_of(history, plan)));
  if (!answer.fits) {
    print_indented(terminal,
                   fmt::format("it does not fit into {}: the least that is known to suffice is {}",
                               size_text(answer.budget), size_text(answer.peak)));
  }
  print_indented(terminal, fmt::format("{} live at most, for {:.1f} % more time, as estimated",
                                       size_text(answer.peak), 100 * answer.added));
  std::vector<std::vector<std::string>> table;
  for (const profile::ComputedAgain& one : answer.again) {
    if (table.size() == rows) break;
    const profile::Origin& origin = history.recorded.origin(plan.steps[one.step].origin);
    table.push_back({size_text(one.bytes), seconds_text(seconds_of(one.cost)),
                     one.times == 1 ? "once" : fmt::format("{} times", one.times),
                     layer_text(origin), place_text(origin), plain(origin.op)});
  }
  if (table.empty()) {
    fmt::print("  nothing is computed again: a better order is enough\n");
    return;
  }
  print_table(terminal, {">bytes", ">price", "again", "layer", "line", "op"}, table);
  if (answer.again.size() > rows) fmt::print("  and {} more\n", answer.again.size() - rows);
}

double parse_percent(const std::string& text) {
  const std::string digits = text.ends_with('%') ? text.substr(0, text.size() - 1) : text;
  double value = 0;
  const char* const end = digits.data() + digits.size();
  const auto [rest, error] = std::from_chars(digits.data(), end, value);
  if (error != std::errc() || rest != end || !(value > 0) || value > 100) {
    throw UsageError(fmt::format("--at is \"{}\"; it must be a percentage of the peak, such as 60",
                                 excerpt(text)));
  }
  return value;
}

}  // namespace tenure::cli
