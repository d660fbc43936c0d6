// The gradient tape: what it saves and why, what goes when, gradients of gradients.

#include <iostream>

#include "tenure/tenure.h"

using namespace tenure;

int main() {
  std::cout << "-- a tape notes what is computed from what it watches\n";
  const Tensor x = tensor({1.0, 2.0, 3.0});
  {
    GradientTape tape;
    tape.watch(x);
    const Tensor y = sum(x * x * x);
    std::cout << "y = " << y.item<float>() << ", dy/dx = " << tape.gradient(y, x) << '\n';
  }

  std::cout << "-- it holds what the way back needs, and says why\n";
  const Tensor input = full({32, 8}, 0.5);
  const Variable w(full({8, 4}, 0.1), "w");
  const Variable b(zeros({4}), "b");
  {
    GradientTape tape;
    Tensor h = relu(matmul(input, w.value()) + b.value());
    const Tensor loss = mean(square(h));
    std::cout << to_string(tape.saved());

    std::cout << "-- disposed by the user, held by the tape until it has been used\n";
    h.dispose();
    for (const Holder& holder : holders(h))
      std::cout << name_of(holder.kind) << " for " << holder.op << '\n';
    const std::vector<Tensor> gradients = tape.gradient(loss, std::vector{w, b});
    std::cout << "db = " << gradients[1] << "; holders left: " << holders(h).size()
              << ", saved: " << tape.saved().tensors.size() << '\n';
  }

  std::cout << "-- moved inputs are computed in place, but never what is needed later\n";
  {
    const Tensor big = ones({1000});
    const MemoryRegion region;
    GradientTape tape;
    tape.watch(big);
    Tensor y = exp(big);     // saved: exp's gradient is its result
    y = neg(std::move(y));   // so this one allocates
    y = y + 1.0;             // and this one, which was not asked to reuse
    y = relu(std::move(y));  // in place: nobody needs what was there
    std::cout << region.peak_bytes() / 4000 << " buffers of 4000 bytes, " << tape.saved().bytes
              << " bytes saved\n";
  }

  std::cout << "-- tapes nest\n";
  {
    const Tensor t = tensor({2.0});
    GradientTape outer;
    outer.watch(t);
    GradientTape inner;
    inner.watch(t);
    const Tensor position = t * t * t;
    const Tensor speed = inner.gradient(position, t);
    const Tensor acceleration = outer.gradient(speed, t);
    std::cout << "t^3 at 2: " << position.item<float>() << ", " << speed.item<float>() << ", "
              << acceleration.item<float>() << '\n';
  }

  std::cout << "-- a whole step as one function: gradients are nodes like all else\n";
  const auto step = function([&](const Tensor& batch) {
    GradientTape tape;
    Tensor loss = mean(square(relu(matmul(batch, w.value()) + b.value()) - 1.0));
    const std::vector<Tensor> gradients = tape.gradient(loss, std::vector{w, b});
    w.assign_sub(gradients[0] * 0.1);
    b.assign_sub(gradients[1] * 0.1);
    return loss;
  });
  std::cout << "planned peak " << step.plan(spec({32, 8})).peak << " bytes\n";
  float loss = 0;
  for (int i = 0; i < 50; ++i) loss = step(input).item<float>();
  std::cout << "loss after 50 steps below 0.001: " << std::boolalpha << (loss < 1e-3F) << '\n';

  std::cout << "-- what cannot be is said\n";
  try {
    GradientTape tape;
    tape.watch(x);
    const Tensor y = sum(exp(input));
    tape.gradient(y, x);
  } catch (const GradientError& error) {
    std::cout << "refused: the target does not depend on x\n";
  }
}
