#include <fmt/format.h>

#include <memory>

#include "cli/command_line.h"
#include "cli/commands.h"
#include "cli/recording.h"
#include "cli/table.h"
#include "tenure/profile/text.h"

namespace tenure::cli {
namespace {

struct DiffOptions {
  std::string before;
  std::string after;
  std::string by = "line";
  std::size_t rows = 20;
  bool json = false;
};

void print_json_of(const DiffOptions& options, const profile::Difference& d) {
  Json changes = Json::array();
  for (const profile::Change& change : d.changes) {
    changes.push_back({{"name", change.name},
                       {"peak_bytes", {change.before, change.after}},
                       {"allocations", {change.allocations_before, change.allocations_after}}});
  }
  print_json({{"before", options.before},
              {"after", options.after},
              {"peak_bytes", {d.peak_before, d.peak_after}},
              {"allocated_bytes", {d.allocated_before, d.allocated_after}},
              {"live_at_end_bytes", {d.live_before, d.live_after}},
              {"changes", std::move(changes)}});
}

void print_text(const DiffOptions& options, const profile::Difference& d) {
  const Terminal terminal;
  const auto line = [&](const char* what, std::int64_t before, std::int64_t after) {
    fmt::print("  {:<12}{:>12} -> {:>12}  {}\n", what, size_text(before), size_text(after),
               before == after ? "the same" : terminal.bold(size_text(after - before, true)));
  };
  fmt::print("{} -> {}\n", plain(options.before), plain(options.after));
  line("peak", d.peak_before, d.peak_after);
  line("allocated", d.allocated_before, d.allocated_after);
  line("at the end", d.live_before, d.live_after);
  std::vector<std::vector<std::string>> table;
  for (const profile::Change& change : d.changes) {
    if (table.size() == options.rows) break;
    table.push_back({size_text(change.after - change.before, true), size_text(change.before),
                     size_text(change.after),
                     fmt::format("{:+}", change.allocations_after - change.allocations_before),
                     plain(change.name)});
  }
  if (table.empty()) return;
  print_heading(terminal, "What changed at the peak");
  print_table(terminal, {">change", ">before", ">after", ">allocations", "made by"}, table);
}

}  // namespace

void add_diff(CLI::App& app) {
  const Command command(app, "diff", "Compares two recordings");
  const auto options = std::make_shared<DiffOptions>();
  command.option("BEFORE", options->before, "A recording").required();
  command.option("AFTER", options->after, "Another one").required();
  command.option("--by", options->by, "Compare by op, line, scope or category")
      .one_of({"op", "line", "scope", "category"})
      .show_default();
  command.option("-n,--rows", options->rows, "Lines of the table").show_default();
  command.flag("--json", options->json, "Print JSON");
  command.footer(
      R"(Lines move when a source is edited; --by op or --by scope then compares what stayed.

Examples:
  tenure diff before.tenure after.tenure
  tenure diff before.tenure after.tenure --by scope
  tenure diff a.tenure b.tenure --json | jq '.peak_bytes[1] - .peak_bytes[0]')");
  command.run([options] {
    const auto before = load(options->before);
    const auto after = load(options->after);
    const profile::Difference d =
        difference(before->history, after->history, group_by(options->by));
    options->json ? print_json_of(*options, d) : print_text(*options, d);
  });
}

}  // namespace tenure::cli
