// Traced functions: written down once per signature, planned before they run.

#include <iostream>

#include "tenure/tenure.h"

using namespace tenure;

int main() {
  const Tensor w = full({4, 4}, 0.25);
  int calls = 0;
  const auto predict = function(
      [&](const Tensor& x) {
        ++calls;  // runs when it is traced, not when it runs
        return tanh(matmul(x, w) + 1.0) * 0.5;
      },
      {.name = "predict"});

  std::cout << "-- will it fit? the plan allocates nothing\n";
  const MemoryRegion region;
  const Plan plan = predict.plan(spec({1000, 4}));
  std::cout << "peak " << plan.peak << " bytes, of them arena " << plan.arena
            << "; allocated so far " << region.peak_bytes() << '\n'
            << plan;

  std::cout << "-- a call like it runs that plan\n";
  const Tensor x = ones({1000, 4});
  const MemoryRegion run;
  const Tensor y = predict(x);
  std::cout << "first row " << index(y, {0}) << "; measured peak " << run.peak_bytes() << '\n';

  for (int i = 0; i < 100; ++i) predict(x);
  std::cout << "-- the callable ran " << calls << " time for 101 calls\n";

  std::cout << "-- another shape is another trace, and it says why\n";
  predict(ones({8, 4}));
  std::cout << "traced " << calls << " times\n";
  for (const TraceInfo& trace : predict.traces()) {
    std::cout << trace.signature << ": " << trace.reason << ", " << trace.calls << " calls\n";
  }

  std::cout << "-- captured by reference: what w holds now counts\n";
  w.mutable_span<float>()[0] = 100;
  std::cout << index(predict(ones({8, 4})), {0}) << '\n';

  std::cout << "-- donated: the result in the memory of the argument\n";
  const auto squash = function([](const Tensor& x) { return tanh(x * 2.0) + 1.0; });
  Tensor gift = ones({1000});
  const MemoryRegion donated;
  const Tensor squashed = squash(std::move(gift));
  std::cout << donated.peak_bytes() << " bytes more; planned "
            << squash.plan(donate(spec({1000}))).peak << ", without "
            << squash.plan(spec({1000})).peak << '\n';

  std::cout << "-- a trace cannot leave its function\n";
  Tensor escaped;
  const auto leaky = function([&](const Tensor& x) { return escaped = x * 2; });
  leaky(ones({2}));
  try {
    std::cout << escaped + 1;
  } catch (const SymbolError& error) {
    std::cout << error.what() << '\n';
  }
}
