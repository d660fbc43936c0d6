#include <fmt/format.h>

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

#include "bench/planner.h"
#include "tenure/planner/formats.h"
#include "tenure/planner/remat.h"
#include "tests/planner/eager_run.h"
#include "tests/planner/programs.h"

namespace tenure::bench {
namespace {

using planner::Dag;
using planner::RematPlan;

constexpr double kDeadline = 28;  // seconds

/// What Checkmate's solver, Gurobi, reached in 24 hours on 12 threads: added cost in %.
struct Checkmate {
  const char* graph;
  int gibibytes;
  double added;
  bool proven;
};

constexpr Checkmate kCheckmate[] = {
    {"resnet50_b184", 10, 6.04, true},  {"resnet50_b184", 9, 7.01, true},
    {"resnet50_b184", 8, 8.30, false},  {"resnet50_b184", 7, 10.06, false},
    {"resnet50_b184", 6, 11.46, false}, {"resnet50_b184", 5, 20.52, false},
    {"unet_b11", 10, 2.42, true},       {"unet_b11", 9, 2.89, true},
    {"unet_b11", 8, 3.48, true},        {"unet_b11", 7, 4.42, true},
    {"unet_b11", 6, 6.03, true},        {"unet_b11", 5, 11.16, true},
};

struct Solved {
  double added = 0;  // in %
  double seconds = 0;
  bool valid = false;
};

Solved solve(const Dag& dag, std::int64_t budget, double deadline) {
  planner::RematOptions options;
  options.deadline = deadline;
  options.steps = std::int64_t{1} << 60;
  const auto start = std::chrono::steady_clock::now();
  const RematPlan plan = planner::rematerialize(dag, budget, options);
  const std::chrono::duration<double> time = std::chrono::steady_clock::now() - start;
  return {
      100.0 * static_cast<double>(plan.added_cost) / static_cast<double>(planner::total_cost(dag)),
      time.count(), !validate(dag, plan, budget)};
}

std::string note(const Solved& solved) {
  return fmt::format("{}, {:.1f} s", solved.valid ? "valid" : "NOT VALID", solved.seconds);
}

Dag read(const std::filesystem::path& path) {
  std::ifstream file(path);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  return planner::read_program(text, path.filename().string()).dag;
}

std::vector<Figure> against_checkmate(const std::string& name, const std::filesystem::path& path,
                                      const Checkmate& peer) {
  const Solved solved = solve(read(path), std::int64_t{peer.gibibytes} << 30, kDeadline);
  const double most = peer.proven ? 1.005 * peer.added : peer.added;
  const bool met = solved.valid && (peer.proven ? solved.added <= most : solved.added < most);
  return {{.name = name,
           .unit = "% added",
           .value = solved.added,
           .peer = peer.proven ? "Checkmate, proven" : "Checkmate, open",
           .peer_value = peer.added,
           .ratio = peer.added / solved.added,
           .target = peer.proven ? "> 0.995" : "> 1.00",
           .met = met,
           .note = note(solved)}};
}

struct Generated {
  const char* name;
  Dag (*make)(int);
  int size;
};

constexpr Generated kGenerated[] = {{"chain", planner::chain, 40},
                                    {"residual net", planner::residual, 16},
                                    {"U-net", planner::unet, 5},
                                    {"inception net", planner::inception, 9},
                                    {"transformer", planner::transformer, 12}};

/// The static plan beside what the online policy, which does not know what comes, adds.
std::vector<Figure> run_generated(const std::string& name, const Dag& dag, int percent) {
  const std::int64_t budget = planner::plain_peak(dag) * percent / 100;
  const Solved solved = solve(dag, budget, 5);
  const std::optional<std::int64_t> online =
      planner::EagerRun<planner::Eviction>(dag, budget).run();
  const double base = static_cast<double>(planner::total_cost(dag));
  Figure figure{.name = name,
                .unit = "% added",
                .value = solved.added,
                .peer = "online",
                .met = solved.valid,
                .note = note(solved)};
  if (online) {
    figure.peer_value = 100 * (static_cast<double>(*online) / base - 1);
    figure.ratio = figure.peer_value / solved.added;
  }
  return {figure};
}

/// Total cost over base at fractions of the peak, beside DTR's heuristic.
std::vector<Figure> run_online(const std::string& name, const Dag& dag) {
  std::vector<Figure> figures;
  const double base = static_cast<double>(planner::total_cost(dag));
  for (int percent : {80, 60, 50, 40, 30, 20}) {
    const std::int64_t budget = planner::plain_peak(dag) * percent / 100;
    planner::EagerRun<planner::Eviction> run(dag, budget);
    const std::optional<std::int64_t> ours = run.run();
    const std::optional<std::int64_t> dtr =
        planner::EagerRun<planner::DtrPolicy>(dag, budget).run();
    Figure figure{.name = fmt::format("{} at {} %", name, percent), .unit = "of base"};
    figure.peer = "DTR";
    if (ours) figure.value = static_cast<double>(*ours) / base;
    if (dtr) figure.peer_value = static_cast<double>(*dtr) / base;
    if (ours && dtr) figure.ratio = figure.peer_value / figure.value;
    figure.note = fmt::format("{}{}",
                              !ours                  ? "ours fails "
                              : run.peak() <= budget ? "valid "
                                                     : "NOT VALID ",
                              dtr ? "" : "DTR fails");
    figures.push_back(figure);
  }
  return figures;
}

}  // namespace

void add_planner_remat_cases(std::vector<Case>& cases) {
  for (const Generated& program : kGenerated) {
    for (const int percent : {60, 40}) {
      const std::string name = fmt::format("remat: {} in {} %", program.name, percent);
      cases.push_back({"planner", name, [name, program, percent](const Options&) {
                         return run_generated(name, program.make(program.size), percent);
                       }});
    }
    const std::string name = fmt::format("evict: {}", program.name);
    cases.push_back({"planner", name, [name, program](const Options&) {
                       return run_online(name, program.make(program.size));
                     }});
  }
  const char* const folder = std::getenv("TENURE_PLANNER_DATA");
  if (folder == nullptr) return;
  for (const Checkmate& peer : kCheckmate) {
    const auto path = std::filesystem::path(folder) / "remat" / fmt::format("{}.json", peer.graph);
    if (!std::filesystem::exists(path)) continue;
    const std::string name = fmt::format("remat: {} in {} GiB", peer.graph, peer.gibibytes);
    cases.push_back({"planner", name, [name, path, peer](const Options&) {
                       return against_checkmate(name, path, peer);
                     }});
  }
  for (const char* graph : {"resnet50_b184", "unet_b11"}) {
    const auto path = std::filesystem::path(folder) / "remat" / fmt::format("{}.json", graph);
    if (!std::filesystem::exists(path)) continue;
    const std::string name = fmt::format("evict: {}", graph);
    cases.push_back(
        {"planner", name, [name, path](const Options&) { return run_online(name, read(path)); }});
  }
}

}  // namespace tenure::bench
