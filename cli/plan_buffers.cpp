#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cli/bytes.h"
#include "cli/plan.h"
#include "tenure/planner/formats.h"

namespace tenure::cli {
namespace {

using planner::BufferTable;
using planner::OffsetPlan;

void print_buffers_json(const PlanOptions& options, const BufferTable& table,
                        const OffsetPlan& plan, double seconds) {
  nlohmann::ordered_json document{{"file", options.file},
                                  {"kind", "buffers"},
                                  {"buffers", table.ids.size()},
                                  {"height", plan.height},
                                  {"lower_bound", plan.lower_bound},
                                  {"gap_percent", gap_percent(plan.height, plan.lower_bound)},
                                  {"optimal", plan.optimal()},
                                  {"valid", true},
                                  {"seconds", seconds}};
  if (options.capacity) {
    document["capacity"] = *options.capacity;
    document["fits"] = plan.height <= *options.capacity;
  }
  auto& offsets = document["offsets"] = nlohmann::ordered_json::array();
  for (std::size_t i = 0; i < table.ids.size(); ++i) {
    offsets.push_back({{"id", table.ids[i]}, {"offset", plan.offsets[i]}});
  }
  using Json = nlohmann::ordered_json;
  fmt::print("{}\n", document.dump(2, ' ', false, Json::error_handler_t::replace));
}

void print_text(const PlanOptions& options, const BufferTable& table, const OffsetPlan& plan,
                double seconds) {
  fmt::print("{}: {} buffers\n", options.file, table.ids.size());
  fmt::print("  height       {}, checked\n", bytes_text(plan.height));
  fmt::print("  lower bound  {}\n", bytes_text(plan.lower_bound));
  fmt::print("  gap          {}\n", gap_text(plan.height, plan.lower_bound));
  if (options.capacity) {
    fmt::print("  capacity     {}: {}\n", bytes_text(*options.capacity),
               plan.height <= *options.capacity ? "it fits" : "it does not fit");
  }
  fmt::print("  time         {:.3f} s\n", seconds);
}

}  // namespace

void plan_buffers(const std::string& text, const PlanOptions& options) {
  const BufferTable table = planner::read_buffers(text, options.file);
  const Stopwatch watch;
  auto search = options.search<planner::OffsetOptions>(1);
  search.capacity = options.capacity.value_or(0);
  const OffsetPlan plan = solve(table.problem, search);
  const double seconds = watch.seconds();
  const auto problem = validate(table.problem, plan);
  expect_valid(!problem, problem.value_or(""));

  if (!options.svg.empty()) {
    Drawing drawing{.title = options.file,
                    .boxes = {},
                    .height = plan.height,
                    .capacity = options.capacity.value_or(0)};
    for (std::size_t i = 0; i < table.ids.size(); ++i) {
      const planner::Buffer& buffer = table.problem.buffers[i];
      drawing.boxes.push_back(
          {table.ids[i], buffer.lower, buffer.upper, plan.offsets[i], buffer.size});
    }
    write_svg(drawing, options.svg);
  }
  options.json ? print_buffers_json(options, table, plan, seconds)
               : print_text(options, table, plan, seconds);
  expect_fits(options, plan.height, plan.lower_bound);
}

}  // namespace tenure::cli
