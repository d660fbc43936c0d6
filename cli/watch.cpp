#include "tenure/profile/watch.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

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

/// What the looks so far have in common: how a program goes from one to the next.
class Trend {
 public:
  using Clock = std::chrono::steady_clock;

  /// Throws Json::exception where `now` is no snapshot.
  void add(const Json& now) {
    before_ = std::exchange(bytes_, {});
    for (const Json& holder : now.at("largest")) {
      bytes_[name_of(holder)] += holder.at("bytes").get<std::int64_t>();
    }
    if (levels_.empty()) {
      first_ = bytes_;
      begin_ = Clock::now();
    }
    levels_.push_back(now.at("bytes").get<std::int64_t>());
    allocations_ = {allocations_.second, now.at("allocations").get<std::int64_t>()};
  }

  static std::string name_of(const Json& holder) {
    return holder.at("op").get<std::string>() + " at " + holder.at("place").get<std::string>();
  }

  bool is_first() const { return levels_.size() == 1; }
  std::int64_t change() const { return levels_.back() - levels_[levels_.size() - 2]; }
  std::int64_t made() const { return allocations_.second - allocations_.first; }
  /// Bytes a second since the first look.
  double rate() const {
    const double seconds = std::chrono::duration<double>(Clock::now() - begin_).count();
    return static_cast<double>(levels_.back() - levels_.front()) / std::max(seconds, 1e-3);
  }
  std::int64_t since_last(const std::string& line) const {
    return of(bytes_, line) - of(before_, line);
  }
  std::int64_t since_first(const std::string& line) const {
    return of(bytes_, line) - of(first_, line);
  }

  /// The lines that have most now; then those that have grown most, if they are not among them.
  std::vector<std::string> lines() const {
    constexpr std::size_t kLargest = 15;
    constexpr std::size_t kGrown = 5;
    std::vector<std::string> names;
    names.reserve(bytes_.size());
    for (const auto& [name, bytes] : bytes_) names.push_back(name);
    const auto put_first = [&](std::size_t from, std::size_t most, const auto& value) {
      std::stable_sort(
          names.begin() + static_cast<std::ptrdiff_t>(std::min(from, names.size())), names.end(),
          [&](const std::string& a, const std::string& b) { return value(a) > value(b); });
      while (names.size() > from + most) names.pop_back();
    };
    std::vector<std::string> all = names;
    put_first(0, kLargest, [&](const std::string& name) { return of(bytes_, name); });
    const std::size_t shown = names.size();
    for (const std::string& name : all) {
      const bool is_new =
          std::find(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(shown), name) ==
          names.begin() + static_cast<std::ptrdiff_t>(shown);
      if (is_new && since_first(name) > 0) names.push_back(name);
    }
    put_first(shown, kGrown, [&](const std::string& name) { return since_first(name); });
    return names;
  }

  /// Levels of the last looks in one line: the darker, the more.
  std::string drawing(std::size_t width) const {
    constexpr std::string_view kInk = " .:-=+*#@";
    const std::size_t begin = levels_.size() > width ? levels_.size() - width : 0;
    const auto highest = static_cast<double>(
        std::max<std::int64_t>(1, *std::max_element(levels_.begin(), levels_.end())));
    std::string line;
    for (std::size_t i = begin; i < levels_.size(); ++i) {
      line +=
          kInk[static_cast<std::size_t>(std::ceil(8 * static_cast<double>(levels_[i]) / highest))];
    }
    return line;
  }

  std::int64_t bytes_of(const std::string& line) const { return of(bytes_, line); }

 private:
  using Lines = std::map<std::string, std::int64_t>;
  static std::int64_t of(const Lines& lines, const std::string& name) {
    const auto found = lines.find(name);
    return found == lines.end() ? 0 : found->second;
  }

  Lines bytes_;
  Lines before_;
  Lines first_;
  std::vector<std::int64_t> levels_;
  std::pair<std::int64_t, std::int64_t> allocations_;
  Clock::time_point begin_{};
};

