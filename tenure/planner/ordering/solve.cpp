#include <algorithm>
#include <numeric>
#include <utility>

#include "tenure/base/error.h"
#include "tenure/planner/order.h"
#include "tenure/planner/ordering/allowance.h"
#include "tenure/planner/ordering/baselines.h"
#include "tenure/planner/ordering/bound.h"
#include "tenure/planner/ordering/exact.h"
#include "tenure/planner/ordering/improve.h"
#include "tenure/planner/ordering/net.h"

namespace tenure::planner {
namespace {

using namespace ordering;

std::size_t at(int i) { return static_cast<std::size_t>(i); }

/// Above this, cuts and sets of all steps cost too much: only windows are searched.
constexpr int kLargest = 5000;

/// Steps between two waists of the graph: every order does them all before what follows and after
/// what precedes.
struct Part {
  Net net;
  std::vector<int> steps;  ///< of the whole, by index in `net`
  std::vector<int> order;  ///< the best so far
  std::int64_t peak = 0;
  std::int64_t bound = 0;
};

/// The places in a topological order after which a waist ends: a node that all nodes before it lead
/// to and all nodes after it come from.
std::vector<int> waists(const Net& net, const std::vector<int>& order) {
  std::vector<int> place(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) place[at(order[i])] = static_cast<int>(i);
  // A node between another and the first that waits for that does not follow from it; one between
  // another and the last that this waits for does not lead to it.
  std::vector<int> covered(order.size() + 1, 0);
  const auto cover = [&](int from, int to) {  // exclusive
    if (to <= from) return;
    ++covered[at(from + 1)];
    --covered[at(to)];
  };
  const int size = net.size;
  for (int v = 0; v < size; ++v) {
    int next = size;
    int previous = -1;
    for (const int w : net.after[v]) next = std::min(next, place[at(w)]);
    for (const int u : net.before[v]) previous = std::max(previous, place[at(u)]);
    cover(place[at(v)], next);
    cover(previous, place[at(v)]);
  }
  std::vector<int> result;
  for (int i = 0, depth = 0; i < size; ++i) {
    depth += covered[at(i)];
    if (depth == 0) result.push_back(i);
  }
  return result;
}

std::vector<std::vector<int>> simple_orders(const Net& net, const Dag& dag,
                                            const OrderOptions& options) {
  std::vector<std::vector<int>> orders;
  if (!options.given.empty()) {
    order_peak(dag, options.given);  // throws if it is none
    orders.push_back(options.given);
  } else {
    std::vector<int> indices(dag.nodes.size());
    std::iota(indices.begin(), indices.end(), 0);
    bool topological = true;
    for (const int v : indices) {
      for (const int u : net.before[v]) topological = topological && u < v;
    }
    if (topological) orders.push_back(std::move(indices));
  }
  orders.push_back(breadth_first(net));
  orders.push_back(depth_first(net));
  orders.push_back(post_order(net));
  orders.push_back(list_schedule(net));
  orders.push_back(least_peak_first(net));
  return orders;
}

std::vector<Part> split(const Net& net, const std::vector<std::vector<int>>& orders) {
  std::vector<int> ends = waists(net, orders[0]);
  if (ends.empty() || ends.back() + 1 != net.size) ends.push_back(net.size - 1);
  std::vector<Part> parts;
  Walk walk(net);
  std::vector<int> place_in_part(at(net.size));
  std::vector<int> ignored;
  int begin = 0;
  for (const int last : ends) {
    const std::size_t length = at(last + 1 - begin);
    Part part;
    part.steps.assign(orders[0].begin() + begin, orders[0].begin() + last + 1);
    part.net = part_of(net, walk, part.steps);
    for (std::size_t i = 0; i < length; ++i) place_in_part[at(part.steps[i])] = static_cast<int>(i);
    for (const std::vector<int>& order : orders) {
      std::vector<int> own;
      for (std::size_t i = 0; i < length; ++i)
        own.push_back(place_in_part[at(order[at(begin) + i])]);
      const std::int64_t peak = peak_of(part.net, own);
      if (!part.order.empty() && peak >= part.peak) continue;
      part.order = std::move(own);
      part.peak = peak;
    }
    part.bound = step_bound(part.net);
    for (const int v : part.steps) walk.run(v, ignored);
    ignored.clear();
    parts.push_back(std::move(part));
    begin = last + 1;
  }
  return parts;
}

void search_sets(Part& part, std::int64_t enough, std::int64_t states, Allowance& allowance) {
  for (const bool backwards : {false, true}) {
    const std::int64_t bound = std::max(part.bound, enough);
    if (part.peak <= bound) return;
    const Net& net = backwards ? reversed(part.net) : part.net;
    ExactResult result = search_exactly(net, part.peak, bound, states, allowance);
    if (!result.order.empty()) {
      if (backwards) std::reverse(result.order.begin(), result.order.end());
      part.order = std::move(result.order);
      part.peak = result.peak;
    }
    // Where `enough` was the bound, the search says nothing about lower peaks of this part.
    if (result.bound > enough) part.bound = std::max(part.bound, std::min(result.bound, part.peak));
  }
}

/// Makes the part as low as can be, or as `enough`: a peak that the plan has anyway.
void solve(Part& part, std::int64_t enough, std::uint64_t seed, Allowance& allowance) {
  const auto done = [&] { return part.peak <= std::max(part.bound, enough); };
  const auto search_windows = [&](int patience) {
    const std::int64_t goal = std::max(part.bound, enough);
    part.peak = improve(part.net, part.order, goal, patience, seed++, allowance);
  };
  constexpr int kPatience = 300;
  if (part.net.size > kLargest) return search_windows(kPatience);

  constexpr std::int64_t kWords = 16'000'000;  // so that the sets of a search take 400 MB at most
  const std::int64_t states = kWords / (part.net.size / 64 + 4);
  search_windows(kPatience / 10);
  if (!done()) part.bound = cut_bound(part.net, part.order, part.bound, allowance);
  if (!done()) search_sets(part, enough, states / 80, allowance);
  if (!done()) search_windows(kPatience);
  if (!done()) search_sets(part, enough, states, allowance);
}

}  // namespace

OrderPlan order(const Dag& dag, const OrderOptions& options) {
  check(dag);
  Allowance allowance(options.deadline, options.steps);
  const Net net = make_net(dag);
  const std::vector<std::vector<int>> orders = simple_orders(net, dag, options);
  OrderPlan plan;
  plan.peak = plan.lower_bound = dag.resident;
  if (dag.nodes.empty()) return plan;

  std::vector<Part> parts = split(net, orders);
  for (const Part& part : parts) plan.lower_bound = std::max(plan.lower_bound, part.bound);
  // The highest first: what it needs is enough for all others.
  std::vector<std::size_t> by_peak(parts.size());
  std::iota(by_peak.begin(), by_peak.end(), std::size_t{0});
  std::stable_sort(by_peak.begin(), by_peak.end(),
                   [&](std::size_t a, std::size_t b) { return parts[a].peak > parts[b].peak; });
  for (const std::size_t i : by_peak) {
    const std::int64_t enough = std::max(plan.lower_bound, plan.peak);
    if (parts[i].peak > enough) solve(parts[i], enough, options.seed + i, allowance);
    plan.peak = std::max(plan.peak, parts[i].peak);
    plan.lower_bound = std::max(plan.lower_bound, parts[i].bound);
  }
  for (const Part& part : parts) {
    for (const int i : part.order) plan.order.push_back(part.steps[at(i)]);
  }
  internal_check(peak_of(net, plan.order) == plan.peak, "the parts have the peak of the whole");
  return plan;
}

}  // namespace tenure::planner
