#include "cli/leaks.h"

#include <fmt/format.h>

#include <algorithm>
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

/// "+1.00" a step, or "+983" in all where there are no steps.
std::string more(const profile::Loop& loop, double a_step, std::int64_t in_all) {
  return loop.is_marked ? fmt::format("{:+.2f}", a_step) : fmt::format("{:+}", in_all);
}

/// Views, or what else piles up: "+1.00", "+2.00 graph nodes".
std::string things_text(const profile::Loop& loop, const profile::Growth& one) {
  if (one.what.empty()) return more(loop, one.sharers_per_step, one.sharers);
  return fmt::format("{} {}s", more(loop, one.things_per_step, one.things), plain(one.what));
}

void print_growing(const History& history, const profile::Loop& loop, std::size_t rows) {
  const Terminal terminal;
  std::vector<std::vector<std::string>> table;
  for (const profile::Growth& one : loop.growing) {
    if (table.size() == rows) break;
    const std::string since = !loop.is_marked
                                  ? seconds_text(static_cast<double>(one.since_ns) * 1e-9)
                              : one.is_late() ? fmt::to_string(one.since_step)
                                              : "the start";
    const std::int64_t steps = std::max<std::int64_t>(loop.steps - one.since_step + 1, 1);
    const std::string bytes = size_text(
        loop.is_marked ? static_cast<std::int64_t>(one.bytes_per_step) + one.thing_bytes / steps
                       : one.bytes + one.thing_bytes,
        true);
    profile::Origin origin = history.recorded.origin(one.origin);
    const std::string callers = callers_text(one);
    origin.caller = callers;
    std::string made_by = origin_text(origin);
    if (!one.holders.empty()) {
      made_by += ", held by " + plain(to_string(one.holders.front(), history.recorded));
    }
    table.push_back({bytes, more(loop, one.storages_per_step, one.storages), things_text(loop, one),
                     since, std::move(made_by)});
  }
  print_table(
      terminal,
      {loop.is_marked ? ">bytes a step" : ">bytes", ">storages", ">views", ">since", "made by"},
      table);
}

void print_text(const History& history, const std::vector<profile::Loop>& loops, std::size_t rows) {
  const Terminal terminal;
  if (loops.empty()) {
    fmt::print(
        "There are too few allocations in it, and no step marks, so growth cannot be told. Call\n"
        "tenure::mark_step() at the end of each iteration, or use a LeakGuard.\n");
    return;
  }
  for (const profile::Loop& loop : loops) {
    if (loop.is_marked) {
      fmt::print("{}: {} steps\n", terminal.bold(plain(loop.name)), loop.steps);
    } else if (loop.name.empty()) {
      fmt::print("{}: judged by what stays from allocation to allocation\n",
                 terminal.bold("without step marks"));
    } else {
      fmt::print("{}: judged at its last allocation, as nobody has used since what it left\n",
                 terminal.bold(plain(loop.name)));
    }
    if (!loop.can_tell) {
      fmt::print("  too few to tell; ten or more are needed\n");
      continue;
    }
    const char* const first = loop.is_marked ? "after the warm-up" : "at first";
    const char* const last = loop.is_marked ? "after the last step" : "at last";
    fmt::print("  {}: {} live {}, {} {}\n",
               loop.growing.empty() ? "steady" : terminal.bold("it grows"),
               size_text(loop.first_bytes), first, size_text(loop.last_bytes), last);
    if (loop.growing.empty()) continue;
    print_growing(history, loop, rows);
    if (const std::string hint = advice(loop); !hint.empty()) fmt::print("  {}\n", hint);
  }
}

void leaks(const LeaksOptions& options) {
  const auto loaded = load(options.file);
  const std::vector<profile::Loop> loops = growth(loaded->history);
  if (options.json) {
    Json document = summary_json(loaded->history);
    document.update(growth_json(loaded->history, loops));
    print_json(document);
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

Json growth_json(const History& history, const std::vector<profile::Loop>& loops) {
  constexpr const char* verdicts[] = {"steady", "grows", "unknown"};
  Json list = Json::array();
  for (const profile::Loop& loop : loops) {
    Json growing = Json::array();
    for (const profile::Growth& one : loop.growing) {
      Json holders = Json::array();
      for (const profile::GrowthHolder& holder : one.holders) {
        holders.push_back({{"kind", name_of(holder.kind)},
                           {"origin", origin_json(history.recorded.origin(holder.origin))},
                           {"storages", holder.storages}});
        if (holder.tape == 0) continue;
        holders.back()["tape"] = place_text(history.recorded.origin(holder.tape));
      }
      growing.push_back({{"origin", origin_json(history.recorded.origin(one.origin))},
                         {"what", one.what.empty() ? "tensor" : one.what},
                         {"bytes_per_step", one.bytes_per_step},
                         {"storages_per_step", one.storages_per_step},
                         {"sharers_per_step", one.sharers_per_step},
                         {"things_per_step", one.things_per_step},
                         {"since_step", one.since_step},
                         {"since_seconds", static_cast<double>(one.since_ns) * 1e-9},
                         {"bytes", one.bytes},
                         {"number", one.number},
                         {"storages", one.storages},
                         {"sharers", one.sharers},
                         {"things", one.things},
                         {"thing_bytes", one.thing_bytes},
                         {"function", one.function},
                         {"callers", one.callers},
                         {"holders", std::move(holders)}});
    }
    list.push_back({{"name", loop.name},
                    {"marked", loop.is_marked},
                    {"judgement", judgement(loop, history.recorded)},
                    {"steps", loop.steps},
                    {"can_tell", loop.can_tell},
                    {"first_bytes", loop.first_bytes},
                    {"last_bytes", loop.last_bytes},
                    {"growing", std::move(growing)}});
  }
  return {{"verdict", verdicts[static_cast<int>(verdict_of(loops))]}, {"loops", std::move(list)}};
}

void add_leaks(CLI::App& app) {
  const Command command(app, "leaks",
                        "Does a recorded program hold more and more, and which lines make it?");
  const auto options = std::make_shared<LeaksOptions>();
  command.option("FILE", options->file, "A recording").required();
  command.option("-n,--rows", options->rows, "Lines of each table").show_default();
  command.flag("--json", options->json, "Print JSON");
  command.footer(
      R"(Each row is a line of source that leaks: "made by" is the line that makes what piles up, "called by"
are the functions that called it (compile with -g), and "held by" is what keeps it, if something else
does: a view, a tape, a variable. The cure is where the caller or the holder keeps it.

The program marks the end of each iteration with tenure::mark_step(), or has a LeakGuard; without
marks it is judged by what stays from allocation to allocation. A leak is growth that goes on: what
a line holds rises sixteen times in a row, up to the end, whenever it began. What fills up, varies or
is emptied from time to time is none. Bytes count, storages, views (tensors on memory that was there
already), handles of disposed tensors, graph nodes, traces and values of tapes.

Exit status: 0 steady, 1 it grows, 3 there is too little to tell, or the recording is damaged.

Examples:
  tenure profile -o step.tenure -- ./train && tenure leaks step.tenure
  tenure leaks step.tenure --json | jq '.loops[].growing[].origin')");
  command.run([options] { leaks(*options); });
}

}  // namespace tenure::cli
