// An eager training loop in less memory than it takes: the budget gives up results that can be
// computed again, and every number stays the same.

#include <iostream>

#include "tenure/tenure.h"

using namespace tenure;

namespace {

constexpr int kLayers = 10;
constexpr int kSteps = 5;

/// Trains for a few steps, with nothing compiled: a loop, a tape, and updates by hand.
double train(const Tensor& x, const Tensor& target) {
  seed(3);
  std::vector<Variable> weights;
  for (int i = 0; i < kLayers; ++i) weights.emplace_back(normal({64, 64}, 0, 0.2));
  double last = 0;
  for (int step = 0; step < kSteps; ++step) {
    GradientTape tape;
    Tensor h = x;
    for (const Variable& w : weights) h = tanh(matmul(h, w.value()));
    const Tensor loss = mean(square(h - target));
    const std::vector<Tensor> gradients = tape.gradient(loss, weights);
    for (int i = 0; i < kLayers; ++i) weights[i].assign_sub(gradients[i] * 0.1);
    last = loss.item<float>();
  }
  return last;
}

}  // namespace

int main() {
  seed(2);
  const Tensor x = normal({512, 64});
  const Tensor target = normal({512, 64}, 0, 0.5);

  std::size_t peak = 0;
  double plain = 0;
  {
    const Budget budget("plain", kNoLimit);
    plain = train(x, target);
    peak = budget.peak();
  }
  std::cout << "-- it takes " << format_bytes(static_cast<std::int64_t>(peak)) << '\n';

  const std::size_t limit = peak * 6 / 10;
  std::cout << "-- in 60 % it does not fit\n";
  try {
    const Budget budget("plain", limit);
    train(x, target);
  } catch (const OutOfMemory& error) {
    std::cout << "refused " << error.requested() << " bytes\n";
  }

  for (const int percent : {60, 50, 3}) {
    std::cout << "-- in " << percent << " % with a budget that evicts\n";
    const std::size_t tight = peak * static_cast<std::size_t>(percent) / 100;
    const std::int64_t recomputations = memory().recomputations;
    try {
      const Budget budget("tight", tight, {.evict = true});
      const double loss = train(x, target);
      std::cout << std::boolalpha << "same loss: " << (loss == plain)
                << ", never above: " << (budget.peak() <= tight)
                << ", computed again: " << (memory().recomputations > recomputations) << '\n';
    } catch (const OutOfMemory& error) {
      std::cout << "refused by \"" << error.budget() << "\": all that is left is needed at once\n";
    }
  }
}
