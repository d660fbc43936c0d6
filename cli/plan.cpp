#include "cli/plan.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <memory>
#include <stdexcept>
#include <string_view>

#include "cli/bytes.h"
#include "cli/command_line.h"
#include "cli/commands.h"
#include "tenure/base/error.h"
#include "tenure/base/text.h"
#include "tenure/base/units.h"
#include "tenure/planner/formats.h"

namespace tenure::cli {
namespace {

/// Files are held in memory as a whole; no program has one as large.
constexpr std::size_t kMostBytes = std::size_t{256} << 20;

std::string read_stream(std::istream& stream, const std::string& name) {
  constexpr std::size_t kPiece = 1 << 20;
  std::string text;
  while (stream) {
    const std::size_t before = text.size();
    if (before > kMostBytes) {
      throw std::runtime_error(
          fmt::format("cannot plan {}: it has more than {}", name, format_bytes(kMostBytes)));
    }
    text.resize(before + kPiece);
    stream.read(text.data() + before, kPiece);
    text.resize(before + static_cast<std::size_t>(stream.gcount()));
  }
  return text;
}

std::string read_file(const std::string& path) {
  if (path == "-") return read_stream(std::cin, "standard input");
  const std::string name = plain(path);
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) {
    throw std::runtime_error(
        fmt::format("cannot read {}: it is a folder; name a file in it", name));
  }
  std::ifstream file(path, std::ios::binary);
  std::string text;
  if (file) text = read_stream(file, name);
  if (!file.is_open() || file.bad()) {
    throw std::runtime_error(fmt::format("cannot read {}: {}", name, std::strerror(errno)));
  }
  return text;
}

void plan(const PlanOptions& options) {
  const std::string text = read_file(options.file);
  std::string_view begin = text;
  if (begin.starts_with(planner::kByteOrderMark))
    begin.remove_prefix(planner::kByteOrderMark.size());
  const std::size_t first = begin.find_first_not_of(" \t\r\n");
  const bool is_json =
      first != std::string_view::npos && (begin[first] == '{' || begin[first] == '[');
  PlanOptions named = options;
  named.file = named.file == "-" ? "standard input" : plain(named.file);
  if (is_json) return plan_program(text, named);
  if (options.budget) {
    throw UsageError(
        "--budget is for programs (JSON): buffers (CSV) cannot be computed again; for them there "
        "is --capacity");
  }
  plan_buffers(text, named);
}

double parse_seconds(const std::string& text) {
  double value = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || rest != end || !(value > 0) || std::isinf(value)) {
    throw UsageError(
        fmt::format("--deadline is \"{}\"; it must be a number of seconds above 0", excerpt(text)));
  }
  return value;
}

template <class Number>
Number parse_number(const std::string& text, const char* option, Number least) {
  Number value = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || rest != end || value < least) {
    throw UsageError(fmt::format("{} is \"{}\"; it must be a whole number from {} to {}", option,
                                 excerpt(text), least, std::numeric_limits<Number>::max()));
  }
  return value;
}

constexpr const char* kHelp = R"(FILE holds lifetimes or a program; "-" is standard input.

Lifetimes are CSV. Each buffer gets an offset such that no two that are alive at once overlap, and
the whole is as low as can be:
  id,lower,upper,size         alive from lower to just before upper (or to `end`, inclusive);
  0,0,3,1024                  more columns: alignment, offset (where it must lie), gaps (whiles
  1,2,5,4096                  without it, 3-7, or with a part of it, 3-7@0:64, between spaces)

A program is JSON, its nodes in execution order. It gets the order of least peak, and an arena:
  {"nodes": [{"id": 0, "bytes": 4096, "inputs": []},
             {"id": 1, "bytes": 64, "inputs": [0], "cost": 5}]}
More members of a node: workspace, overwrites (inputs), pure, output; beside nodes: fixed_bytes.
With --budget, nodes are computed again instead of kept, at low added cost, so that the arena fits.
A larger budget never costs more.

Every plan is checked by a validator before it is printed. Without --deadline a search stops after a
fixed amount of work, so that equal files get equal plans; --effort 10 lets it work ten times as
long. Exit status: 0; 1 if it does not fit or
the file is wrong; 2 for wrong options.

