#include "tenure/profile/watch.h"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <limits>
#include <memory>
#include <thread>

#include "cli/command_line.h"
#include "cli/commands.h"
#include "cli/recording.h"
#include "cli/table.h"
#include "tenure/profile/profile.h"
#include "tenure/profile/text.h"

namespace tenure::cli {
namespace {

struct WatchOptions {
  long pid = 0;
  double interval = 1;
  int count = 0;
  bool json = false;
};

void draw(const Terminal& terminal, const Json& now, const Json& before) {
  fmt::print("{} {}   {} live in {} tensors, peak {}\n", terminal.bold("process"),
             now.at("pid").get<long>(), terminal.bold(size_text(now.at("bytes"))),
             now.at("tensors").get<std::int64_t>(), size_text(now.at("peak")));
  const auto made = [](const Json& j) { return j.at("allocations").get<std::int64_t>(); };
  fmt::print("{} allocations{}, {} reserved, {} cached, fragmentation {:.0f} %\n\n", made(now),
             before.is_null() ? "" : fmt::format(" (+{})", made(now) - made(before)),
             size_text(now.at("reserved_bytes")), size_text(now.at("cached_bytes")),
             now.at("fragmentation").get<double>() * 100);
  const auto whole =
      static_cast<double>(std::max<std::int64_t>(now.at("bytes").get<std::int64_t>(), 1));
  for (const auto& [name, bytes] : now.at("categories").items()) {
    const auto value = bytes.get<std::int64_t>();
    if (value == 0) continue;
    const auto bar = static_cast<std::size_t>(30 * static_cast<double>(value) / whole);
    fmt::print("  {:<11}{:>11}  {}\n", name, size_text(value),
               std::string(std::min<std::size_t>(bar, 30), '#'));
  }
  std::vector<std::vector<std::string>> table;
  for (const Json& holder : now.at("largest")) {
    table.push_back({size_text(holder.at("bytes")),
                     fmt::to_string(holder.at("tensors").get<std::int64_t>()),
                     plain(holder.at("op").get<std::string>() + " at " +
                           holder.at("place").get<std::string>())});
    if (table.size() == 15) break;
  }
  if (!table.empty()) {
    fmt::print("\n");
    print_table(terminal, {">bytes", ">tensors", "made by"}, table);
  }
}

void watch(const WatchOptions& options) {
  profile::WatchClient client(options.pid);
  const Terminal terminal;
  const bool is_screen = isatty(STDOUT_FILENO) != 0 && !options.json;
  Json before;
  for (int i = 0; options.count == 0 || i < options.count; ++i) {
    if (i != 0) std::this_thread::sleep_for(std::chrono::duration<double>(options.interval));
    const std::string text = client.snapshot();
    if (text.empty()) {
      fmt::print(stderr, "tenure: process {} has ended\n", options.pid);
      if (i == 0) throw ExitWith{kUnanswered};
      return;
    }
    if (options.json) {
      fmt::print("{}\n", text);
    } else {
      const Json now = Json::parse(text, nullptr, false);
      if (is_screen) fmt::print("\033[H\033[2J");
      try {
        draw(terminal, now, before);
      } catch (const Json::exception&) {
        throw ProfileError(fmt::format(
            "what process {} says is no snapshot: it has another version of Tenure", options.pid));
      }
      if (!is_screen) fmt::print("\n");
      before = now;
    }
    std::fflush(stdout);
  }
}

}  // namespace

void add_watch(CLI::App& app) {
  const Command command(app, "watch", "Shows what a running program holds, live");
  const auto options = std::make_shared<WatchOptions>();
  command.option("PID", options->pid, "The number of the process")
      .required()
      .within(1L, long{std::numeric_limits<pid_t>::max()});
  command.option("-i,--interval", options->interval, "Seconds between two looks")
      .within(0.05, 3600.0)
      .show_default();
  command.option("-c,--count", options->count, "Stop after so many looks; 0: never")
      .within(0L, long{std::numeric_limits<int>::max()})
      .show_default();
  command.flag("--json", options->json, "Print one line of JSON per look");
  command.footer(
      R"(The program must allow it: start it with TENURE_WATCH=1, or make a tenure::Watch in it. It then
listens on a local socket that its user alone can reach.

Examples:
  TENURE_WATCH=1 ./train & tenure watch $!
  tenure watch 4711 --json --count 1 | jq .bytes)");
  command.run([options] { watch(*options); });
}

}  // namespace tenure::cli