std::string signed_text(std::int64_t bytes) { return bytes == 0 ? "" : size_text(bytes, true); }

/// "1.20 GiB live in 3 tensors, peak 1.50 GiB"
std::string level_text(const Terminal& terminal, const Json& now) {
  const auto tensors = now.at("tensors").get<std::int64_t>();
  return fmt::format("{} live in {} {}, peak {}", terminal.bold(size_text(now.at("bytes"))),
                     tensors, tensors == 1 ? "tensor" : "tensors", size_text(now.at("peak")));
}

/// What one device has, below its first line.
void draw(const Terminal& terminal, const Json& now, const Trend& trend) {
  if (!trend.is_first()) {
    print_indented(terminal,
                   fmt::format("{} since the last look, {} a second since the first",
                               trend.change() == 0 ? "the same" : signed_text(trend.change()),
                               size_text(static_cast<std::int64_t>(trend.rate()), true)));
    fmt::print("  over time   |{}|\n", trend.drawing(terminal.width() - 16));
  }
  print_indented(terminal,
                 fmt::format("{} allocations{}, {} reserved, {} cached, fragmentation {:.0f} %",
                             now.at("allocations").get<std::int64_t>(),
                             trend.is_first() ? "" : fmt::format(" (+{})", trend.made()),
                             size_text(now.at("reserved_bytes")), size_text(now.at("cached_bytes")),
                             now.at("fragmentation").get<double>() * 100));
  if (const auto total = now.at("total_bytes").get<std::int64_t>(); total > 0) {
    print_indented(terminal, taken_text(now.at("reserved_bytes"), now.at("outside_bytes"), total));
  }
  fmt::print("\n");
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
  for (const std::string& line : trend.lines()) {
    table.push_back({size_text(trend.bytes_of(line)),
                     trend.is_first() ? "" : signed_text(trend.since_last(line)),
                     trend.is_first() ? "" : signed_text(trend.since_first(line)), plain(line)});
  }
  if (!table.empty()) {
    fmt::print("\n");
    print_table(terminal, {">bytes", ">last look", ">first look", "made by"}, table);
  }
}

/// Devices one below the other; with the CPU alone, nothing speaks of devices.
void draw_all(const Terminal& terminal, const Json& now, std::map<std::string, Trend>& trends) {
  const Json& devices = now.at("devices");
  const std::string process =
      fmt::format("{} {}", terminal.bold("process"), now.at("pid").get<long>());
  if (devices.size() > 1) fmt::print("{}\n", process);
  for (const Json& device : devices) {
    const std::string name = device.at("device").get<std::string>();
    Trend& trend = trends[name];
    trend.add(device);
    if (devices.size() == 1) {
      fmt::print("{}   {}\n", process, level_text(terminal, device));
    } else {
      fmt::print("\n{}   {}\n", terminal.bold(plain(name)), level_text(terminal, device));
    }
    draw(terminal, device, trend);
  }
}

void watch(const WatchOptions& options) {
  profile::WatchClient client(options.pid);
  const Terminal terminal;
  const bool is_screen = isatty(STDOUT_FILENO) != 0 && !options.json;
  std::map<std::string, Trend> trends;
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
        draw_all(terminal, now, trends);
      } catch (const Json::exception&) {
        throw ProfileError(fmt::format(
            "what process {} says is no snapshot: it has another version of Tenure", options.pid));
      }
      if (!is_screen) fmt::print("\n");
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
listens on a local socket that its user alone can reach. Lines show what they hold, and by how much
that changed since the last look and since the first: what grows with every look is a leak. Each
device that the program uses is shown apart; with "outside", what is reserved is all that is taken
of a GPU's memory.

Examples:
  TENURE_WATCH=1 ./train & tenure watch $!
  tenure watch 4711 --json --count 1 | jq '.devices[0].bytes')");
  command.run([options] { watch(*options); });
}

}  // namespace tenure::cli