Examples:
  tenure plan lifetimes.csv                      the height, and how far it can be from the least
  tenure plan lifetimes.csv --capacity 1MiB      does it fit?
  tenure plan lifetimes.csv --svg packing.svg    look at it
  tenure plan step.json --budget 8GiB            what does it cost to fit into 8 GiB?
  tenure plan step.json --json | jq .order.peak
  generate_lifetimes | tenure plan - --json)";

}  // namespace

std::string gap_text(std::int64_t value, std::int64_t bound) {
  if (value == bound) return "none: it is proven to be the least";
  return fmt::format("at most {:.2f} % above the least", gap_percent(value, bound));
}

double gap_percent(std::int64_t value, std::int64_t bound) {
  if (value == bound) return 0;
  return 100 *
         (static_cast<double>(value) / static_cast<double>(std::max<std::int64_t>(1, bound)) - 1);
}

void expect_valid(bool valid, const std::string& problem) {
  if (!valid) throw InternalError("a plan is wrong: " + problem);
}

void expect_fits(const PlanOptions& options, std::int64_t height, std::int64_t bound) {
  if (!options.capacity || height <= *options.capacity) return;
  const std::int64_t capacity = *options.capacity;
  throw std::runtime_error(fmt::format(
      "{} needs {}, {} above the capacity of {}; {}", options.file, bytes_text(height),
      bytes_text(height - capacity), bytes_text(capacity),
      bound > capacity
          ? fmt::format("nothing below {} is possible", bytes_text(bound))
          : "whether it can fit is open: let it search more with --effort or another --seed"));
}

Progress::Progress() : shows_(isatty(STDERR_FILENO) != 0) {}

Progress::~Progress() {
  if (shown_ >= 0) fmt::print(stderr, "\r{:40}\r", "");
}

void Progress::show(double share) {
  const int percent = static_cast<int>(100 * share);
  if (!shows_ || percent == shown_) return;
  shown_ = percent;
  fmt::print(stderr, "\r  searching: {} %", percent);
  std::fflush(stderr);
}

Stopwatch::Stopwatch() : start_(std::chrono::steady_clock::now().time_since_epoch().count()) {}

double Stopwatch::seconds() const {
  using Clock = std::chrono::steady_clock;
  const Clock::duration spent = Clock::now().time_since_epoch() - Clock::duration(start_);
  return std::chrono::duration<double>(spent).count();
}

void add_plan(CLI::App& app) {
  const Command command(
      app, "plan",
      "Plans memory: offsets for lifetimes; order, arena and recomputation for a program");
  const auto options = std::make_shared<PlanOptions>();
  command.option("FILE", options->file, "Lifetimes (CSV) or a program (JSON)").required();
  // What is given is read, also if it is nothing: an empty variable of a script is no "no budget".
  const auto add = [&](const char* name, const char* help, const char* type, auto read) {
    command
        .option(
            name, [options, read](const std::string& text) { read(*options, text); }, help)
        .type_name(type);
  };
  using Text = const std::string&;
  add("--capacity", "Fail if it does not fit, e.g. 1MiB", "BYTES",
      [](PlanOptions& to, Text text) { to.capacity = parse_bytes(text, "--capacity"); });
  add("--budget", "Compute again instead of keeping, to fit", "BYTES",
      [](PlanOptions& to, Text text) { to.budget = parse_bytes(text, "--budget"); });
  add("--deadline", "Let all searches together take so long", "SECONDS",
      [](PlanOptions& to, Text text) { to.deadline = parse_seconds(text); });
  add("--effort", "Search so many times as much as usual", "NUMBER",
      [](PlanOptions& to, Text text) {
        to.effort = parse_number<std::int32_t>(text, "--effort", 1);
      });
  add("--seed", "Search differently", "NUMBER",
      [](PlanOptions& to, Text text) { to.seed = parse_number<std::uint64_t>(text, "--seed", 0); });
  command.option("--svg", options->svg, "Draw the packing").type_name("FILE");
  command.flag("--json", options->json, "Print JSON, with all offsets and orders");
  command.footer(kHelp);
  command.run([options] { plan(*options); });
}

}  // namespace tenure::cli
