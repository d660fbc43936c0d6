#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <iostream>
#include <string_view>

#include "tenure/tenure.h"

// What calls.py has beside the same from Python: the least milliseconds of a training step of the
// MLP 784-512-512-10 with Adam, batch 128, or the least nanoseconds of add of 16 floats. usage:
// tenure_python_step SECONDS, tenure_python_step add

namespace {

using namespace tenure;
using Clock = std::chrono::steady_clock;

double add_nanoseconds() {
  constexpr int kCalls = 20000;
  const Tensor x = ones({16});
  const Tensor y = ones({16});
  double least = 1e9;
  for (int round = 0; round < 15; ++round) {
    const auto start = Clock::now();
    for (int i = 0; i < kCalls; ++i) static_cast<void>(add(x, y));
    const std::chrono::duration<double, std::nano> taken = Clock::now() - start;
    least = std::min(least, taken.count() / kCalls);
  }
  return least;
}

}  // namespace

int main(int count, char** arguments) {
  if (count > 1 && std::string_view(arguments[1]) == "add") {
    std::cout << add_nanoseconds() << '\n';
    return 0;
  }
  const double seconds = count > 1 ? std::atof(arguments[1]) : 1;
  seed(0);
  const nn::Sequential model(nn::Dense(784, 512), nn::Relu(), nn::Dense(512, 512), nn::Relu(),
                             nn::Dense(512, 10));
  nn::Adam optimizer(model.trainable());
  const auto loss = [](const Tensor& p, const Tensor& t) { return cross_entropy(p, t); };
  nn::Trainer trainer(model, loss, optimizer);
  const Tensor x = normal({128, 784});
  const Tensor target = randint(0, 10, {128});
  for (int i = 0; i < 3; ++i) trainer.step(x, target);
  double least = 1e9;
  const auto begin = Clock::now();
  while (std::chrono::duration<double>(Clock::now() - begin).count() < seconds) {
    const auto start = Clock::now();
    trainer.step(x, target);
    least =
        std::min(least, std::chrono::duration<double, std::milli>(Clock::now() - start).count());
  }
  std::cout << least << '\n';
}
