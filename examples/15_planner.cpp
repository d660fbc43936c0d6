// The planner alone: an order, an arena, and a budget for a program that is nothing but sizes.

#include <iostream>
#include <vector>

#include "tenure/planner/lifetimes.h"
#include "tenure/planner/offsets.h"
#include "tenure/planner/order.h"
#include "tenure/planner/remat.h"

using namespace tenure::planner;

namespace {

/// A chain of layers and its backward pass: each gradient reads the one after it and the layer's
/// activation.
Dag training_step(int layers) {
  Dag dag;
  for (int i = 0; i < layers; ++i) {
    Node forward{.bytes = 1000, .cost = 10};
    if (i > 0) forward.inputs = {i - 1};
    dag.nodes.push_back(forward);
  }
  for (int i = layers - 1; i >= 0; --i) {
    const int last = static_cast<int>(dag.nodes.size()) - 1;
    Node backward{.bytes = 1000, .cost = 20, .inputs = {last}};
    if (last != i) backward.inputs.push_back(i);
    dag.nodes.push_back(backward);
  }
  dag.nodes.back().output = true;
  return dag;
}

}  // namespace

int main() {
  std::cout << "-- an order: two sums of two inputs each, then their sum\n";
  Dag sums;
  sums.nodes.resize(7);
  for (std::size_t i = 0; i < 4; ++i) sums.nodes[i].bytes = 100;
  sums.nodes[4] = {.bytes = 10, .inputs = {0, 1}};
  sums.nodes[5] = {.bytes = 10, .inputs = {2, 3}};
  sums.nodes[6] = {.bytes = 10, .inputs = {4, 5}, .output = true};
  const OrderPlan plan = order(sums);
  std::cout << "as given " << order_peak(sums, {0, 1, 2, 3, 4, 5, 6}) << " bytes, planned "
            << plan.peak << (plan.optimal() ? ", which is the least\n" : "\n");

  std::cout << "-- an arena for it\n";
  const Lifetimes lifetimes = lifetimes_of(sums, plan.order);
  const OffsetPlan arena = solve(lifetimes.problem);
  std::cout << arena.height << " bytes, lower bound " << arena.lower_bound
            << ", valid: " << (validate(lifetimes.problem, arena) ? "no" : "yes") << '\n';

  std::cout << "-- a training step of 12 layers in less memory, for more time\n";
  const Dag step = training_step(12);
  const std::int64_t all = order_peak(step, order(step).order);
  std::cout << "all kept: " << all << " bytes\n";
  for (const std::int64_t budget : {all, all * 2 / 3, all / 2}) {
    const RematPlan remat = rematerialize(step, budget, {.steps = 200'000});
    std::cout << "within " << budget << ": " << remat.steps.size() - step.nodes.size()
              << " computed again, valid: " << (validate(step, remat, budget) ? "no" : "yes")
              << '\n';
  }
  try {
    rematerialize(step, 1500, {.steps = 200'000});
  } catch (const BudgetError& error) {
    std::cout << "within 1500: refused, the least known is " << error.least() << '\n';
  }
}
