// The same network trained in 100, 60, 40 and 20 % of the memory that its step takes: what it
// costs, and that it computes the same.

#include <chrono>
#include <cstdio>
#include <iostream>

#include "tenure/tenure.h"

using namespace tenure;

namespace {

/// A deep network: its activations are most of its memory.
nn::Sequential make_network() {
  nn::Sequential network(nn::Dense(64, 128), nn::Tanh());
  for (int i = 0; i < 12; ++i) {
    network.push_back(nn::Dense(128, 128));
    network.push_back(nn::Tanh());
  }
  network.push_back(nn::Dense(128, 10));
  return network;
}

struct Result {
  double loss = 0;
  double milliseconds = 0;
  std::int64_t planned = 0;
  std::int64_t measured = 0;
  double recomputed = 0;
};

Result train(std::optional<std::int64_t> budget, const Tensor& x, const Tensor& target) {
  seed(3);
  const nn::Sequential network = make_network();
  nn::Adam adam(network.trainable());
  nn::Trainer trainer(
      network,
      [](const Tensor& logits, const Tensor& labels) { return cross_entropy(logits, labels); },
      adam, {.budget = budget});
  const nn::StepPlan plan = trainer.plan(x, target);
  Result result{.planned = plan.plan.peak, .recomputed = plan.plan.recomputed};
  trainer.step(x, target);
  const MemoryRegion region;
  const auto begin = std::chrono::steady_clock::now();
  constexpr int kSteps = 20;
  for (int i = 0; i < kSteps; ++i) result.loss = trainer.step(x, target).loss;
  const std::chrono::duration<double, std::milli> elapsed =
      std::chrono::steady_clock::now() - begin;
  result.milliseconds = elapsed.count() / kSteps;
  result.measured = region.peak_bytes();
  return result;
}

}  // namespace

int main() {
  seed(2);
  const Tensor x = normal({256, 64});
  const Tensor target = randint(0, 10, {256});
  const Result plain = train(std::nullopt, x, target);
  const std::int64_t resident = [&] {
    const nn::Sequential network = make_network();
    nn::Adam adam(network.trainable());
    nn::Trainer trainer(
        network,
        [](const Tensor& logits, const Tensor& labels) { return cross_entropy(logits, labels); },
        adam);
    return trainer.plan(x, target).peak() - plain.planned;
  }();

  std::printf("memory   planned    measured   computed twice   loss after 21 steps\n");
  for (const int percent : {100, 60, 40, 20}) {
    try {
      const Result tight =
          percent == 100 ? plain : train(resident + plain.planned * percent / 100, x, target);
      std::printf("%4d %%   %8.2f K  %8.2f K  %8.1f %%       %.6f%s\n", percent,
                  static_cast<double>(tight.planned) / 1024,
                  static_cast<double>(tight.measured) / 1024, 100 * tight.recomputed, tight.loss,
                  tight.loss == plain.loss ? "" : "  (differs)");
      std::fprintf(stderr, "%4d %%: %.2f ms a step\n", percent, tight.milliseconds);
    } catch (const planner::BudgetError& error) {
      std::printf("%4d %%   refused: %s\n", percent, error.what());
    }
  }
}
