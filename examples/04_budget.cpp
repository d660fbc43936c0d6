// Limits on memory, what happens at them, and how a leak is found.

#include <cstdint>
#include <iostream>
#include <thread>
#include <utility>
#include <vector>

#include "tenure/tenure.h"

using namespace tenure;

namespace {

constexpr std::int64_t kMiB = 1 << 18;  // this many float32 are 1 MiB

void heading(const char* text) { std::cout << "\n-- " << text << '\n'; }

void print_budget(const Budget& budget) {
  std::cout << budget.name() << ": " << format_bytes(static_cast<std::int64_t>(budget.used()))
            << " of " << format_bytes(static_cast<std::int64_t>(budget.limit())) << '\n';
}

void refused_and_recovered() {
  heading("an allocation past the budget");
  const Budget budget("request", 8 * MiB);
  const Tensor weights = zeros({4 * kMiB});
  const Tensor scratch = ones({2, kMiB});
  print_budget(budget);
  try {
    const Tensor wide = concat({weights, weights});
    std::cout << "not reached\n";
  } catch (const OutOfMemory& error) {
    std::cout << error.what() << '\n';
  }
  std::cout << "nothing was lost: " << sum(scratch) << '\n';

  heading("free something and go on");
  scratch.dispose();
  print_budget(budget);
  const Tensor narrow = weights + 1;
  print_budget(budget);
}

void in_place_needs_no_budget() {
  heading("in-place computation fits where a copy does not");
  const Budget budget("tight", 4 * MiB);
  Tensor x = ones({4 * kMiB});
  x = tanh(std::move(x) * 2 + 1);
  print_budget(budget);
}

void budgets_nest() {
  heading("an inner budget lies within the outer one");
  const Budget model("model", 6 * MiB);
  const Tensor weights = zeros({4 * kMiB});
  {
    const Budget request("request", 100 * MiB);  // more than the model has left
    const Tensor a = ones({kMiB});
    print_budget(request);
    print_budget(model);
    try {
      ones({3 * kMiB});
    } catch (const OutOfMemory& error) {
      std::cout << "refused by \"" << error.budget() << "\", which has "
                << error.facts().limit - error.facts().used << " bytes left\n";
    }
  }
  print_budget(model);

  heading("another thread enters a budget explicitly");
  std::thread worker([&] {
    const Tensor outside = ones({100 * kMiB});  // counts nowhere
    const Budget::Enter enter(model);
    const Tensor inside = ones({kMiB});
    print_budget(model);
  });
  worker.join();
}

void leak() {
  heading("a loop that leaks");
  std::vector<Tensor> history;
  LeakGuard guard("training");
  try {
    for (int step = 0; step < 100; ++step) {
      const Tensor prediction = tanh(ones({kMiB}));
      const Tensor loss = mean(prediction);
      history.push_back(loss);  // a handle each step; the number would do
      guard.mark();
    }
  } catch (const LeakError& error) {
    std::cout << error.what() << '\n';
  }

  heading("the same loop, holding numbers");
  std::vector<float> losses;
  LeakGuard clean("training");
  for (int step = 0; step < 100; ++step) {
    losses.push_back(mean(tanh(ones({kMiB}))).item<float>());
    clean.mark();
  }
  std::cout << clean.iterations() << " iterations without growth\n";
}

}  // namespace

int main() {
  refused_and_recovered();
  in_place_needs_no_budget();
  budgets_nest();
  leak();
}
