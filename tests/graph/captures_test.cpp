#include <gtest/gtest.h>

#include <set>

#include "tenure/tenure.h"
#include "tests/support/put.h"
#include "tests/support/random_program.h"
#include "tests/support/share.h"

// What a callable captures is read when its function runs, whatever is done with it.

namespace tenure {
namespace {

using test::put;

TEST(Captures, OpsOnThemRunWithTheFunction) {
  const std::int64_t n = 1 << 20;
  const Tensor w = full({n}, 2.0);
  const auto f = function([&](const Tensor& x) { return x + square(w); });
  const MemoryRegion region;
  const Plan plan = f.plan(spec({n}));
  EXPECT_EQ(region.peak_bytes(), 0);
  EXPECT_EQ(plan.constants, 0);
  const Tensor x = ones({n});
  {
    const MemoryRegion run;
    const Tensor y = f(x);
    EXPECT_EQ(run.peak_bytes(), plan.peak);
    EXPECT_EQ(y.to_vector<float>()[5], 5);
  }
  put<float>(w, 5, 3);
  const Tensor later = f(x);
  EXPECT_EQ(later.to_vector<float>()[5], 10);
  EXPECT_EQ(later.to_vector<float>()[6], 5);
}

TEST(Captures, CountInTheBudget) {
  const Tensor w = full({64, 64}, 2.0);
  const auto model = [&](const Tensor& x) { return matmul(softmax(matmul(w, w), 1), x); };
  const Tensor x = ones({64, 64});
  EXPECT_THROW(static_cast<void>(function(model, {.budget = 33000})(x)), planner::BudgetError);
  const auto f = function(model);
  EXPECT_EQ(f(x).to_vector<float>(), model(x).to_vector<float>());
}

/// What is made of numbers inside stays with the trace, so it is part of what a call takes.
TEST(Captures, WhatIsMadeInsideCountsInThePlanAndTheBudget) {
  const std::vector<float> numbers(1 << 16, 1.f);
  constexpr std::int64_t kBytes = 4 << 16;
  const auto model = [&](const Tensor& x) { return x + tensor(numbers); };
  const Tensor x = ones({1 << 16});
  EXPECT_EQ(function(model).plan(x).constants, kBytes);
  const auto tight = function(model, {.budget = 3 * kBytes - 1});
  EXPECT_THROW(static_cast<void>(tight(x)), planner::BudgetError);
  const auto enough = function(model, {.budget = 3 * kBytes});
  EXPECT_EQ(enough(x).to_vector<float>()[0], 2);
  GradientTape tape;
  tape.watch(x);
  EXPECT_THROW(static_cast<void>(tight(x)), planner::BudgetError);
  EXPECT_EQ(tape.gradient(enough(x), x).to_vector<float>()[0], 1);
}

/// So is what the compiled program does not read: the trace has it until it goes.
TEST(Captures, WhatIsMadeInsideCountsWhoeverReadsIt) {
  const std::vector<double> numbers(1000, 1.0);
  const Tensor x = ones({1000});
  for (const bool is_read : {false, true}) {
    const auto model = [&](const Tensor& v) {
      const Tensor made = exp(tensor(numbers));
      return is_read ? v + cast(made, float32) : v + 1;
    };
    const MemoryRegion all;
    const auto f = function(model);
    const Plan plan = f.plan(x);
    EXPECT_GE(plan.constants, 8000) << is_read;
    EXPECT_EQ(all.left_bytes(), plan.constants) << is_read;
    const std::int64_t needed = static_cast<std::int64_t>(x.nbytes()) + plan.constants + plan.peak;
    const MemoryRegion call;
    static_cast<void>(function(model, {.budget = needed})(x));
    EXPECT_LE(call.peak_bytes(), plan.constants + plan.peak) << is_read;
    const auto tight = function(model, {.budget = needed - 1});
    EXPECT_THROW(static_cast<void>(tight(x)), planner::BudgetError) << is_read;
  }
}

TEST(Captures, DrawAnewInEveryRun) {
  const Tensor w = ones({64});
  const auto f = function([&](const Tensor& x) { return x + dropout(w, 0.5); });
  const Tensor x = zeros({64});
  EXPECT_NE(f(x).to_vector<float>(), f(x).to_vector<float>());
}

TEST(Captures, HaveNoResultsToReadWhileTheyAreTraced) {
  const Tensor w = full({}, 2.0);
  const auto reads = function([&](const Tensor& x) { return x * square(w).item<float>(); });
  try {
    static_cast<void>(reads(ones({2})));
    FAIL();
  } catch (const SymbolError& error) {
    EXPECT_NE(std::string(error.what()).find("square"), std::string::npos) << error.what();
  }
  // What has data has it: the number is what it was when the function was traced.
  const auto number = function([&](const Tensor& x) { return x * w.item<float>(); });
  EXPECT_EQ(number(ones({1})).item<float>(), 2);
  const auto sizes = function([&](const Tensor& x) { return nonzero(w * x); });
  EXPECT_THROW(static_cast<void>(sizes(ones({2}))), GraphError);
  const auto found = function([&](const Tensor& x) { return x + sum(nonzero(w)); });
  EXPECT_THROW(static_cast<void>(found(ones({2}))), GraphError);
}

TEST(Captures, AreWatchedAndDifferentiatedInTheTrace) {
  const Tensor w = tensor({1.0, 2.0}, DType::float64);
  const auto slope = [&](const Tensor& x) {
    GradientTape tape;
    tape.watch(w);
    const Tensor y = sum(square(w) * w * x);
    return tape.gradient(y, w);
  };
  const auto f = function(slope);
  const Tensor x = ones({2}, DType::float64);
  EXPECT_EQ(f(x).to_vector<double>(), slope(x).to_vector<double>());
  put<double>(w, 0, 3);
  EXPECT_EQ(f(x).to_vector<double>()[0], 27);
}

TEST(Captures, MadeFromNumbersBelongToTheTrace) {
  const MemoryRegion region;
  {
    const auto f = function([](const Tensor& x) { return x + square(tensor({1.0f, 2.0f})); });
    const Tensor x = ones({2});
    EXPECT_EQ(f(x).to_vector<float>(), (std::vector<float>{2, 5}));
    EXPECT_EQ(f(x).to_vector<float>(), (std::vector<float>{2, 5}));
  }
  EXPECT_EQ(region.left_bytes(), 0);
}

TEST(Captures, InBranchesAndLoops) {
  const Tensor w = full({2}, 2.0);
  const auto f = function([&](const Tensor& x) {
    const Tensor y = cond(
        sum(x) > 0, [&](const Tensor& t) { return t + square(w); },
        [&](const Tensor& t) { return t - exp(w); }, x);
    const auto [last, rows] =
        scan([&](const Tensor& c, const Tensor& t) { return std::pair(c + t * sum(square(w)), c); },
             zeros({}), y);
    return last + rows;
  });
  const Tensor x = ones({2});
  const auto before = f(x).to_vector<float>();
  EXPECT_EQ(before[0], 80);
  put<float>(w, 0, 3);
  EXPECT_EQ(f(x).to_vector<float>()[0], (10.f + 5.f) * 13.f);
}

TEST(Captures, OfWhatIsAppliedToAGraphAreItsConstants) {
  const Tensor w = full({2}, 2.0);
  const auto f = function([&](const Tensor& x) { return x + square(w) + dropout(w, 0.5); });
  Graph graph;
  const Tensor x = graph.placeholder("x", float32, {2});
  const Tensor y = f(x);
  EXPECT_EQ(graph.bytes(), 8);
  put<float>(w, 0, 9);
  Session session(graph);
  std::set<float> seen;
  for (int i = 0; i < 64; ++i) {
    seen.insert(session.run(y, {{x, zeros({2})}}).to_vector<float>()[0]);
  }
  EXPECT_EQ(seen, (std::set<float>{4, 8})) << "of 2 squared, with and without what was dropped";
}

/// Random programs whose inputs are all captured: they follow what is written to them.
TEST(Captures, FollowOnRandomPrograms) {
  for (int seed = 0; seed < test::rounds(400); ++seed) {
    const test::RandomProgram program(static_cast<std::uint64_t>(seed));
    std::vector<Tensor> captured;
    for (const Tensor& input : program.inputs()) captured.push_back(clone(input));
    const auto f = function([&](const Tensor& x) {
      std::vector<Tensor> results = program(captured);
      results[0] = results[0] + x;
      return results;
    });
    const Tensor zero = zeros({});
    const MemoryRegion region;
    const Plan plan = f.plan(zero);
    ASSERT_EQ(region.left_bytes(), plan.constants) << seed;
    for (int round = 0; round < 2; ++round) {
      std::vector<Tensor> expected = program(captured);
      expected[0] = expected[0] + zero;
      const MemoryRegion run;
      const std::vector<Tensor> got = f(zero);
      ASSERT_EQ(run.peak_bytes(), plan.peak) << seed;
      for (std::size_t i = 0; i < got.size(); ++i) {
        ASSERT_EQ(got[i].to_vector<float>(), expected[i].to_vector<float>()) << seed;
      }
      for (const Tensor& tensor : captured) {
        const std::vector<float> now = tensor.to_vector<float>();
        for (std::size_t i = 0; i < now.size(); ++i) {
          put<float>(tensor, static_cast<std::int64_t>(i), 1 - now[i]);
        }
      }
    }
  }
}

TEST(Draws, OfOpsThatNobodyReadsCount) {
  const auto model = [](const Tensor& x) {
    const Tensor unused = uniform({7});
    const Tensor dropped = dropout(x, 0.25);
    return x + uniform({4}) + normal({4});
  };
  const auto f = function(model);
  const auto in_a_body =
      function([&](const Tensor& x) { return cond(sum(x) > -1, model, model, x); });
  const Tensor x = ones({4});
  for (const int number : {1, 2}) {
    seed(static_cast<std::uint64_t>(number));
    const auto first = model(x).to_vector<float>();
    const auto second = model(x).to_vector<float>();
    const auto state = default_generator().state().offset;
    seed(static_cast<std::uint64_t>(number));
    EXPECT_EQ(f(x).to_vector<float>(), first);
    EXPECT_EQ(f(x).to_vector<float>(), second);
    EXPECT_EQ(default_generator().state().offset, state);
    seed(static_cast<std::uint64_t>(number));
    EXPECT_EQ(in_a_body(x).to_vector<float>(), first);
  }
}

}  // namespace
}  // namespace tenure
