#include <gtest/gtest.h>

#include <cstring>
#include <functional>

#include "tenure/tenure.h"
#include "tests/support/placeholders.h"
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
    const auto [symbols, feeds] = test::Placeholders(graph, inputs);
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

/// Sums take elements in the order in which they lie, so a call that changes no element of what is
/// strided still changes something.
TEST(Strided, CallsThatChangeNoElementLeaveSumsAsTheyAre) {
  using Function = std::function<Tensor(const Tensor&)>;
  const std::vector<Function> functions{[](const Tensor& x) { return x * 1.0; },
                                        [](const Tensor& x) { return -(-x); },
                                        [](const Tensor& x) { return x - 0.0; },
                                        [](const Tensor& x) { return cast(x, float32); },
                                        [](const Tensor& x) { return stop_gradient(x); },
                                        [](const Tensor& x) { return transpose(x, 0, 2) * 1.0; },
                                        [](const Tensor& x) {
                                          return reshape(transpose(x, 0, 2), {-1, 3}) / 1.0;
                                        },
                                        [](const Tensor& x) {
                                          return broadcast_to(slice(x, 0, 0, 1), {5, 19, 33}) * 1.0;
                                        },
                                        [](const Tensor& x) { return cast(flip(x * 2), float32); }};
  const Tensor x = normal({16, 19, 33});
  const Tensor moved = transpose(contiguous(transpose(x, 0, 2)), 0, 2);
  const std::vector<Tensor> inputs{x, moved, flip(x), slice(x, 2, 0, 33, 2) * 1,
                                   slice(repeat(x, 2, 0), 0, std::nullopt, std::nullopt, 2)};
  for (std::size_t i = 0; i < functions.size(); ++i) {
    for (std::size_t k = 0; k < inputs.size(); ++k) {
      if (k == 3 && (i == 6 || i == 7)) continue;  // of another size
      const auto f = [&](const Tensor& at) {
        const Tensor y = functions[i](at);
        return std::vector{sum(y), sum(y, 0), sum(y, -1), logsumexp(y, 0), var(y)};
      };
      const Tensor captured = inputs[k];
      const auto expected = f(inputs[k]);
      const auto got = function(f)(inputs[k]);
      const auto inside = function([&] { return f(captured); })();
      for (std::size_t o = 0; o < expected.size(); ++o) {
        EXPECT_EQ(got[o].to_vector<float>(), expected[o].to_vector<float>())
            << i << ' ' << k << ' ' << o;
        EXPECT_EQ(inside[o].to_vector<float>(), expected[o].to_vector<float>())
            << i << ' ' << k << ' ' << o;
      }
    }
  }
}

}  // namespace
}  // namespace tenure
