#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>
#include <thread>
#include <vector>

#include "tenure/tenure.h"
#include "tests/support/threads.h"

namespace tenure {
namespace {

TEST(Random, SameSeedSameNumbersOnAnyNumberOfThreads) {
  constexpr std::int64_t n = 200'003;
  const auto draw = [] {
    Generator generator(42);
    return std::vector<std::vector<double>>{
        uniform({n}, -1, 2, float32, &generator).to_vector<double>(),
        uniform({n}, -1, 2, float64, &generator).to_vector<double>(),
        normal({n}, 1, 3, float32, &generator).to_vector<double>(),
        normal({n}, 1, 3, float64, &generator).to_vector<double>(),
        bernoulli({n}, 0.3, uint8, &generator).to_vector<double>(),
        randint(-5, 5, {n}, int32, &generator).to_vector<double>(),
        permutation(n, int64, &generator).to_vector<double>()};
  };
  std::vector<std::vector<double>> one;
  {
    const test::Threads threads(1);
    one = draw();
  }
  const test::Threads threads(2);
  EXPECT_TRUE(draw() == one);
}

TEST(Random, CallsDoNotOverlap) {
  Generator generator(7);
  const auto a = uniform({5}, 0, 1, float64, &generator).to_vector<double>();
  const auto b = uniform({5}, 0, 1, float64, &generator).to_vector<double>();
  EXPECT_NE(a, b);
  // Each call begins with a whole counter of two doubles: 5 numbers take 3 counters.
  EXPECT_EQ(generator.state(), (Generator::State{.seed = 7, .offset = 6}));
  generator.seed(7);
  const auto all = uniform({12}, 0, 1, float64, &generator).to_vector<double>();
  EXPECT_TRUE(std::equal(a.begin(), a.end(), all.begin()));
  EXPECT_TRUE(std::equal(b.begin(), b.end(), all.begin() + 6));
}

TEST(Random, StateGoesBack) {
  Generator generator(7);
  uniform({100}, 0, 1, float32, &generator);
  const Generator::State state = generator.state();
  const auto a = normal({9}, 0, 1, float32, &generator).to_vector<float>();
  generator.set_state(state);
  EXPECT_EQ(normal({9}, 0, 1, float32, &generator).to_vector<float>(), a);
}

TEST(Random, DefaultGeneratorIsSeeded) {
  seed(5);
  const auto a = uniform({4}).to_vector<float>();
  seed(6);
  EXPECT_NE(uniform({4}).to_vector<float>(), a);
  seed(5);
  EXPECT_EQ(uniform({4}).to_vector<float>(), a);
  Generator own(5);
  EXPECT_EQ(uniform({4}, 0, 1, float32, &own).to_vector<float>(), a);
}

TEST(Random, ThreadsShareAGenerator) {
  constexpr int kThreads = 4;
  constexpr int kCalls = 200;
  Generator generator(3);
  std::vector<std::vector<double>> drawn(kThreads);
  {
    std::vector<std::thread> threads;
    for (auto& mine : drawn) {
      threads.emplace_back([&] {
        for (int i = 0; i < kCalls; ++i) {
          mine.push_back(uniform({2}, 0, 1, float64, &generator).to_vector<double>()[0]);
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
  std::set<double> all;
  for (const auto& mine : drawn) all.insert(mine.begin(), mine.end());
  EXPECT_EQ(all.size(), static_cast<std::size_t>(kThreads * kCalls));
  EXPECT_EQ(generator.state().offset, static_cast<std::uint64_t>(kThreads * kCalls));
}

TEST(Random, HaveTheirTypesShapesAndRanges) {
  seed(1);
  const Tensor u = uniform({40, 50}, 2, 3);
  EXPECT_EQ(u.shape(), (Shape{40, 50}));
  EXPECT_EQ(u.dtype(), float32);
  for (const float v : u.to_vector<float>()) EXPECT_TRUE(v >= 2 && v < 3);
  const Tensor r = randint(-3, 3, {500});
  EXPECT_EQ(r.dtype(), int64);
  const auto values = r.to_vector<std::int64_t>();
  EXPECT_EQ(*std::min_element(values.begin(), values.end()), -3);
  EXPECT_EQ(*std::max_element(values.begin(), values.end()), 2);
  EXPECT_EQ(bernoulli({3}, 0.5).dtype(), boolean);
  EXPECT_EQ(bernoulli({3}, 1).to_vector<bool>(), (std::vector<bool>{true, true, true}));
  EXPECT_EQ(bernoulli({3}, 0, float32).to_vector<float>(), (std::vector<float>{0, 0, 0}));
  EXPECT_EQ(normal({}).shape(), Shape{});
  EXPECT_EQ(uniform({0, 3}).size(), 0);
  auto order = permutation(1000).to_vector<std::int64_t>();
  std::sort(order.begin(), order.end());
  std::vector<std::int64_t> expected(1000);
  std::iota(expected.begin(), expected.end(), 0);
  EXPECT_EQ(order, expected);
  EXPECT_EQ(permutation(0).size(), 0);
}

TEST(Random, NormalHasItsMoments) {
  seed(11);
  const auto values = normal({100'000}, 3, 2, float64).to_vector<double>();
  const double n = static_cast<double>(values.size());
  const double mean = std::accumulate(values.begin(), values.end(), 0.0) / n;
  double variance = 0;
  for (const double v : values) variance += (v - mean) * (v - mean) / n;
  EXPECT_NEAR(mean, 3, 0.03);
  EXPECT_NEAR(std::sqrt(variance), 2, 0.03);
}

TEST(Random, RefusesBadParameters) {
  EXPECT_THROW(uniform({2}, 1, 0), ValueError);
  EXPECT_THROW(uniform({2}, 0, 1, int32), DTypeError);
  EXPECT_THROW(uniform({-2}), ShapeError);
  EXPECT_THROW(normal({2}, 0, -1), ValueError);
  EXPECT_THROW(normal({2}, 0, 1, boolean), DTypeError);
  EXPECT_THROW(bernoulli({2}, 1.5), ValueError);
  EXPECT_THROW(randint(3, 3, {2}), ValueError);
  EXPECT_THROW(randint(0, 300, {2}, uint8), ValueError);
  EXPECT_THROW(randint(0, 3, {2}, float32), DTypeError);
  EXPECT_THROW(permutation(-1), ValueError);
  EXPECT_THROW(permutation(3, float32), DTypeError);
}

TEST(Random, KnowsWhereItWasMade) {
  const Tensor x = normal({2});
  EXPECT_EQ(x.created().line(), static_cast<unsigned>(__LINE__ - 1));
  EXPECT_EQ(x.op(), "normal");
}

}  // namespace
}  // namespace tenure
