// Variables that a loop makes anew: the growth is found, and its line named.

#include <iostream>
#include <vector>

#include "tenure/tenure.h"

using namespace tenure;

namespace {

void heading(const char* text) { std::cout << "\n-- " << text << '\n'; }

/// A layer that was meant to be made once.
Tensor careless_step(const Tensor& x, std::vector<nn::Dense>& forgotten) {
  forgotten.push_back(nn::Dense(4, 4));
  return forgotten.back()(x);
}

}  // namespace

int main() {
  const Tensor x = ones({2, 4});

  heading("a layer made in every step, and kept");
  std::vector<nn::Dense> forgotten;
  LeakGuard guard("training");
  int step = 0;
  try {
    for (; step < 100; ++step) {
      careless_step(x, forgotten);
      guard.mark();
    }
    std::cout << "not reached\n";
  } catch (const LeakError& error) {
    std::cout << "after " << step + 1 << " steps:\n" << error.what() << '\n';
  }
  for (const nn::Dense& layer : forgotten) layer.dispose();

  heading("the same name asked for twice");
  Container container;
  const VariableScope scope("model", container);
  const auto weights = [] { return ones({4, 4}); };
  get_variable("w", weights);
  try {
    get_variable("w", weights);
    std::cout << "not reached\n";
  } catch (const GraphError& error) {
    std::cout << error.what() << '\n';
  }

  heading("one layer, made once");
  const nn::Dense layer(4, 4);
  LeakGuard steady("training");
  for (int i = 0; i < 100; ++i) {
    layer(x);
    steady.mark();
  }
  std::cout << "100 steps, nothing grew\n";
}
