#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <random>
#include <string>

#include "bench/planner.h"
#include "tenure/planner/order.h"
#include "tenure/planner/ordering/baselines.h"

namespace tenure::bench {
namespace {

using planner::Dag;
using planner::Node;
using planner::OrderPlan;

/// A random layered DAG after Gagrani et al. 2022, as Moccasin has them: some 2 sqrt(n) layers
/// between one source and one target, each node reads a fifth of the layer before, the part that
/// lies opposite, one edge in seven skips layers, and sizes are half normal.
Dag layered(int size, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto unit = [&] { return static_cast<double>(random() >> 11) * 0x1p-53; };
  const auto below = [&](std::size_t end) { return static_cast<std::size_t>(random() % end); };
  std::vector<std::vector<int>> layers{{0}};
  for (int next = 1; next < size - 1;) {
    const double width = 0.5 * std::sqrt(size) * (0.25 + 1.5 * unit());
    const int end = std::min(size - 1, next + std::max(1, static_cast<int>(std::lround(width))));
    for (layers.emplace_back(); next < end; ++next) layers.back().push_back(next);
  }
  layers.push_back({size - 1});

  Dag dag;
  dag.nodes.resize(static_cast<std::size_t>(size));
  const auto read = [&](int reader, int input) {
    std::vector<int>& inputs = dag.nodes[static_cast<std::size_t>(reader)].inputs;
    if (std::find(inputs.begin(), inputs.end(), input) == inputs.end()) inputs.push_back(input);
  };
  for (std::size_t layer = 1; layer < layers.size(); ++layer) {
    const std::vector<int>& above = layers[layer - 1];
    const std::vector<int>& here = layers[layer];
    const auto opposite = [](std::size_t i, const auto& from, const auto& to) {
      return to[i * to.size() / from.size()];
    };
    for (std::size_t i = 0; i < above.size(); ++i) read(opposite(i, above, here), above[i]);
    for (std::size_t i = 0; i < here.size(); ++i) {
      read(here[i], opposite(i, here, above));
      for (std::size_t k = 0; k < above.size(); ++k) {
        const auto place = [](std::size_t index, const auto& list) {
          return (static_cast<double>(index) + 0.5) / static_cast<double>(list.size());
        };
        if (std::abs(place(i, here) - place(k, above)) < 0.1) read(here[i], above[k]);
      }
      for (std::size_t k = dag.nodes[static_cast<std::size_t>(here[i])].inputs.size(); k > 0; --k) {
        if (layer < 3 || unit() >= 0.16) continue;
        const std::vector<int>& far = layers[below(layer - 1)];
        read(here[i], far[below(far.size())]);
      }
    }
  }
  for (Node& node : dag.nodes) {
    const double normal = std::sqrt(-2 * std::log(1 - unit())) * std::cos(2 * M_PI * unit());
    node.bytes = 10 * (1 + std::lround(280 * std::abs(normal)));
  }
  dag.nodes.back().output = true;
  return dag;
}

std::vector<Figure> run_layered(const std::string& name, int size) {
  constexpr int kDags = 10;
  double ours = 0;
  double list = 0;
  double simple = 0;  // the best of all orders that take one pass
  double bound = 0;
  double seconds = 0;
  int optimal = 0;
  int valid = 0;
  for (int seed = 1; seed <= kDags; ++seed) {
    const Dag dag = layered(size, static_cast<std::uint64_t>(seed));
    const auto start = std::chrono::steady_clock::now();
    const OrderPlan plan = planner::order(dag);
    seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    valid += validate(dag, plan) ? 0 : 1;
    optimal += plan.optimal() ? 1 : 0;
    const planner::ordering::Net net = planner::ordering::make_net(dag);
    const std::int64_t scheduled = order_peak(dag, list_schedule(net));
    std::int64_t best = scheduled;
    for (const std::vector<int>& order :
         {breadth_first(net), depth_first(net), post_order(net), least_peak_first(net)}) {
      best = std::min(best, order_peak(dag, order));
    }
    ours += static_cast<double>(plan.peak) / kDags;
    bound += static_cast<double>(plan.lower_bound) / kDags;
    list += static_cast<double>(scheduled) / kDags;
    simple += static_cast<double>(best) / kDags;
  }
  const std::string note =
      fmt::format("{} of {} valid, {} proven least, {:.1f} % above the bound, {:.2f} s each", valid,
                  kDags, optimal, 100 * (ours / bound - 1), seconds / kDags);
  const auto against = [&](const char* peer, double peak) {
    return Figure{.name = name,
                  .unit = "KiB",
                  .value = ours / 1024,
                  .peer = peer,
                  .peer_value = peak / 1024,
                  .ratio = peak / ours,
                  .target = "> 1.00",
                  .met = valid == kDags && ours < peak};
  };
  std::vector<Figure> figures{against("list scheduling", list),
                              against("best of 5 simple", simple)};
  figures[0].note = note;
  return figures;
}

}  // namespace

void add_planner_order_cases(std::vector<Case>& cases) {
  for (const int size : {100, 250, 500, 1000}) {
    const std::string name = fmt::format("order: peak, {} layered nodes", size);
    cases.push_back(
        {"planner", name, [name, size](const Options&) { return run_layered(name, size); }});
  }
  const std::string name = "order: 100,000 layered nodes";
  cases.push_back({"planner", name, [name](const Options&) {
                     const Dag dag = layered(100'000, 1);
                     const auto start = std::chrono::steady_clock::now();
                     const OrderPlan plan = planner::order(dag);
                     const std::chrono::duration<double> time =
                         std::chrono::steady_clock::now() - start;
                     const bool valid = !validate(dag, plan);
                     return std::vector<Figure>{{.name = name,
                                                 .unit = "s",
                                                 .value = time.count(),
                                                 .met = valid,
                                                 .note = valid ? "valid" : "NOT VALID"}};
                   }});
}

}  // namespace tenure::bench
