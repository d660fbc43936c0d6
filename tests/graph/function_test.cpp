#include <gtest/gtest.h>

#include "tenure/graph/function.h"
#include "tenure/tenure.h"

namespace tenure {
namespace {

TEST(Function, ComputesWhatItsCallableDoes) {
  const Tensor w = uniform({4, 4});
  const auto f = function([&](const Tensor& x) { return tanh(matmul(x, w) * 0.5f + 1.f); });
  const Tensor x = uniform({3, 4});
  const Tensor expected = tanh(matmul(x, w) * 0.5f + 1.f);
  EXPECT_EQ(f(x).to_vector<float>(), expected.to_vector<float>());
  EXPECT_EQ(f(x).to_vector<float>(), expected.to_vector<float>());
  EXPECT_EQ(f.traces().size(), 1u);
  static_cast<void>(f(uniform({5, 4})));
  EXPECT_EQ(f.traces().size(), 2u);
}

TEST(Function, TakesAndGivesTrees) {
  const auto f = function([](const std::vector<Tensor>& v, int n) {
    return std::pair(v[0] + v[1], std::vector<Tensor>{v[0] * n});
  });
  const Tensor a = tensor({1.f, 2.f});
  const auto [s, p] = f(std::vector<Tensor>{a, a}, 3);
  EXPECT_EQ(s.to_vector<float>(), (std::vector<float>{2, 4}));
  EXPECT_EQ(p.at(0).to_vector<float>(), (std::vector<float>{3, 6}));
}

TEST(Function, PlansWithoutAllocating) {
  const auto f = function([](const Tensor& a, const Tensor& b) { return tanh(a * b) + a; });
  const MemoryRegion region;
  const Plan plan = f.plan(spec({1000}), spec({1000}));
  EXPECT_EQ(region.peak_bytes(), 0);
  EXPECT_EQ(plan.arena, 0);
  EXPECT_EQ(plan.peak, 4000);
  EXPECT_EQ(plan.steps.size(), 1u);
}

TEST(Function, OneTraceServesEveryBatch) {
  int traces = 0;
  const Tensor w = uniform({4, 3});
  const auto model = [&](const Tensor& x, const Tensor& b) {
    ++traces;
    return softmax(tanh(matmul(x, w) + b), 1);
  };
  const auto f = function(model, {.name = "model", .batched = {0}});
  const Tensor b = uniform({3});
  for (const std::int64_t n : {1, 8, 3, 0, 8}) {
    const Tensor x = uniform({n, 4});
    traces = 0;
    const Plan plan = f.plan(spec({n, 4}), b);
    const MemoryRegion region;
    const Tensor y = f(x, b);
    EXPECT_EQ(region.peak_bytes(), plan.peak) << n;
    EXPECT_EQ(traces, n == 1 ? 1 : 0);
    EXPECT_EQ(y.to_vector<float>(), model(x, b).to_vector<float>());
  }
  EXPECT_EQ(f.traces().size(), 4u);
  EXPECT_THROW(static_cast<void>(f(uniform({2, 5}), b)), ShapeError);
  EXPECT_THROW(static_cast<void>(f(full({}, 1.0), b)), ShapeError);
}

}  // namespace
}  // namespace tenure
