#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>

#include "cli/bytes.h"
#include "cli/plan.h"
#include "tenure/base/error.h"
#include "tenure/planner/formats.h"
#include "tenure/planner/lifetimes.h"
#include "tenure/planner/order.h"
#include "tenure/planner/remat.h"

namespace tenure::cli {
namespace {

using planner::Dag;
using Json = nlohmann::ordered_json;

std::size_t at(int i) { return static_cast<std::size_t>(i); }

struct Arena {
  planner::Lifetimes lifetimes;
  planner::OffsetPlan plan;
  double seconds = 0;
};

struct Results {
  std::optional<std::int64_t> given_peak;  ///< none if the file's order cannot run
  planner::OrderPlan order;
  double order_seconds = 0;
  std::optional<planner::RematPlan> remat;
  double remat_seconds = 0;
  Arena arena;  ///< of the order, or of the schedule with recomputation

  std::int64_t height(const Dag& dag) const { return dag.resident + arena.plan.height; }
  std::int64_t bound(const Dag& dag) const { return dag.resident + arena.plan.lower_bound; }
  const std::vector<int>& schedule() const { return remat ? remat->steps : order.order; }
};

std::optional<std::int64_t> peak_as_given(const Dag& dag) {
  std::vector<int> order(dag.nodes.size());
  std::iota(order.begin(), order.end(), 0);
  try {
    return order_peak(dag, order);
  } catch (const ValueError&) {
    return std::nullopt;
  }
}

Results solve_program(const Dag& dag, const PlanOptions& options) {
  Results results;
  results.given_peak = peak_as_given(dag);
  {
    const Stopwatch watch;
    results.order = planner::order(dag, options.search<planner::OrderOptions>());
    results.order_seconds = watch.seconds();
    const auto problem = validate(dag, results.order);
    expect_valid(!problem, problem.value_or(""));
  }
  if (options.budget) {
    const Stopwatch watch;
    results.remat = rematerialize(dag, *options.budget, options.search<planner::RematOptions>());
    results.remat_seconds = watch.seconds();
    const auto problem = validate(dag, *results.remat, *options.budget);
    expect_valid(!problem, problem.value_or(""));
  }
  const Stopwatch watch;
  results.arena.lifetimes = planner::lifetimes_of(dag, results.schedule());
  auto search = options.search<planner::OffsetOptions>();
  search.capacity = std::max<std::int64_t>(0, options.capacity.value_or(0) - dag.resident);
  results.arena.plan = solve(results.arena.lifetimes.problem, search);
  results.arena.seconds = watch.seconds();
  const auto problem = validate(results.arena.lifetimes.problem, results.arena.plan);
  expect_valid(!problem, problem.value_or(""));
  return results;
}

double added_percent(const Dag& dag, const planner::RematPlan& plan) {
  double cost = 0;
  for (const planner::Node& node : dag.nodes) cost += static_cast<double>(node.cost);
  return cost == 0 ? 0 : 100 * static_cast<double>(plan.added_cost) / cost;
}

void print_json(const PlanOptions& options, const planner::Program& program,
                const Results& results) {
  const Dag& dag = program.dag;
  const auto ids = [&](const std::vector<int>& steps) {
    Json list = Json::array();
    for (const int v : steps) list.push_back(program.ids[at(v)]);
    return list;
  };
  const planner::OrderPlan& order = results.order;
  Json document{{"file", options.file},
                {"kind", "program"},
                {"name", program.name},
                {"nodes", dag.nodes.size()},
                {"resident", dag.resident},
                {"given_peak", results.given_peak ? Json(*results.given_peak) : Json()},
                {"order",
                 {{"peak", order.peak},
                  {"lower_bound", order.lower_bound},
                  {"gap_percent", gap_percent(order.peak, order.lower_bound)},
                  {"optimal", order.optimal()},
                  {"valid", true},
                  {"seconds", results.order_seconds},
                  {"steps", ids(order.order)}}}};
  if (results.remat) {
    document["rematerialization"] = {{"budget", *options.budget},
                                     {"peak", results.remat->peak},
                                     {"added_cost", results.remat->added_cost},
                                     {"added_percent", added_percent(dag, *results.remat)},
                                     {"valid", true},
                                     {"seconds", results.remat_seconds},
                                     {"steps", ids(results.remat->steps)}};
  }
  const Arena& arena = results.arena;
  Json offsets = Json::array();
  for (std::size_t i = 0; i < arena.lifetimes.step.size(); ++i) {
    offsets.push_back({{"step", arena.lifetimes.step[i]},
                       {"bytes", arena.lifetimes.problem.buffers[i].size},
                       {"offset", arena.plan.offsets[i]}});
  }
  document["arena"] = {{"height", results.height(dag)},
                       {"lower_bound", results.bound(dag)},
                       {"gap_percent", gap_percent(results.height(dag), results.bound(dag))},
                       {"optimal", arena.plan.optimal()},
                       {"valid", true},
                       {"seconds", arena.seconds}};
  if (options.capacity) {
    document["arena"]["capacity"] = *options.capacity;
    document["arena"]["fits"] = results.height(dag) <= *options.capacity;
  }
  document["arena"]["offsets"] = std::move(offsets);
  fmt::print("{}\n", document.dump(2, ' ', false, Json::error_handler_t::replace));
}

void print_text(const PlanOptions& options, const planner::Program& program,
                const Results& results) {
  const Dag& dag = program.dag;
  fmt::print("{}: {} nodes, {} always there\n", program.name.empty() ? options.file : program.name,
             dag.nodes.size(), bytes_text(dag.resident));
  fmt::print("  as given     peak {}\n", results.given_peak
                                             ? bytes_text(*results.given_peak)
                                             : "unknown: some nodes come before their inputs");
  const planner::OrderPlan& order = results.order;
  fmt::print("  best order   peak {}, checked\n", bytes_text(order.peak));
  fmt::print("               gap {}; {:.3f} s\n", gap_text(order.peak, order.lower_bound),
             results.order_seconds);
  if (results.remat) {
    const std::size_t again = results.remat->steps.size() - dag.nodes.size();
    fmt::print("  in budget    peak {} of {}, checked\n", bytes_text(results.remat->peak),
               bytes_text(*options.budget));
    fmt::print("               {:.2f} % added cost, {} computed again; {:.3f} s\n",
               added_percent(dag, *results.remat),
               again == 1 ? "1 node" : fmt::format("{} nodes", again), results.remat_seconds);
  }
  fmt::print("  arena        {}, checked\n", bytes_text(results.height(dag)));
  fmt::print("               gap {}; {:.3f} s\n", gap_text(results.height(dag), results.bound(dag)),
             results.arena.seconds);
  if (options.capacity) {
    fmt::print("  capacity     {}: {}\n", bytes_text(*options.capacity),
               results.height(dag) <= *options.capacity ? "it fits" : "it does not fit");
  }
}

void draw(const PlanOptions& options, const planner::Program& program, const Results& results) {
  const Arena& arena = results.arena;
  const std::int64_t resident = program.dag.resident;
  Drawing drawing{program.name.empty() ? options.file : program.name,
                  {},
                  results.height(program.dag),
                  options.capacity.value_or(0)};
  const auto steps = static_cast<std::int64_t>(results.schedule().size());
  drawing.boxes.push_back({"always there", 0, steps, 0, resident});
  for (std::size_t i = 0; i < arena.lifetimes.step.size(); ++i) {
    const int v = results.schedule()[at(arena.lifetimes.step[i])];
    const bool is_workspace = i >= results.schedule().size();
    const planner::Buffer& buffer = arena.lifetimes.problem.buffers[i];
    drawing.boxes.push_back(
        {fmt::format("{}{}{}{}", program.ids[at(v)], program.ops[at(v)].empty() ? "" : " ",
                     program.ops[at(v)], is_workspace ? ", workspace" : ""),
         buffer.lower, buffer.upper, resident + arena.plan.offsets[i], buffer.size});
  }
  write_svg(drawing, options.svg);
}

}  // namespace

void plan_program(const std::string& text, const PlanOptions& options) {
  const planner::Program program = planner::read_program(text, options.file);
  const Results results = solve_program(program.dag, options);
  if (!options.svg.empty()) draw(options, program, results);
  options.json ? print_json(options, program, results) : print_text(options, program, results);
  expect_fits(options, results.height(program.dag), results.bound(program.dag));
}

}  // namespace tenure::cli
