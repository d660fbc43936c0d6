#include <iostream>

#include "soft_clip.h"

using namespace tenure;

int main() {
  const Tensor x = tensor({-3.f, 0.f, 1.f});
  std::cout << "now      " << soft_clip()(x) << '\n';

  const auto f = function([](const Tensor& t) { return soft_clip()(t * 2) + 1; });
  std::cout << "traced   " << f(x) << '\n';

  GradientTape tape;
  tape.watch(x);
  std::cout << "gradient " << tape.gradient(sum(soft_clip()(x)), x) << '\n';

  const OpReport report = check_op(soft_clip());
  std::cout << report;
  if (!report.ok()) return 1;

  // It says that it allocates nothing but its output, and does.
  ops::OpRecord greedy = soft_clip().record();
  greedy.name = "greedy_clip";
  const ops::KernelSlot kernel{.run = [](const ops::Kernel& k) {
    const Tensor secret = zeros({1000});
    ops::kernel_of(soft_clip().record(), cpu).run(k);
  }};
  const OpReport found = check_op(define_op(greedy, kernel));
  std::cout << found.op << ": " << (found.ok() ? "nothing found" : "found") << '\n'
            << found.failures.front().substr(0, found.failures.front().find('\n')) << '\n';
}
