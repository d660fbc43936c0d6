#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <stdexcept>

#include "tenure/tenure.h"
#include "tests/support/share.h"

// What waits for the sizes that a run knows, and what becomes of it then.

namespace tenure {
namespace {

constexpr std::int64_t u = kUnknown;

TEST(UnknownSizes, FunctionsThatWaitMayUseTheGraph) {
  Graph graph;
  const Tensor x = graph.placeholder("x", float32, {u});
  const Tensor y = graph.placeholder("y", float32, {u});
  EXPECT_THROW(with_sizes(x, [&](const Tensor& known) { return (y * 2) + known; }), SymbolError);
  EXPECT_THROW(with_sizes(x, [&](const Tensor&) { return y * 2; }), SymbolError);
  const Tensor z = with_sizes(x, [&](const Tensor& known) {
    if (known.dim(0) == 1000) return known + y;  // no size that is tried
    return known * static_cast<double>(graph.nodes() > 0);
  });
  Session session(graph);
  EXPECT_EQ(session.run(z, {{x, ones({2})}}).to_vector<float>(), (std::vector<float>{1, 1}));
  EXPECT_THROW(session.run(z, {{x, ones({1000})}}), SymbolError);
}

TEST(UnknownSizes, FunctionsThatWaitMayRefuseSizesByErrorsOfTheirOwn) {
  Graph graph;
  const Tensor x = graph.placeholder("x", float32, {u});
  const auto at_least = [](std::int64_t n) {
    return [n](const Tensor& known) {
      if (known.dim(0) < n) throw std::invalid_argument("too few");
      return known * 2;
    };
  };
  const Tensor y = with_sizes(x, at_least(4));
  Session session(graph);
  EXPECT_EQ(session.run(y, {{x, ones({4})}}).shape(), Shape{4});
  EXPECT_THROW(session.run(y, {{x, ones({3})}}), std::invalid_argument);
  EXPECT_THROW(with_sizes(x, at_least(1'000'000)), std::invalid_argument);
}

TEST(UnknownSizes, WhatNobodyReadsDrawsAsManyAsAnEagerCall) {
  const auto model = [](const Tensor& x) {
    static_cast<void>(dropout(x, 0.5));
    static_cast<void>(
        with_sizes(x, [](const Tensor& known) { return uniform(known.shape()) + known; }));
    return dropout(x, 0.5);
  };
  const auto f = function(model, {.batched = {0}});
  for (const std::int64_t n : {5, 64}) {
    const Tensor x = ones({n, 3});
    seed(3);
    const Tensor expected = model(x);
    const Tensor next = uniform({2});
    seed(3);
    EXPECT_EQ(f(x).to_vector<float>(), expected.to_vector<float>());
    EXPECT_EQ(uniform({2}).to_vector<float>(), next.to_vector<float>());
  }
}

TEST(UnknownSizes, EqualCallsAreOneNode) {
  Graph graph;
  const Tensor x = graph.placeholder("x", float32, {u, 3});
  const auto build = [&] {
    GradientTape tape;
    tape.watch(x);
    const Tensor y = sum(tanh(x + 1) * ones_like(x)) / size(x);
    return tape.gradient(y, x);
  };
  static_cast<void>(build());
  const auto nodes = graph.nodes();
  for (int i = 0; i < 5; ++i) static_cast<void>(build());
  EXPECT_EQ(graph.nodes(), nodes);
}

TEST(UnknownSizes, DropoutDrawsAsManyAsAnEagerCall) {
  Graph graph;
  const Tensor x = graph.placeholder("x", float32, {u, 4});
  GradientTape tape;
  tape.watch(x);
  const Tensor y = dropout(x, 0.5);
  const std::vector<Tensor> fetches{y, tape.gradient(sum(y), x)};
  Session session(graph);
  const Tensor x0 = ones({6, 4});
  seed(3);
  const Tensor expected = dropout(x0, 0.5);
  const Tensor next = uniform({2});
  seed(3);
  const auto got = session.run(fetches, {{x, x0}});
  EXPECT_EQ(got[0].to_vector<float>(), expected.to_vector<float>());
  EXPECT_EQ(got[1].to_vector<float>(), expected.to_vector<float>());
  EXPECT_EQ(uniform({2}).to_vector<float>(), next.to_vector<float>());
}

TEST(UnknownSizes, NothingIsHeldForItsSizesAlone) {
  const auto f = function([](const Tensor& x) { return sum(tanh(x * 2)); }, {.batched = {0}});
  const Tensor x = ones({1000});
  GradientTape tape;
  tape.watch(x);
  const Tensor y = f(x);
  // What tanh reads, and nothing for the shapes of x and of x * 2.
  EXPECT_EQ(tape.saved().bytes, 4000);
  EXPECT_EQ(tape.gradient(y, x).shape(), Shape{1000});
}

TEST(UnknownSizes, InBranchesAndLoops) {
  Graph graph;
  const Tensor x = graph.placeholder("x", DType::float64, {u});
  const auto f = [](const Tensor& at) {
    const auto first = [](const Tensor& t) { return sum(slice(t, 0, 0, 3)) / size(t); };
    const auto second = [](const Tensor& t) { return sum(t * t); };
    const Tensor branch = cond(sum(at) > 0, first, second, at);
    const auto body = [](const Tensor& total, const Tensor& element) {
      const Tensor next = total * element + 1;
      return std::pair{next, next};
    };
    return branch + scan(body, branch, at).first;
  };
  const auto slope = [&](const Tensor& at) {
    GradientTape tape;
    tape.watch(at);
    return tape.gradient(f(at), at);
  };
  const Tensor dx = slope(x);
  Session session(graph);
  for (const double sign : {1.0, -1.0}) {
    for (const std::int64_t n : {2, 5}) {
      const Tensor x0 = full({n}, sign * 0.5, DType::float64);
      const Tensor got = session.run(dx, {{x, x0}});
      EXPECT_EQ(got.to_vector<double>(), slope(x0).to_vector<double>());
    }
  }
}

/// A random program of a vector of any length.
Tensor random_program(const Tensor& x, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<Tensor> values{x, x * 0.5 + 1};
  const auto pick = [&]() -> const Tensor& { return values[random() % values.size()]; };
  for (int i = 0; i < 6; ++i) {
    const auto number = static_cast<std::int64_t>(random() % 6);
    const Tensor& a = pick();
    switch (random() % 9) {
      case 0:
        values.push_back(slice(a, 0, 0, number));
        break;
      case 1:
        values.push_back(slice(a, 0, -number - 1));
        break;
      case 2:
        values.push_back(tanh(a) * mean(a));
        break;
      case 3:
        values.push_back(pad(a, {{number, 1}}));
        break;
      case 4:
        values.push_back(concat({a, pick()}));
        break;
      case 5:
        values.push_back(cumsum(a, 0) / size(a));
        break;
      case 6:
        values.push_back(a + pick());
        break;
      case 7:
        values.push_back(flip(a) - var(a));
        break;
      default:
        values.push_back(index(a, {Slice{{}, {}, 2}}));
        break;
    }
  }
  Tensor total = sum(values[0]);  // of all, for a graph does not run what nobody asks for
  for (const Tensor& value : values) total = total + sum(value * value);
  return total;
}

TEST(UnknownSizes, RandomProgramsAreLikeEagerOnes) {
  int compared = 0;
  int refused = 0;
  for (std::uint64_t seed = 0; seed < static_cast<std::uint64_t>(test::rounds(150)); ++seed) {
    SCOPED_TRACE(seed);
    const auto slope = [&](const Tensor& x) {
      GradientTape tape;
      tape.watch(x);
      const Tensor y = random_program(x, seed);
      return std::vector{y, tape.gradient(y, x)};
    };
    Graph graph;
    const Tensor x = graph.placeholder("x", DType::float64, {u});
    std::vector<Tensor> symbolic;
    bool is_refused = false;
    try {
      symbolic = slope(x);
    } catch (const Error&) {
      is_refused = true;  // then no size may do
    }
    Session session(graph);
    for (const std::int64_t n : {1, 2, 3, 5, 8}) {
      const Tensor x0 = uniform({n}, 0.5, 1.5, DType::float64);
      std::vector<Tensor> expected;
      try {
        expected = slope(x0);
      } catch (const Error&) {
        ++refused;
        if (!is_refused) {
          EXPECT_THROW(session.run(symbolic, {{x, x0}}), Error);
        }
        continue;
      }
      ASSERT_FALSE(is_refused) << n;
      const auto got = session.run(symbolic, {{x, x0}});
      for (std::size_t k = 0; k < 2; ++k) {
        const auto a = got[k].to_vector<double>();
        const auto b = expected[k].to_vector<double>();
        ASSERT_EQ(a.size(), b.size());
        for (std::size_t i = 0; i < a.size(); ++i) {
          if (std::isnan(a[i]) && std::isnan(b[i])) continue;
          ASSERT_NEAR(a[i], b[i], 1e-11 * (1 + std::abs(b[i]))) << n;
        }
      }
      ++compared;
    }
  }
  EXPECT_GT(compared, test::kSanitized ? 0 : 200);
  EXPECT_GT(refused, test::kSanitized ? -1 : 10);
}

}  // namespace
}  // namespace tenure
