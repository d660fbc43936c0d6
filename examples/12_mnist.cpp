// A convolutional network learns handwritten digits in less memory than its step would take.
//
//     12_mnist [--device cuda] [FOLDER WITH MNIST] [EPOCHS] [PERCENT OF THE PLAIN STEP'S MEMORY]
//
// Without the folder it learns drawn digits, of which it makes a few thousand.

#include <cstdlib>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "examples/options.h"
#include "tenure/tenure.h"

using namespace tenure;

namespace {

nn::Sequential make_network() {
  return nn::Sequential(nn::Conv2d(1, 32, 3, {.relu = true}), nn::Conv2d(32, 64, 3),
                        nn::MaxPool2d(2), nn::Relu(), nn::Flatten(), nn::Dense(64 * 12 * 12, 128),
                        nn::Relu(), nn::Dense(128, 10));
}

/// Batches [images in [0, 1], labels].
data::Dataset batches(const data::Dataset& digits, std::int64_t size) {
  return digits.batch(size).map([](data::Batch batch) {
    return data::Batch{expand_dims(cast(std::move(batch[0]), DType::float32) / 255, -1),
                       std::move(batch[1])};
  });
}

}  // namespace

int main(int argc, char** argv) try {
  constexpr std::int64_t kBatch = 64;
  const Device device = examples::device_option(argc, argv);
  const bool has_mnist = argc > 1 && data::has_mnist(argv[1]);
  const int epochs = argc > 2 ? std::atoi(argv[2]) : 1;
  const int percent = argc > 3 ? std::atoi(argv[3]) : 50;
  if (!has_mnist) std::cout << "no MNIST here: drawn digits take its place\n";
  const data::Split digits =
      has_mnist ? data::mnist(argv[1]) : data::Split{data::digits(2000, 1), data::digits(500, 2)};
  const data::Dataset training = batches(digits.train.shuffle(7), kBatch).prefetch(2);
  const data::Dataset test = batches(digits.test, 250).prefetch(2);

  seed(1);
  const nn::Sequential network = make_network();
  network.to(device);
  nn::Adam adam(network.trainable());
  const auto loss = [](const Tensor& logits, const Tensor& labels) {
    return cross_entropy(logits, labels);
  };
  const Tensor images = spec({kBatch, 28, 28, 1});
  const Tensor labels = spec({kBatch}, DType::int64);

  // What the plain step would take, before anything runs.
  const nn::Trainer plain(network, loss, adam);
  const nn::Summary summary = nn::summarize(plain, images, labels);
  std::cout << summary << '\n';

  // The same step within a budget: some of it is computed twice. A budget that cannot be held is
  // refused with one that can; whatever happens, the network is trained.
  const std::int64_t computation = summary.training->plan.peak;
  const std::int64_t resident = summary.training->peak() - computation;
  std::optional<std::int64_t> budget = resident + computation * percent / 100;
  std::unique_ptr<nn::Trainer> trainer;
  nn::StepPlan plan;
  for (int attempt = 0; trainer == nullptr; ++attempt) {
    auto candidate = std::make_unique<nn::Trainer>(
        network, loss, adam, nn::TrainerOptions{.metrics = {nn::accuracy()}, .budget = budget});
    try {
      plan = candidate->plan(images, labels);
      trainer = std::move(candidate);
    } catch (const planner::BudgetError& error) {
      std::cout << error.what() << '\n';
      budget = attempt == 0 ? std::optional(error.least()) : std::nullopt;
    }
  }
  std::cout << (budget ? "budget " + format_bytes(*budget) : "no budget") << ": the step takes "
            << format_bytes(plan.peak()) << ", and " << 100 * plan.plan.recomputed
            << " % more time for what is computed twice\n";

  const std::int64_t steps = training.size() * epochs;
  reset_peak(device);
  const nn::History history =
      nn::fit(*trainer, training,
              {.epochs = epochs,
               .schedule = nn::schedule::warm_up(100, nn::schedule::cosine(2e-3, steps, 1e-5))});
  const std::int64_t peak = history.epochs.empty() ? 0 : history.epochs.back().peak;
  const nn::Scores scores = nn::evaluate(*trainer, test);
  std::cout << "accuracy on " << digits.test.size()
            << " digits it has not seen: " << 100 * scores.metrics[0] << " %\n"
            << "highest live bytes, with the dataset and batches made ahead: " << format_bytes(peak)
            << '\n';
  return history.was_interrupted ? 130 : 0;
} catch (const Error& error) {
  std::cerr << error.what() << '\n';
  return 1;
}
