#include <gtest/gtest.h>

#include <cstring>

#include "tenure/tenure.h"
#include "tests/support/random_program.h"
#include "tests/support/share.h"

// Arguments and feeds that are not contiguous are computed with as they lie.

namespace tenure {
namespace {

TEST(Strided, ArgumentsTakeWhatThePlanSays) {
  const std::int64_t n = 256;
  const auto f = function([](const Tensor& x) { return tanh(x) + 1; });
  const Tensor a = normal({n, n});
  const Tensor turned = transpose(a);
  for (const Tensor& x :
       {turned, slice(a, 1, 3, 77), flip(a, {0}), broadcast_to(slice(a, 0, 0, 1), {n, n})}) {
    const Plan plan = f.plan(x);
    const MemoryRegion region;
    const Tensor y = f(x);
    EXPECT_EQ(region.peak_bytes(), plan.peak);
    EXPECT_EQ(plan.peak, static_cast<std::int64_t>(x.nbytes()));
    EXPECT_EQ(y.to_vector<float>(), (tanh(x) + 1).to_vector<float>());
  }
  EXPECT_EQ(f.plan(turned).peak, f.plan(spec({n, n})).peak);
}

TEST(Strided, OneTraceServesAllStrides) {
  int traced = 0;
  const auto f = function([&](const Tensor& x) { return ++traced, sum(x * x, 0); });
  const Tensor a = normal({8, 8});
  static_cast<void>(f(a));
  static_cast<void>(f(transpose(a)));
  static_cast<void>(f(a));
  EXPECT_EQ(traced, 1);
  ASSERT_EQ(f.traces().size(), 2u);
  EXPECT_EQ(f.traces()[1].signature, "float32[8, 8] strided");
  EXPECT_EQ(f.traces()[0].calls, 2);
}

/// A tensor with the elements of `tensor` and the axes in another order in memory.
Tensor turned(const Tensor& tensor) {
  if (tensor.rank() < 2) return flip(flip(tensor, {0}), {0});
  const int last = tensor.rank() - 1;
  return transpose(contiguous(transpose(tensor, 0, last)), 0, last);
}

TEST(Strided, RandomProgramsAgree) {
  for (int seed = 0; seed < test::rounds(600); ++seed) {
    const test::RandomProgram program(static_cast<std::uint64_t>(seed));
    std::vector<Tensor> inputs;
    for (const Tensor& input : program.inputs()) inputs.push_back(turned(input));
    const std::vector<Tensor> expected = program(inputs);
    const auto check = [&](const std::vector<Tensor>& got, const char* mode) {
      for (std::size_t i = 0; i < got.size(); ++i) {
        const auto a = got[i].to_vector<float>();
        const auto b = expected[i].to_vector<float>();
        ASSERT_EQ(a.size(), b.size());
        ASSERT_TRUE(a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0)
            << mode << " " << seed;
      }
    };
    const auto f = function([&](const std::vector<Tensor>& x) { return program(x); });
    const Plan plan = f.plan(inputs);
    {
      const MemoryRegion region;
      const std::vector<Tensor> got = f(inputs);
      ASSERT_EQ(region.peak_bytes(), plan.peak) << seed;
      check(got, "function");
    }
    Graph graph;
    std::vector<Tensor> symbols;
    std::vector<Feed> feeds;
    for (const Tensor& input : inputs) {
      symbols.push_back(
          graph.placeholder(std::to_string(symbols.size()), input.dtype(), input.shape()));
      feeds.emplace_back(symbols.back(), input);
    }
    const std::vector<Tensor> fetches = program(symbols);
    Session session(graph);
    const Plan predicted = session.plan(fetches, feeds);
    const MemoryRegion region;
    const std::vector<Tensor> got = session.run(fetches, feeds);
    ASSERT_EQ(region.peak_bytes(), predicted.peak) << seed;
    check(got, "session");
  }
}

TEST(Strided, UnderATapeToo) {
  const auto model = [](const Tensor& x) { return sum(tanh(x) * x); };
  const auto f = function(model);
  const Tensor x = transpose(normal({16, 32}));
  const auto slope = [&](const auto& g) {
    GradientTape tape;
    tape.watch(x);
    return tape.gradient(g(x), x);
  };
  EXPECT_EQ(slope(f).to_vector<float>(), slope(model).to_vector<float>());
}

TEST(Strided, WhatIsGivenIsUsedOnlyIfItIsWhole) {
  const auto f = function([](const Tensor& x) { return x * 2; });
  Tensor a = ones({4, 8});
  Tensor x = transpose(a);
  EXPECT_THROW(static_cast<void>(f(donate(x))), DonationError);
  EXPECT_EQ(x.to_vector<float>()[0], 1);
  a = Tensor();
  EXPECT_EQ(f(std::move(x)).to_vector<float>()[5], 2);
}

}  // namespace
}  // namespace tenure
