#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>

#include "cli/bytes.h"
#include "cli/plan.h"
#include "cli/recording.h"
#include "tenure/base/error.h"
#include "tenure/base/text.h"
#include "tenure/planner/arrange.h"
#include "tenure/planner/formats.h"
#include "tenure/planner/lifetimes.h"
#include "tenure/planner/order.h"
#include "tenure/planner/remat.h"

namespace tenure::cli {
namespace {

using planner::Dag;

std::size_t at(int i) { return static_cast<std::size_t>(i); }

struct Results {
  std::optional<std::int64_t> given_peak;  ///< none if the file's order cannot run
  planner::OrderPlan order;
  double order_seconds = 0;
  /// Of the order, or within the budget, perhaps with nodes that are computed again.
  planner::Arrangement arena;
  double seconds = 0;

  std::int64_t bound(const Dag& dag) const { return dag.resident + arena.offsets.lower_bound; }
  const std::vector<int>& schedule() const { return arena.schedule.steps; }
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

/// The arena of a schedule, looked for until its height is proven or the effort is spent.
void place(const Dag& dag, const PlanOptions& options, double seconds,
           planner::Arrangement& arena) {
  arena.lifetimes = planner::lifetimes_of(dag, arena.schedule.steps);
  auto search = options.search<planner::OffsetOptions>(1);
  search.deadline = seconds;
  search.capacity = std::max<std::int64_t>(0, options.capacity.value_or(0) - dag.resident);
  arena.offsets = solve(arena.lifetimes.problem, search);
  arena.size = dag.resident + arena.offsets.height;
}

/// With a deadline, what was found of an order is a matter of time, and must not decide what is
/// refused. So before something is refused it gets all that it gets without one, if there is time;
/// if not, it is not known.
planner::Arrangement arrange_within(const Dag& dag, const PlanOptions& options,
                                    const std::vector<int>& order, double seconds) {
  const Stopwatch watch;
  Progress progress;
  const auto show = [&](double share) { progress.show(share); };
  auto search = options.search<planner::RematOptions>(1);
  search.progress = show;
  if (!options.has_deadline()) {
    search.given = order;
    return planner::arrange(dag, *options.budget, search);
  }
  search.hint = order;
  search.deadline = seconds;
  try {
    return planner::arrange(dag, *options.budget, search);
  } catch (const planner::BudgetError& refused) {
    if (!refused.is_final()) throw;
    auto best = options.search<planner::OrderOptions>(1);
    best.deadline = std::max(0.0, seconds - watch.seconds());
    search.given = planner::order(dag, best).order;
    search.deadline = std::max(0.0, seconds - watch.seconds());
    if (search.deadline == 0) {
      throw planner::BudgetError(*options.budget, refused.least(), refused.bound(), false);
    }
    try {
      return planner::arrange(dag, *options.budget, search);
    } catch (const planner::BudgetError& again) {
      throw planner::BudgetError(*options.budget, std::min(refused.least(), again.least()),
                                 std::max(refused.bound(), again.bound()), again.is_final());
    }
  }
}

Results solve_program(const Dag& dag, const PlanOptions& options) {
  // Of the time, if there is a deadline.
  constexpr double kOrder = 0.2;
  constexpr double kAll = 0.99;  // the rest is for checks
  Results results;
  const Stopwatch order_watch;
  results.given_peak = peak_as_given(dag);
  results.order = planner::order(dag, options.search<planner::OrderOptions>(kOrder));
  results.order_seconds = order_watch.seconds();
  const auto wrong_order = validate(dag, results.order);
  expect_valid(!wrong_order, wrong_order.value_or(""));

  const Stopwatch watch;
  const double left = std::max(0.0, kAll * options.deadline - order_watch.seconds());
  planner::Arrangement& arena = results.arena;
  if (options.budget) {
    arena = arrange_within(dag, options, results.order.order, left);
  } else {
    arena.schedule.steps = results.order.order;
    arena.schedule.peak = results.order.peak;
    place(dag, options, left, arena);
  }
  results.seconds = watch.seconds();
  const auto problem =
      validate(dag, arena, options.budget.value_or(std::numeric_limits<std::int64_t>::max()));
  expect_valid(!problem, problem.value_or(""));
  return results;
}

double added_percent(const Dag& dag, std::int64_t added) {
  double cost = 0;
  for (const planner::Node& node : dag.nodes) cost += static_cast<double>(node.cost);
  return cost == 0 ? 0 : 100 * static_cast<double>(added) / cost;
}

/// For people.
std::string title_of(const PlanOptions& options, const planner::Program& program) {
  return program.name.empty() ? options.file : excerpt(program.name);
}

void print_program_json(const PlanOptions& options, const planner::Program& program,
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
  const planner::Arrangement& arena = results.arena;
  const planner::RematPlan& plan = arena.schedule;
  if (options.budget) {
    document["rematerialization"] = {{"budget", *options.budget},
                                     {"peak", plan.peak},
                                     {"added_cost", plan.added_cost},
                                     {"added_percent", added_percent(dag, plan.added_cost)},
                                     {"cost_bound", plan.cost_bound},
                                     {"optimal", plan.optimal()},
                                     {"valid", true},
                                     {"seconds", results.seconds},
                                     {"steps", ids(plan.steps)}};
  }
  Json offsets = Json::array();
  for (std::size_t i = 0; i < arena.lifetimes.step.size(); ++i) {
    offsets.push_back({{"step", arena.lifetimes.step[i]},
                       {"bytes", arena.lifetimes.problem.buffers[i].size},
                       {"offset", arena.offsets.offsets[i]}});
  }
  document["arena"] = {{"height", arena.size},
                       {"lower_bound", results.bound(dag)},
                       {"gap_percent", gap_percent(arena.size, results.bound(dag))},
                       {"optimal", arena.offsets.optimal()},
                       {"valid", true},
                       {"seconds", results.seconds}};
  if (options.capacity) {
    document["arena"]["capacity"] = *options.capacity;
    document["arena"]["fits"] = arena.size <= *options.capacity;
  }
  document["arena"]["offsets"] = std::move(offsets);
  fmt::print("{}\n", document.dump(2, ' ', false, Json::error_handler_t::replace));
}

void print_text(const PlanOptions& options, const planner::Program& program,
                const Results& results) {
  const Dag& dag = program.dag;
  fmt::print("{}: {} nodes, {} always there\n", title_of(options, program), dag.nodes.size(),
             bytes_text(dag.resident));
  fmt::print("  as given     peak {}\n", results.given_peak
                                             ? bytes_text(*results.given_peak)
                                             : "unknown: some nodes come before their inputs");
  const planner::OrderPlan& order = results.order;
  fmt::print("  best order   peak {}, checked\n", bytes_text(order.peak));
  fmt::print("               gap {}; {:.3f} s\n", gap_text(order.peak, order.lower_bound),
             results.order_seconds);
  const planner::Arrangement& arena = results.arena;
  const planner::RematPlan& plan = arena.schedule;
  if (options.budget) {
    const std::size_t again = plan.steps.size() - dag.nodes.size();
    fmt::print("  in budget    peak {} of {}, checked\n", bytes_text(plan.peak),
               bytes_text(*options.budget));
    fmt::print(
        "               {:.2f} % added cost, {} computed again; {}\n",
        added_percent(dag, plan.added_cost), again == 1 ? "1 node" : fmt::format("{} nodes", again),
        plan.optimal()
            ? "proven to be the least"
            : fmt::format("no less than {:.2f} % can do", added_percent(dag, plan.cost_bound)));
  }
  fmt::print("  arena        {}, checked\n", bytes_text(arena.size));
  fmt::print("               gap {}; {:.3f} s\n", gap_text(arena.size, results.bound(dag)),
             results.seconds);
  if (options.capacity) {
    fmt::print("  capacity     {}: {}\n", bytes_text(*options.capacity),
               arena.size <= *options.capacity ? "it fits" : "it does not fit");
  }
}

void draw(const PlanOptions& options, const planner::Program& program, const Results& results) {
  const planner::Arrangement& arena = results.arena;
  const std::int64_t resident = program.dag.resident;
  Drawing drawing{.title = title_of(options, program),
                  .boxes = {},
                  .height = arena.size,
                  .capacity = options.capacity.value_or(0),
                  .budget = options.budget.value_or(0)};
  const auto steps = static_cast<std::int64_t>(results.schedule().size());
  drawing.boxes.push_back({"always there", 0, steps, 0, resident});
  for (std::size_t i = 0; i < arena.lifetimes.step.size(); ++i) {
    const int v = results.schedule()[at(arena.lifetimes.step[i])];
    const bool is_workspace = i >= results.schedule().size();
    const planner::Buffer& buffer = arena.lifetimes.problem.buffers[i];
    drawing.boxes.push_back(
        {fmt::format("{}{}{}{}", program.ids[at(v)], program.ops[at(v)].empty() ? "" : " ",
                     program.ops[at(v)], is_workspace ? ", workspace" : ""),
         buffer.lower, buffer.upper, resident + arena.offsets.offsets[i], buffer.size});
  }
  write_svg(drawing, options.svg);
}

}  // namespace

void plan_program(const std::string& text, const PlanOptions& options) {
  const planner::Program program = planner::read_program(text, options.file);
  const Results results = solve_program(program.dag, options);
  if (!options.svg.empty()) draw(options, program, results);
  options.json ? print_program_json(options, program, results)
               : print_text(options, program, results);
  expect_fits(options, results.arena.size, results.bound(program.dag));
}

}  // namespace tenure::cli
