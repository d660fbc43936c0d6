#include <cstdio>

#include "tenure/tenure.h"

int main() {
  auto x = tenure::ones({2, 3});
  auto y = tanh(x + x);
  std::printf("%.4f\n", tenure::sum(y).item<float>());
}
