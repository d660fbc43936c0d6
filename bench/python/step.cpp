#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <iostream>

#include "tenure/tenure.h"

// The least milliseconds of a training step of the MLP 784-512-512-10 with Adam, batch 128: what
// calls.py has beside the same step from Python. usage: tenure_python_step SECONDS

int main(int count, char** arguments) {
  using namespace tenure;
  using Clock = std::chrono::steady_clock;
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
