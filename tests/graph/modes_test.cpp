#include <gtest/gtest.h>

#include <cstring>

#include "tenure/graph/function.h"
#include "tenure/graph/session.h"
#include "tenure/ops/creation.h"
#include "tenure/ops/elementwise.h"
#include "tenure/ops/reduce_ops.h"
#include "tests/support/random_program.h"
#include "tests/support/share.h"

// The same program gives the same bits in every mode, and takes what its plan says.

namespace tenure {
namespace {

void expect_same(const std::vector<Tensor>& got, const std::vector<Tensor>& expected,
                 const char* mode, int seed) {
  ASSERT_EQ(got.size(), expected.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    ASSERT_EQ(got[i].shape(), expected[i].shape()) << mode << " " << seed;
    const auto a = got[i].to_vector<float>();
    const auto b = expected[i].to_vector<float>();
    ASSERT_TRUE(a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0)
        << mode << " " << seed << "\n"
        << got[i] << "\n"
        << expected[i];
  }
}

TEST(Modes, AgreeOnRandomPrograms) {
  for (int seed = 0; seed < test::rounds(2000); ++seed) {
    const test::RandomProgram program(static_cast<std::uint64_t>(seed));
    const std::vector<Tensor> expected = program(program.inputs());

    Graph graph;
    std::vector<Tensor> symbols;
    std::vector<Feed> feeds;
    for (const Tensor& input : program.inputs()) {
      symbols.push_back(
          graph.placeholder(std::to_string(symbols.size()), input.dtype(), input.shape()));
      feeds.emplace_back(symbols.back(), input);
    }
    const std::vector<Tensor> fetches = program(symbols);
    Session session(graph);
    const Plan plan = session.plan(fetches, feeds);
    std::int64_t peak = 0;
    {
      const MemoryRegion region;
      const std::vector<Tensor> got = session.run(fetches, feeds);
      peak = region.peak_bytes();
      expect_same(got, expected, "session", seed);
    }
    ASSERT_EQ(peak, plan.peak) << seed;

    const auto f = function([&](const std::vector<Tensor>& x) { return program(x); });
    expect_same(f(program.inputs()), expected, "function", seed);

    std::vector<Tensor> gifts;
    for (const Tensor& input : program.inputs()) gifts.push_back(clone(input));
    const Plan giving = f.plan(donate(gifts));
    ASSERT_LE(giving.peak, plan.peak) << seed;
    const MemoryRegion region;
    const std::vector<Tensor> got = f(std::move(gifts));
    ASSERT_EQ(region.peak_bytes(), giving.peak) << seed;
    expect_same(got, expected, "donated", seed);
  }
}

/// A sum of one element is 0 for -0, so it changes something.
TEST(Modes, SumsKeepTheirSigns) {
  const auto f = [](const Tensor& x) {
    return std::vector{sum_like(x, x), sum(expand_dims(x, 0), 0)};
  };
  const Tensor x = tensor({-0.0, 1.0, -2.0});
  expect_same(function(f)(x), f(x), "function", 0);
}

/// Of several things that are wrong, the same one is told first in every mode.
TEST(Modes, RefuseWithTheSameErrors) {
  const Tensor numbers = ones({3}, int16);
  const Tensor other = ones({4});
  const auto choose = [](const Tensor& c, const Tensor& x) { return where(c, x, x); };
  const auto middle = [](const Tensor& c, const Tensor&) { return median(c, 5); };
  EXPECT_THROW(choose(numbers, other), DTypeError);
  EXPECT_THROW(function(choose)(numbers, other), DTypeError);
  EXPECT_THROW(middle(numbers, other), DTypeError);
  EXPECT_THROW(function(middle)(numbers, other), DTypeError);
}

}  // namespace
}  // namespace tenure
