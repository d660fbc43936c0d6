#include "cli/limits.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "cli/table.h"
#include "cli/terminal.h"
#include "tenure/profile/limits.h"
#include "tenure/profile/text.h"

namespace tenure::cli {
namespace {

using profile::BudgetGroup;
using profile::BudgetSeen;
using profile::History;
using profile::RefusalSeen;
using profile::SegmentUse;

std::string percent(std::int64_t part, std::int64_t whole) {
  const auto share =
      static_cast<double>(part) / static_cast<double>(std::max<std::int64_t>(whole, 1));
  return fmt::format("{:.0f} %", 100 * share);
}

std::string moment(std::int64_t time_ns) {
  return seconds_text(static_cast<double>(time_ns) * 1e-9);
}

/// "budget request", "the system", "an injected fault".
std::string refused_by(const History& history, const RefusalSeen& refusal) {
  if (refusal.budget != 0) return "budget " + plain(history.budgets[refusal.budget - 1].name);
  if (refusal.cause == RefusalSeen::Cause::injected) return "an injected fault";
  if (refusal.cause == RefusalSeen::Cause::budget) return "a budget";
  return history.devices.size() == 1 ? "the system" : name_of(refusal.device);
}

const char* cause_text(RefusalSeen::Cause cause) {
  constexpr const char* texts[] = {"budget", "system", "injected"};
  return texts[static_cast<std::size_t>(cause)];
}

const BudgetSeen& first_of(const History& history, const BudgetGroup& group) {
  return history.budgets[group.numbers.front() - 1];
}

std::string name_around(const History& history, const BudgetSeen& budget) {
  return budget.around == 0 ? "" : history.budgets[budget.around - 1].name;
}

Json budgets_json(const History& history, std::size_t rows) {
  Json list = Json::array();
  for (const BudgetGroup& group : budget_groups(history)) {
    if (list.size() == rows) break;
    const BudgetSeen& budget = first_of(history, group);
    list.push_back({{"name", budget.name},
                    {"limit", budget.limit},
                    {"device", name_of(budget.device)},
                    {"number", group.numbers.size()},
                    {"peak_bytes", group.most.peak},
                    {"peak_seconds", static_cast<double>(group.most.peak_ns) * 1e-9},
                    {"refusals", group.refusals},
                    {"around", name_around(history, budget)},
                    {"ended", group.have_ended}});
  }
  return list;
}

Json segments_json(const History& history, Device device, std::int64_t time_ns) {
  Json list = Json::array();
  for (const SegmentUse& use : segments_at(history, device, time_ns)) {
    Json by = Json::array();
    for (const SegmentUse::By& one : use.by) {
      if (by.size() == 5) break;
      by.push_back(
          {{"origin", origin_json(history.recorded.origin(one.origin))}, {"bytes", one.bytes}});
    }
    list.push_back({{"device", name_of(device)},
                    {"bytes", use.segment->bytes},
                    {"used_bytes", use.used},
                    {"slab_bytes", use.slabs},
                    {"largest_hole_bytes", use.largest_hole},
                    {"by", std::move(by)}});
  }
  return list;
}

}  // namespace

void print_budgets(const History& history, std::size_t rows) {
  std::vector<std::vector<std::string>> table;
  const std::vector<BudgetGroup> all = budget_groups(history);
  for (const BudgetGroup& group : all) {
    if (table.size() == rows) break;
    const BudgetSeen& budget = first_of(history, group);
    const std::size_t n = group.numbers.size();
    const std::string number = n > 1 ? fmt::format("{} x ", n) : "";
    table.push_back({size_text(budget.limit), size_text(group.most.peak),
                     percent(group.most.peak, budget.limit), fmt::to_string(group.refusals),
                     number + plain(budget.name)});
  }
  if (table.empty()) return;
  const Terminal terminal;
  print_heading(terminal, "Budgets: what was charged to them");
  print_table(terminal, {">limit", ">at most", ">used", ">refused", "budget"}, table);
  if (all.size() > rows) fmt::print("  and {} more\n", all.size() - rows);
}

void print_refusals(const History& history, std::size_t rows) {
  if (history.refusals.empty()) return;
  constexpr std::size_t kHolders = 3;
  const Terminal terminal;
  print_heading(terminal, "Refused, and who held what was there");
  for (std::size_t i = 0; i < std::min(rows, history.refusals.size()); ++i) {
    const RefusalSeen& refusal = history.refusals[i];
    print_beside(terminal, size_text(refusal.requested),
                 fmt::format("{} by {}, after {}: {} held",
                             origin_text(history.recorded.origin(refusal.origin)),
                             refused_by(history, refusal), moment(refusal.time_ns),
                             size_text(refusal.used)));
    const std::vector<profile::RefusalHolder> holders = holders_at(history, refusal);
    for (std::size_t k = 0; k < std::min(kHolders, holders.size()); ++k) {
      print_beside(terminal, "",
                   fmt::format("{} by {}", size_text(holders[k].bytes),
                               origin_text(history.recorded.origin(holders[k].origin))),
                   true);
    }
  }
  if (history.refusals.size() > rows) fmt::print("  and {} more\n", history.refusals.size() - rows);
}

void print_pools(const History& history, std::size_t rows) {
  const Terminal terminal;
  for (const Device device : history.devices) {
    const std::vector<profile::PoolSample> samples = pool_levels(history, device);
    if (samples.empty()) continue;
    const auto worst = std::max_element(
        samples.begin(), samples.end(),
        [](const auto& a, const auto& b) { return a.fragmentation < b.fragmentation; });
    const auto most =
        std::max_element(samples.begin(), samples.end(),
                         [](const auto& a, const auto& b) { return a.reserved < b.reserved; });
    const std::string title =
        history.devices.size() == 1 ? "The pool" : fmt::format("The pool of {}", name_of(device));
    print_heading(terminal, title);
    print_indented(
        terminal,
        fmt::format("{} from the system at the end, {} of them free for reuse; {} at most",
                    size_text(samples.back().reserved), size_text(samples.back().cached),
                    size_text(most->reserved)));
    fmt::print("  fragmentation at most {:.0f} %, after {}\n", worst->fragmentation * 100,
               moment(worst->time_ns));
    std::vector<std::vector<std::string>> table;
    const std::int64_t at = peak(history).time_ns;
    const std::vector<SegmentUse> segments = segments_at(history, device, at);
    for (const SegmentUse& use : segments) {
      if (table.size() == rows) break;
      table.push_back(
          {size_text(use.segment->bytes), percent(use.used, use.segment->bytes),
           size_text(use.slabs), size_text(use.largest_hole),
           use.by.empty() ? "" : origin_text(history.recorded.origin(use.by[0].origin))});
    }
    if (table.empty()) continue;
    fmt::print("  its segments at the peak:\n");
    print_table(terminal, {">segment", ">full", ">small blocks", ">largest hole", "most of it by"},
                table);
    if (segments.size() > rows) fmt::print("  and {} more\n", segments.size() - rows);
  }
}

Json refusals_json(const History& history, std::size_t rows) {
  Json list = Json::array();
  for (const RefusalSeen& refusal : history.refusals) {
    if (list.size() == rows) break;
    Json holders = Json::array();
    for (const profile::RefusalHolder& holder : holders_at(history, refusal)) {
      if (holders.size() == rows) break;
      holders.push_back({{"origin", origin_json(history.recorded.origin(holder.origin))},
                         {"bytes", holder.bytes},
                         {"storages", holder.storages}});
    }
    list.push_back({{"seconds", static_cast<double>(refusal.time_ns) * 1e-9},
                    {"cause", cause_text(refusal.cause)},
                    {"budget", refusal.budget == 0 ? "" : history.budgets[refusal.budget - 1].name},
                    {"limit", refusal.budget == 0 ? 0 : history.budgets[refusal.budget - 1].limit},
                    {"device", name_of(refusal.device)},
                    {"requested_bytes", refusal.requested},
                    {"used_bytes", refusal.used},
                    {"origin", origin_json(history.recorded.origin(refusal.origin))},
                    {"holders", std::move(holders)}});
  }
  return list;
}

Json limits_json(const History& history, std::size_t rows) {
  Json pool = Json::array();
  Json segments = Json::array();
  const std::int64_t at = peak(history).time_ns;
  for (const Device device : history.devices) {
    for (const profile::PoolSample& sample : pool_levels(history, device)) {
      pool.push_back({static_cast<double>(sample.time_ns) * 1e-9, sample.reserved, sample.cached,
                      sample.fragmentation, name_of(sample.device)});
    }
    for (Json& one : segments_json(history, device, at)) segments.push_back(std::move(one));
  }
  return {{"budgets", budgets_json(history, rows)},
          {"refusals", refusals_json(history, rows)},
          {"pool", std::move(pool)},
          {"segments", std::move(segments)}};
}

}  // namespace tenure::cli
