#include <fmt/format.h>

#include <memory>

#include "cli/command_line.h"
#include "cli/commands.h"
#include "cli/recording.h"
#include "cli/table.h"
#include "tenure/profile/text.h"

namespace tenure::cli {
namespace {

using profile::History;

struct LeaksOptions {
  std::string file;
  std::size_t rows = 10;
  bool json = false;
};

enum class Verdict { steady, grows, unknown };

Verdict verdict_of(const std::vector<profile::Loop>& loops) {
  bool can_tell = false;
  for (const profile::Loop& loop : loops) {
    if (!loop.growing.empty()) return Verdict::grows;
    can_tell = can_tell || loop.can_tell;
  }
  return can_tell ? Verdict::steady : Verdict::unknown;
}

void print_json_of(const History& history, const std::vector<profile::Loop>& loops) {
  constexpr const char* verdicts[] = {"steady", "grows", "unknown"};
  Json document = summary_json(history);
  document["verdict"] = verdicts[static_cast<int>(verdict_of(loops))];
  Json list = Json::array();
  for (const profile::Loop& loop : loops) {
    Json growing = Json::array();
    for (const profile::Growth& one : loop.growing) {
      growing.push_back({{"origin", origin_json(history.recorded.origin(one.origin))},
                         {"bytes_per_step", one.bytes_per_step},
                         {"storages_per_step", one.storages_per_step},
                         {"sharers_per_step", one.sharers_per_step}});
    }
    list.push_back({{"name", loop.name},
                    {"steps", loop.steps},
                    {"can_tell", loop.can_tell},
                    {"first_bytes", loop.first_bytes},
                    {"last_bytes", loop.last_bytes},
                    {"growing", std::move(growing)}});
  }
  document["loops"] = std::move(list);
  print_json(document);
}

void print_text(const History& history, const std::vector<profile::Loop>& loops, std::size_t rows) {
  const Terminal terminal;
  if (loops.empty()) {
    fmt::print(
        "There is no step mark in it, so growth cannot be told. Call tenure::mark_step() at the "
        "end\nof each iteration, or use a LeakGuard.\n");
    return;
  }
  for (const profile::Loop& loop : loops) {
    fmt::print("{}: {} steps\n", terminal.bold(plain(loop.name)), loop.steps);
    if (!loop.can_tell) {
      fmt::print("  too few to tell; four or more are needed\n");
      continue;
    }
    if (loop.growing.empty()) {
      fmt::print("  steady: {} live after the warm-up, {} after the last step\n",
                 size_text(loop.first_bytes), size_text(loop.last_bytes));
      continue;
    }
    fmt::print("  {}: {} live after the warm-up, {} after the last step\n",
               terminal.bold("it grows"), size_text(loop.first_bytes), size_text(loop.last_bytes));
    std::vector<std::vector<std::string>> table;
    for (const profile::Growth& one : loop.growing) {
      if (table.size() == rows) break;
      table.push_back({size_text(static_cast<std::int64_t>(one.bytes_per_step), true),
                       fmt::format("{:+.2f}", one.storages_per_step),
                       fmt::format("{:+.2f}", one.sharers_per_step),
                       origin_text(history.recorded.origin(one.origin))});
    }
    print_table(terminal, {">bytes a step", ">storages", ">views", "made by"}, table);
  }
}

void leaks(const LeaksOptions& options) {
  const auto loaded = load(options.file);
  const std::vector<profile::Loop> loops = growth(loaded->history);
  if (options.json) {
    print_json_of(loaded->history, loops);
  } else {
    print_text(loaded->history, loops, options.rows);
  }
  switch (verdict_of(loops)) {
    case Verdict::steady:
      return;
    case Verdict::grows:
      throw ExitWith{kFound};
    case Verdict::unknown:
      throw ExitWith{kUnanswered};
  }
}

}  // namespace

void add_leaks(CLI::App& app) {
  const Command command(app, "leaks", "Does a recorded loop grow, and which lines make it grow?");
  const auto options = std::make_shared<LeaksOptions>();
  command.option("FILE", options->file, "A recording").required();
  command.option("-n,--rows", options->rows, "Lines of each table").show_default();
  command.flag("--json", options->json, "Print JSON");
  command.footer(
      R"(The program marks the end of each iteration with tenure::mark_step(), or has a LeakGuard.
What a line holds after the first few marks is compared with what it holds after the later ones:
bytes, storages, and views, which are tensors on memory that was there already.

Exit status: 0 steady, 1 it grows, 3 there are too few marks to tell, or the recording is damaged.

Examples:
  tenure profile -o step.tenure -- ./train && tenure leaks step.tenure
  tenure leaks step.tenure --json | jq '.loops[].growing[].origin')");
  command.run([options] { leaks(*options); });
}

}  // namespace tenure::cli
