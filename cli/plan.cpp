#include "cli/plan.h"

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <fstream>
#include <iostream>
#include <iterator>
#include <memory>
#include <stdexcept>

#include "cli/bytes.h"
#include "cli/commands.h"
#include "tenure/base/error.h"

namespace tenure::cli {
namespace {

std::string read_file(const std::string& path) {
  std::string text;
  if (path == "-") {
    text.assign(std::istreambuf_iterator<char>(std::cin), {});
    return text;
  }
  std::ifstream file(path, std::ios::binary);
  if (file) text.assign(std::istreambuf_iterator<char>(file), {});
  if (!file) {
    throw std::runtime_error(fmt::format("cannot read {}: {}", path, std::strerror(errno)));
  }
  return text;
}

void plan(const PlanOptions& options) {
  const std::string text = read_file(options.file);
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  const bool is_json = first != std::string::npos && (text[first] == '{' || text[first] == '[');
  PlanOptions named = options;
  if (named.file == "-") named.file = "standard input";
  if (is_json) return plan_program(text, named);
  if (options.budget) {
    throw UsageError(
        "--budget is for programs (JSON): buffers (CSV) cannot be computed again; for them there "
        "is --capacity");
  }
  plan_buffers(text, named);
}

constexpr const char* kHelp = R"(FILE holds lifetimes or a program; "-" is standard input.

Lifetimes are CSV. Each buffer gets an offset such that no two that are alive at once overlap, and
the whole is as low as can be:
  id,lower,upper,size         alive from lower to just before upper (or to `end`, inclusive);
  0,0,3,1024                  more columns: alignment, offset (where it must lie)
  1,2,5,4096

A program is JSON, its nodes in execution order. It gets the order of least peak, and an arena:
  {"nodes": [{"id": 0, "bytes": 4096, "inputs": []},
             {"id": 1, "bytes": 64, "inputs": [0], "cost": 5}]}
More members of a node: workspace, overwrites (inputs), pure, output; beside nodes: fixed_bytes.
With --budget, nodes are computed again instead of kept, at the least added cost.

Every plan is checked by a validator before it is printed. Without --deadline a search stops after a
fixed amount of work, so that equal files get equal plans. Exit status: 0; 1 if it does not fit or
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
          : "whether it can fit is open: give it more time with --deadline or another --seed"));
}

Stopwatch::Stopwatch() : start_(std::chrono::steady_clock::now().time_since_epoch().count()) {}

double Stopwatch::seconds() const {
  using Clock = std::chrono::steady_clock;
  const Clock::duration spent = Clock::now().time_since_epoch() - Clock::duration(start_);
  return std::chrono::duration<double>(spent).count();
}

void add_plan(CLI::App& app) {
  CLI::App* const command = app.add_subcommand(
      "plan", "Plans memory: offsets for lifetimes; order, arena and recomputation for a program");
  struct Texts {
    std::string capacity;
    std::string budget;
  };
  const auto options = std::make_shared<PlanOptions>();
  const auto texts = std::make_shared<Texts>();
  command->add_option("FILE", options->file, "Lifetimes (CSV) or a program (JSON)")->required();
  command->add_option("--capacity", texts->capacity, "Fail if it does not fit, e.g. 1MiB")
      ->type_name("BYTES");
  command->add_option("--budget", texts->budget, "Compute again instead of keeping, to fit")
      ->type_name("BYTES");
  command->add_option("--deadline", options->deadline, "Let each search go on for so long")
      ->type_name("SECONDS")
      ->check(CLI::PositiveNumber);
  command->add_option("--seed", options->seed, "Search differently")->type_name("NUMBER");
  command->add_option("--svg", options->svg, "Draw the packing")->type_name("FILE");
  command->add_flag("--json", options->json, "Print JSON, with all offsets and orders");
  command->footer(kHelp);
  command->callback([options, texts] {
    if (!texts->capacity.empty()) options->capacity = parse_bytes(texts->capacity, "--capacity");
    if (!texts->budget.empty()) options->budget = parse_bytes(texts->budget, "--budget");
    plan(*options);
  });
}

}  // namespace tenure::cli
