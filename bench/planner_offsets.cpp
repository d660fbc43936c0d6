#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>

#include "bench/contest.h"
#include "bench/planner.h"
#include "tenure/planner/offsets.h"
#include "tests/planner/offsets_instances.h"

namespace tenure::bench {
namespace {

using planner::Buffer;
using planner::OffsetOptions;
using planner::OffsetPlan;
using planner::OffsetProblem;
using planner::test::Dice;

constexpr double kDeadline = 2;  // seconds
constexpr std::int64_t kNoLimit = std::int64_t{1} << 60;

struct Solved {
  OffsetPlan plan;
  double seconds = 0;

  double gap() const {
    return 100.0 * static_cast<double>(plan.height - plan.lower_bound) /
           static_cast<double>(plan.lower_bound);
  }
};

Solved solve_timed(const OffsetProblem& problem, const OffsetOptions& options) {
  const auto start = std::chrono::steady_clock::now();
  Solved solved{solve(problem, options), 0};
  solved.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return solved;
}

OffsetProblem read(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  OffsetProblem problem;
  while (std::getline(file, line)) {
    std::replace(line.begin(), line.end(), ',', ' ');
    std::istringstream fields(line);
    std::int64_t id = 0;
    Buffer buffer;
    fields >> id >> buffer.lower >> buffer.upper >> buffer.size;
    problem.buffers.push_back(buffer);
  }
  return problem;
}

// Seconds that MiniMalloc 9f5cf81 takes for its 'challenging' family at the capacity of the files,
// built with -O3 on one thread of a 2.8 GHz Xeon.
const std::map<std::string, double>& minimalloc_seconds() {
  static const std::map<std::string, double> seconds{
      {"A", 7.85}, {"B", 5.32}, {"C", 1.05}, {"D", 5.69}, {"E", 5.46}, {"F", 9.42},
      {"G", 1.67}, {"H", 2.96}, {"I", 6.32}, {"J", 2.41}, {"K", 1.03}};
  return seconds;
}

/// Each file NAME.CAPACITY.csv as it is and in disguise: buffers in another order, time reversed.
std::vector<Figure> run_challenging(const std::filesystem::path& folder) {
  constexpr int kRounds = 11;
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  std::vector<Figure> figures;
  double sum = 0;
  double peer_sum = 0;
  for (const auto& path : paths) {
    const std::int64_t capacity = std::stoll(path.stem().extension().string().substr(1));
    const OffsetProblem problem = read(path);
    Dice dice(1);
    std::vector<double> seconds;
    int valid = 0;
    for (int round = 0; round < kRounds; ++round) {
      const OffsetProblem other = round == 0 ? problem : planner::test::disguised(dice, problem);
      const Solved solved = solve_timed(other, {.deadline = 60,
                                                .steps = kNoLimit,
                                                .seed = static_cast<std::uint64_t>(round),
                                                .capacity = capacity});
      seconds.push_back(solved.seconds);
      valid += !validate(other, solved.plan) && solved.plan.height <= capacity ? 1 : 0;
    }
    const std::string name = path.stem().stem().string();
    const auto peer = minimalloc_seconds().find(name);
    const double typical = median(seconds);
    Figure figure{
        .name = "offsets of " + name,
        .unit = "ms",
        .value = typical * 1e3,
        .note = fmt::format("{} of {} valid and within capacity, at most {:.1f} ms", valid, kRounds,
                            *std::max_element(seconds.begin(), seconds.end()) * 1e3)};
    if (peer != minimalloc_seconds().end()) {
      figure.peer = "MiniMalloc";
      figure.peer_value = peer->second * 1e3;
      figure.ratio = peer->second / typical;
      sum += typical;
      peer_sum += peer->second;
    }
    figures.push_back(figure);
  }
  figures.push_back({.name = "offsets of all of these",
                     .unit = "ms",
                     .value = sum * 1e3,
                     .peer = "MiniMalloc",
                     .peer_value = peer_sum * 1e3,
                     .ratio = peer_sum / sum,
                     .target = ">= 10",
                     .met = peer_sum >= 10 * sum});
  return figures;
}

std::vector<Figure> run_training_steps(int buffers) {
  constexpr int kRounds = 5;
  Dice dice(2);
  double gap = 0;
  double first = 0;
  int valid = 0;
  for (int round = 0; round < kRounds; ++round) {
    const OffsetProblem problem = planner::test::training_step(dice, buffers);
    first = std::max(first, solve_timed(problem, {.steps = 0}).seconds);
    const Solved solved = solve_timed(problem, {.deadline = kDeadline, .steps = kNoLimit});
    gap = std::max(gap, solved.gap());
    valid += validate(problem, solved.plan) ? 0 : 1;
  }
  return {{.name = fmt::format("training steps of {} buffers", buffers),
           .unit = "% > LB",
           .value = gap,
           .target = "<= 0.5",
           .met = gap <= 0.5,
           .note = fmt::format("worst of {} in {:g} s; {} valid; the first plan takes {:.0f} ms",
                               kRounds, kDeadline, valid, first * 1e3)}};
}

std::vector<Figure> run_million() {
  Dice dice(3);
  const OffsetProblem problem = planner::test::training_step(dice, 1'000'000);
  const Solved solved = solve_timed(problem, {.steps = 0});
  return {{.name = "training step of a million buffers",
           .unit = "s",
           .value = solved.seconds,
           .note = fmt::format("{:.3f} % above the bound", solved.gap())}};
}

std::vector<Figure> run_rectangles(int buffers) {
  constexpr int kRounds = 25;
  Dice dice(4);
  std::vector<double> seconds;
  int solved = 0;
  for (int round = 0; round < kRounds; ++round) {
    const OffsetProblem problem = planner::test::cut_rectangle(dice, buffers, 1024);
    const Solved result = solve_timed(problem, {.deadline = kDeadline, .steps = kNoLimit});
    seconds.push_back(result.seconds);
    solved += !validate(problem, result.plan) && result.plan.optimal() ? 1 : 0;
  }
  return {{.name = fmt::format("rectangle cut into {}", buffers),
           .unit = "ms",
           .value = median(seconds) * 1e3,
           .note = fmt::format("{} of {} valid and without a gap, at most {:.1f} ms", solved,
                               kRounds, *std::max_element(seconds.begin(), seconds.end()) * 1e3)}};
}

}  // namespace

void add_planner_offsets_cases(std::vector<Case>& cases) {
  // The instances of others are no part of this tree; see tests/planner.
  if (const char* const folder = std::getenv("TENURE_PLANNER_DATA")) {
    const auto path = std::filesystem::path(folder) / "minimalloc";
    if (std::filesystem::is_directory(path)) {
      cases.push_back({"planner", "offsets of MiniMalloc's challenging instances",
                       [path](const Options&) { return run_challenging(path); }});
    }
  }
  for (const int buffers : {150, 300, 450}) {
    cases.push_back({"planner", fmt::format("offsets of a rectangle cut into {}", buffers),
                     [buffers](const Options&) { return run_rectangles(buffers); }});
  }
  for (const int buffers : {20'000, 100'000}) {
    cases.push_back({"planner", fmt::format("offsets of training steps of {} buffers", buffers),
                     [buffers](const Options&) { return run_training_steps(buffers); }});
  }
  cases.push_back(
      {"planner", "offsets of a million buffers", [](const Options&) { return run_million(); }});
}

}  // namespace tenure::bench
