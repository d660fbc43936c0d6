#include <gtest/gtest.h>

#include "tenure/graph/function.h"
#include "tenure/graph/passes/layout.h"
#include "tenure/tenure.h"
#include "tests/support/same_bits.h"

// In which order of axes the results of loops lie.

namespace tenure {
namespace {

using test::expect_same_bits;

const ConvOptions kFirst{.channels = Channels::first};

std::int64_t workspace(const Plan& plan) {
  std::int64_t bytes = 0;
  for (const Plan::Step& step : plan.steps) bytes += step.workspace;
  return bytes;
}

class Layouts : public testing::Test {
 protected:
  const Tensor x = normal({2, 3, 12, 14});
  const Tensor w1 = normal({8, 3, 3, 3});
  const Tensor w2 = normal({4, 8, 3, 3});
  const std::int64_t between = 2 * 8 * 10 * 12 * 4;  ///< bytes of what two convolutions share

  /// Two convolutions with `f` in between.
  template <class F>
  Plan run(const F& f) {
    const auto program = [&](const Tensor& t) { return f(conv2d(t, w1, kFirst)); };
    const auto compiled = function(program);
    expect_same_bits(compiled(x), program(x));
    const Plan plan = compiled.plan(spec(x.shape()));
    const MemoryRegion region;
    const Tensor y = compiled(x);
    EXPECT_EQ(region.peak_bytes(), plan.peak);
    return plan;
  }
};

TEST_F(Layouts, ALoopBetweenConvolutionsLeavesChannelsWhereTheyAre) {
  const Plan copied = run([&](const Tensor& y) { return conv2d(contiguous(tanh(y)), w2, kFirst); });
  const Plan plan = run([&](const Tensor& y) { return conv2d(tanh(y), w2, kFirst); });
  EXPECT_LE(workspace(plan) + between, workspace(copied)) << plan << copied;
  EXPECT_LT(plan.peak, copied.peak);
}

TEST_F(Layouts, LoopsOneAfterTheOtherDoToo) {
  const Tensor bias = normal({8, 1, 1});
  const Plan plan = run([&](const Tensor& y) {
    const Tensor z = tanh(y + bias) * 2.f;
    return conv2d(
        relu(z) + max_pool2d(z, 3, {.stride = 1, .padding = 1, .channels = Channels::first}), w2,
        kFirst);
  });
  for (const Plan::Step& step : plan.steps) {
    EXPECT_LT(step.workspace, between) << plan;  // the kernels' own is less
  }
}

TEST_F(Layouts, WhatIsFetchedOrFlattenedLiesInItsOwnOrder) {
  const Plan fetched = run([&](const Tensor& y) { return tanh(y); });
  EXPECT_EQ(fetched.steps.size(), 2u) << fetched;
  const Plan flat = run([&](const Tensor& y) { return reshape(tanh(y), {2, -1}) * 2.f; });
  EXPECT_EQ(flat.steps.size(), 3u) << flat;
}

TEST_F(Layouts, WhatASumReadsLiesInItsOwnOrder) {
  // Else it would be added up in another order than in eager mode; the convolutions copy it.
  const auto both = [&](const Tensor& z) {
    return conv2d(z, w2, kFirst) * conv2d(z, w2 * 2.f, kFirst);
  };
  const Plan moved = run([&](const Tensor& y) { return both(tanh(y)); });
  const Plan plan = run([&](const Tensor& y) {
    const Tensor z = tanh(y);
    return both(z) + sum(z);
  });
  EXPECT_EQ(workspace(plan), workspace(moved) + 2 * between) << plan;
}

TEST_F(Layouts, GradientsPassThroughToo) {
  const auto step = [&](const Tensor& t, const Tensor& a, const Tensor& b) {
    GradientTape tape;
    tape.watch(a);
    tape.watch(b);
    const Tensor loss = mean(tanh(conv2d(tanh(conv2d(t, a, kFirst)), b, kFirst)));
    return tape.gradient(loss, std::vector<Tensor>{a, b});
  };
  const std::vector<Tensor> expected = step(x, w1, w2);
  const std::vector<Tensor> got = function(step)(x, w1, w2);
  for (std::size_t i = 0; i < got.size(); ++i) expect_same_bits(got[i], expected[i]);
}

TEST(DenseOrder, IsThatOfTheStrides) {
  using graph::dense_order;
  EXPECT_EQ(dense_order({2, 3, 4}, {12, 4, 1}), (Axes{0, 1, 2}));
  EXPECT_EQ(dense_order({2, 3, 4}, {12, 1, 3}), (Axes{0, 2, 1}));
  EXPECT_EQ(dense_order({2, 1, 4}, {4, 99, 1}), (Axes{0, 1, 2}));
  EXPECT_EQ(dense_order({2, 3}, {4, 1}), std::nullopt);  // gaps
  EXPECT_EQ(dense_order({2, 3}, {0, 1}), std::nullopt);  // repeats
  const Shape shape{5, 3, 2, 4};
  for (const Axes& order : {Axes{0, 2, 3, 1}, Axes{3, 2, 1, 0}, Axes{1, 0, 3, 2}}) {
    EXPECT_EQ(dense_order(shape, graph::strides_in_order(shape, order)), order);
  }
}

}  // namespace
}  // namespace tenure
