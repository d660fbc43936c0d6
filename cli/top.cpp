#include "cli/top.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>

#include "cli/bytes.h"
#include "cli/command_line.h"
#include "cli/commands.h"
#include "cli/held.h"
#include "cli/limits.h"
#include "cli/table.h"
#include "cli/top_programs.h"
#include "tenure/profile/text.h"

namespace tenure::cli {
namespace {

using profile::History;

struct TopOptions {
  std::string file;
  std::string by = "line";
  std::size_t rows = 10;
  std::string budget_text;
  std::optional<std::int64_t> budget;
  bool saved = false;
  ProgramOptions programs;
  bool json = false;
};

std::vector<std::pair<std::string, profile::OpCounts>> busiest(const History& history) {
  std::vector<std::pair<std::string, profile::OpCounts>> ops(history.ops.begin(),
                                                             history.ops.end());
  std::stable_sort(ops.begin(), ops.end(),
                   [](const auto& a, const auto& b) { return a.second.bytes > b.second.bytes; });
  return ops;
}

/// Live bytes over time in one line, of each device: the darker, the more.
void print_timeline(const History& history) {
  constexpr std::string_view kInk = " .:-=+*#@";
  const Terminal terminal;
  for (const Device device : history.devices) {
    const std::int64_t highest = peak(history, device).bytes;
    if (highest == 0 || history.end_ns == 0) continue;
    std::string line;
    const int width = static_cast<int>(terminal.width()) - 16;
    for (const profile::Level& level : timeline(history, width, device)) {
      const double share = static_cast<double>(level.bytes) / static_cast<double>(highest);
      line += kInk[std::min<std::size_t>(static_cast<std::size_t>(std::ceil(share * 8)), 8)];
    }
    fmt::print("  {:<10}  |{}|\n", history.devices.size() == 1 ? "over time" : name_of(device),
               line);
  }
}

void print_ops(const History& history, std::size_t rows) {
  const Terminal terminal;
  std::vector<std::vector<std::string>> table;
  for (const auto& [name, counts] : busiest(history)) {
    if (table.size() == rows) break;
    table.push_back({fmt::to_string(counts.calls), fmt::to_string(counts.allocated),
                     fmt::to_string(counts.reused), fmt::to_string(counts.viewed),
                     size_text(counts.bytes), plain(name)});
  }
  if (table.empty()) return;
  print_heading(terminal, "Which ops allocated, reused, viewed");
  print_table(terminal, {">results", ">allocated", ">in place", ">views", ">bytes", "op"}, table);
}

void print_idle(const History& history, std::size_t rows) {
  const Terminal terminal;
  const profile::Endings all = endings(history);
  const std::int64_t highest = peak(history).bytes;
  std::vector<std::vector<std::string>> table;
  for (const profile::Ending& ending : all.late) {
    if (table.size() == rows || ending.idle_seconds < 1e-6) break;
    table.push_back({fmt::to_string(ending.storages), size_text(ending.bytes),
                     seconds_text(ending.idle_seconds),
                     origin_text(history.recorded.origin(ending.origin))});
  }
  if (!table.empty()) {
    print_heading(terminal, "Freed late: idle from the last use to the end");
    print_table(terminal, {">storages", ">bytes", ">longest idle", "made by"}, table);
    print_indented(terminal,
                   fmt::format("freed after its last use, the peak would be {} ({} of {})",
                               size_text(all.least_peak), share_text(all.least_peak, highest),
                               size_text(highest)));
  }
  table.clear();
  for (const profile::Ending& ending : all.early) {
    if (table.size() == rows) break;
    table.push_back(
        {fmt::to_string(ending.storages), origin_text(history.recorded.origin(ending.origin))});
  }
  if (!table.empty()) {
    print_heading(terminal, "Disposed while something else held the data");
    print_table(terminal, {">times", "disposed by"}, table);
  }
  table.clear();
  for (const auto& [miss, times] : history.misses) {
    if (table.size() == rows) break;
    table.push_back({fmt::to_string(times), origin_text(history.recorded.origin(miss.disposed)),
                     origin_text(history.recorded.origin(miss.used))});
  }
  if (!table.empty()) {
    print_heading(terminal, "Disposed too early: used again, which failed");
    print_table(terminal, {">times", "disposed by", "wanted by"}, table);
  }
}

void print_evictions(const History& history) {
  if (history.evictions == 0) return;
  const Terminal terminal;
  print_heading(terminal, "Evicted by budgets");
  print_indented(
      terminal,
      fmt::format("{} results were given up; {} were computed again, {} together",
                  history.evictions, history.recomputations, size_text(history.recomputed_bytes)));
}

void print_budget(const History& history, std::int64_t limit) {
  const profile::BudgetEffect effect = with_budget(history, limit);
  const Terminal terminal;
  print_heading(terminal, fmt::format("With a budget of {}", size_text(limit)));
  if (effect.fits) {
    fmt::print("  it fits, with {} to spare\n", size_text(-effect.over));
    return;
  }
  print_indented(terminal,
                 fmt::format("it does not fit: the peak is {} above it, and {} were spent above it",
                             size_text(effect.over), seconds_text(effect.seconds_above)));
  if (effect.refused != nullptr) {
    print_indented(terminal,
                   fmt::format("first refused, after {}: {} by {}",
                               seconds_text(static_cast<double>(effect.refused->birth_ns) * 1e-9),
                               size_text(effect.refused->bytes),
                               origin_text(history.recorded.origin(effect.refused->origin))));
  }
}

Json groups_json(const std::vector<profile::Group>& groups) {
  Json list = Json::array();
  for (const profile::Group& group : groups) {
    list.push_back({{"name", group.name}, {"bytes", group.bytes}, {"storages", group.storages}});
  }
  return list;
}

Json timeline_json(const std::vector<profile::Level>& levels) {
  Json list = Json::array();
  for (const profile::Level& level : levels) {
    list.push_back({static_cast<double>(level.time_ns) * 1e-9, level.bytes});
  }
  return list;
}

Json endings_json(const History& history, const std::vector<profile::Ending>& endings) {
  Json list = Json::array();
  for (const profile::Ending& ending : endings) {
    list.push_back({{"origin", origin_json(history.recorded.origin(ending.origin))},
                    {"storages", ending.storages},
                    {"bytes", ending.bytes},
                    {"longest_idle_seconds", ending.idle_seconds},
                    {"idle_byte_seconds", ending.idle_byte_seconds}});
  }
  return list;
}

Json document(const History& history, const TopOptions& options) {
  using profile::GroupBy;
  Json result = summary_json(history);
  const std::int64_t at = peak(history).time_ns;
  result["peak"] = {{"op", groups_json(live_at(history, at, GroupBy::op))},
                    {"line", groups_json(live_at(history, at, GroupBy::line))},
                    {"scope", groups_json(live_at(history, at, GroupBy::scope))},
                    {"category", groups_json(live_at(history, at, GroupBy::category))},
                    {"device", groups_json(live_at(history, at, GroupBy::device))}};
  Json ops = Json::array();
  for (const auto& [name, counts] : busiest(history)) {
    ops.push_back({{"op", name},
                   {"results", counts.calls},
                   {"allocated", counts.allocated},
                   {"in_place", counts.reused},
                   {"views", counts.viewed},
                   {"bytes", counts.bytes}});
  }
  result["ops"] = std::move(ops);
  const profile::Endings all = endings(history);
  result["late"] = endings_json(history, all.late);
  result["never"] = endings_json(history, all.never);
  result["early"] = endings_json(history, all.early);
  Json missed = Json::array();
  for (const auto& [miss, times] : history.misses) {
    missed.push_back({{"disposed", origin_json(history.recorded.origin(miss.disposed))},
                      {"used", origin_json(history.recorded.origin(miss.used))},
                      {"times", times}});
  }
  result["missed"] = std::move(missed);
  result["least_peak_bytes"] = all.least_peak;
  result["evicted"] = {{"times", history.evictions},
                       {"recomputed", history.recomputations},
                       {"recomputed_bytes", history.recomputed_bytes}};
  Json held = Json::array();
  for (const profile::Held& one : held_at_end(history)) {
    if (held.size() == options.rows) break;
    Json holders = Json::array();
    for (const auto* h : one.holders) holders.push_back(to_string(*h, history.recorded));
    held.push_back({{"bytes", one.storage->bytes},
                    {"category", name_of(one.storage->category)},
                    {"device", name_of(one.storage->device)},
                    {"tensor", to_string(history.recorded.layout(one.storage->layout))},
                    {"name", history.recorded.string(one.storage->name)},
                    {"holders", std::move(holders)}});
  }
  result["held"] = std::move(held);
  result["plans"] = programs_json(history, options.programs);
  result["timeline"] = timeline_json(timeline(history));
  for (std::size_t i = 0; i < history.devices.size(); ++i) {
    const Device device = history.devices[i];
    Json& one = result["devices"][i];
    const profile::Level highest = peak(history, device);
    one["peak_seconds"] = static_cast<double>(highest.time_ns) * 1e-9;
    one["peak"] = groups_json(live_at(history, highest.time_ns, GroupBy::line, device));
    one["timeline"] = timeline_json(timeline(history, 200, device));
  }
  result.update(limits_json(history, options.rows));
  if (options.budget) {
    const profile::BudgetEffect effect = with_budget(history, *options.budget);
    result["budget"] = {{"limit", effect.limit},
                        {"fits", effect.fits},
                        {"over", effect.over},
                        {"seconds_above", effect.seconds_above}};
    if (effect.refused != nullptr) {
      result["budget"]["refused"] = {
          {"origin", origin_json(history.recorded.origin(effect.refused->origin))},
          {"bytes", effect.refused->bytes}};
    }
  }
  return result;
}

void top(const TopOptions& options) {
  const auto loaded = load(options.file);
  const History& history = loaded->history;
  if (options.json) return print_json(document(history, options));
  print_summary(history);
  print_timeline(history);
  print_peak(history, group_by(options.by), options.rows);
  print_ops(history, options.rows);
  print_idle(history, options.rows);
  print_held(history, options.rows);
  print_programs(history, options.rows);
  print_saved(history, options.saved ? SIZE_MAX : options.rows);
  if (options.programs.steps) print_steps(history);
  if (options.programs.at) print_what_if(history, *options.programs.at, options.rows);
  print_evictions(history);
  print_budgets(history, options.rows);
  print_refusals(history, options.rows);
  print_pools(history, options.rows);
  if (options.budget) print_budget(history, *options.budget);
}

}  // namespace

void print_peak(const History& history, profile::GroupBy by, std::size_t rows) {
  const Terminal terminal;
  for (const Device device : history.devices) {
    const profile::Level highest = peak(history, device);
    std::vector<std::vector<std::string>> table;
    for (const profile::Group& group : live_at(history, highest.time_ns, by, device)) {
      if (table.size() == rows) break;
      table.push_back({size_text(group.bytes), share_text(group.bytes, highest.bytes),
                       fmt::to_string(group.storages), plain(group.name)});
    }
    if (table.empty()) continue;
    print_heading(terminal, history.devices.size() == 1
                                ? "What made the peak"
                                : fmt::format("What made the peak of {}", name_of(device)));
    print_table(terminal, {">bytes", ">share", ">storages", "made by"}, table);
  }
}

void add_top(CLI::App& app) {
  const Command command(app, "top", "What made the peak of a recording, and why");
  const auto options = std::make_shared<TopOptions>();
  command.option("FILE", options->file, "A recording").required();
  command
      .option("--by", options->by, "Group the peak by op, line, scope, category, device or calls")
      .one_of({"op", "line", "scope", "category", "device", "calls"})
      .show_default();
  command.option("-n,--rows", options->rows, "Lines of each table").show_default();
  command.option("--budget", options->budget_text, "What would a budget have done?")
      .type_name("BYTES");
  command.flag("--saved", options->saved, "All layers with what they save for the backward pass");
  command.flag("--steps", options->programs.steps, "Each step of compiled programs");
  command
      .option(
          "--at",
          [options](const std::string& text) { options->programs.at = parse_percent(text); },
          "What would the largest program compute twice at so much of its peak, e.g. 60%?")
      .type_name("PERCENT");
  command.flag("--json", options->json, "Print JSON, with all answers");
  command.footer(
      R"(The peak is the moment at which most bytes were live; its table says who had them. "in
place" results were computed in the memory of a moved input, views share it: neither allocates.
"Freed late" is memory that nobody read any more: dispose it earlier, or move it.

What lies in the arena of a compiled program is told apart: its op, layer, line and category, which
is "saved for backward" for what the way back reads of the way forth. --at searches, as a trainer
with a budget does, for what is best computed twice; times are estimates.

Examples:
  tenure top train.tenure
  tenure top train.tenure --by scope           which layer
  tenure top train.tenure --budget 512MiB      what would it have refused?
  tenure top train.tenure --saved              what each layer keeps for its gradients
  tenure top train.tenure --at 60%             what is the price of less memory?
  tenure top train.tenure --json | jq '.peak.op[0]')");
  command.run([options] {
    if (!options->budget_text.empty()) {
      options->budget = parse_bytes(options->budget_text, "--budget");
    }
    top(*options);
  });
}

}  // namespace tenure::cli
