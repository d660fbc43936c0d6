#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "tenure/tenure.h"
#include "tests/autograd/near.h"

// Gradients in traced functions, and through them.

namespace tenure {
namespace {

using test::expect_near;

Tensor loss(const Tensor& x, const Tensor& w) { return mean(square(tanh(matmul(x, w)) - 0.5)); }

TEST(GradientModes, InsideAFunction) {
  const Variable w(normal({4, 3}), "w");
  const Tensor x = normal({8, 4});
  const auto eager = [&](const Tensor& input) {
    GradientTape tape;
    const Tensor y = loss(input, w.value());
    return tape.gradient(y, w);
  };
  const auto traced = function(eager);
  expect_near(traced(x), eager(x), 1e-6);
  expect_near(traced(x), eager(x), 1e-6);
  EXPECT_EQ(traced.traces().size(), 1u);
}

TEST(GradientModes, AStepInOneFunction) {
  const Variable w(ones({2}), "w");
  const auto step = function([&](const Tensor& x) {
    GradientTape tape;
    const Tensor y = sum(square(w.value() * x));
    const Tensor dw = tape.gradient(y, w);
    w.assign_sub(dw * 0.1);
    return y;
  });
  const Tensor x = tensor({1.0, 2.0});
  EXPECT_FLOAT_EQ(step(x).item<float>(), 5);
  EXPECT_FLOAT_EQ(w.value().to_vector<float>()[0], 0.8F);
  EXPECT_FLOAT_EQ(w.value().to_vector<float>()[1], 0.2F);
}

TEST(GradientModes, ThroughAFunction) {
  const Variable w(normal({4, 3}), "w");
  const Tensor x = normal({8, 4});
  const auto f =
      function([&](const Tensor& input) { return loss(input, w.value()); }, {.name = "loss"});
  const auto both = [&](const auto& g) {
    GradientTape tape;
    tape.watch(x);
    const Tensor y = g(x) * 2;
    const SavedReport report = tape.saved();
    return std::pair(tape.gradient(y, x, {.unconnected = Unconnected::zero}), report);
  };
  const auto [by_function, report] = both(f);
  const auto [by_ops, other] = both([&](const Tensor& input) { return loss(input, w.value()); });
  expect_near(by_function, by_ops, 1e-5);
  ASSERT_FALSE(report.tensors.empty());
  EXPECT_EQ(report.tensors[0].op, "function \"loss\"");

  GradientTape tape;
  const Tensor y = f(x);
  const Tensor dw = tape.gradient(y, w);
  GradientTape plain;
  const Tensor z = loss(x, w.value());
  expect_near(dw, plain.gradient(z, w), 1e-5);
}

TEST(GradientModes, OfHigherOrderThroughAFunction) {
  const Tensor x = tensor({1.0, 2.0}, DType::float64);
  const auto cube = function([](const Tensor& v) { return v * v * v; });
  GradientTape outer;
  outer.watch(x);
  GradientTape inner;
  inner.watch(x);
  const Tensor y = cube(x);
  const Tensor first = inner.gradient(y, x);
  const Tensor second = outer.gradient(first, x);
  EXPECT_EQ(first.to_vector<double>(), (std::vector<double>{3, 12}));
  EXPECT_EQ(second.to_vector<double>(), (std::vector<double>{6, 12}));
}

TEST(GradientModes, AFunctionThatNobodyWatchesSavesNothing) {
  const auto f = function([](const Tensor& v) { return exp(v); });
  const Tensor x = ones({4});
  const Tensor other = ones({4});
  GradientTape tape;
  tape.watch(other);
  const Tensor y = f(x);
  EXPECT_TRUE(tape.saved().tensors.empty());
  EXPECT_THROW(tape.gradient(y, other), GradientError);
}

TEST(GradientModes, DonationsAreRefusedLoudly) {
  const auto f = function([](const Tensor& v) { return v * 2; });
  Tensor x = ones({4});
  GradientTape tape;
  tape.watch(x);
  EXPECT_THROW(f(donate(x)), DonationError);
  EXPECT_EQ(x.size(), 4);
}

TEST(GradientModes, TermsOfAFunctionHoldUnderATape) {
  const auto small = function([](const Tensor& v) { return tanh(matmul(v, v)); }, {.budget = 100});
  const auto checked = function([](const Tensor& v) { return log(v); }, {.check_numbers = true});
  const Tensor x = full({16, 16}, -1.0);
  EXPECT_THROW(small(x), planner::BudgetError);
  EXPECT_THROW(checked(x), NumberError);
  GradientTape tape;
  tape.watch(x);
  EXPECT_THROW(small(x), planner::BudgetError);
  EXPECT_THROW(checked(x), NumberError);
}

TEST(GradientModes, NestedTapesRefuseWhatOneDoes) {
  Tensor x = ones({4});
  const auto twice = function([](const Tensor& v) { return v * 2; });
  std::function<Tensor(const Tensor&)> again;
  const auto endless = function([&](const Tensor& v) { return again(v); });
  again = [&](const Tensor& v) { return endless(v); };
  GradientTape outer;
  outer.watch(x);
  GradientTape inner;
  inner.watch(x);
  EXPECT_THROW(twice(donate(x)), DonationError);
  EXPECT_EQ(x.size(), 4);
  EXPECT_THROW(endless(x), GraphError);
}

}  // namespace
}  // namespace tenure
