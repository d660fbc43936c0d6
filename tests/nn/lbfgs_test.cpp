#include <gtest/gtest.h>

#include <cmath>
#include <stdexcept>

#include "tenure/tenure.h"
#include "tests/support/expect.h"

namespace tenure {
namespace {

using test::expect_elements;
using test::expect_throws;

/// Rosenbrock's valley, whose lowest place is (1, 1).
Tensor valley(const Variable& w) {
  const Tensor x = w.value()[0];
  const Tensor y = w.value()[1];
  return square(1.0 - x) + 100.0 * square(y - square(x));
}

TEST(LineSearch, FulfilsTheStrongWolfeConditions) {
  const auto check = [](auto f, auto slope, double first) {
    int evaluations = 0;
    const auto at = [&](double t) -> nn::LinePoint {
      ++evaluations;
      return {.step = t, .value = f(t), .slope = slope(t)};
    };
    const nn::LinePoint start = at(0);
    const nn::LinePoint found = nn::search_line(at, start, first);
    EXPECT_LE(found.value, start.value + 1e-4 * found.step * start.slope);
    EXPECT_LE(std::abs(found.slope), 0.9 * std::abs(start.slope));
    EXPECT_GT(found.step, 0);
    EXPECT_LE(evaluations, 15);
  };
  for (const double first : {1e-3, 1.0, 1e3}) {
    check([](double t) { return (t - 2) * (t - 2); }, [](double t) { return 2 * (t - 2); }, first);
    check([](double t) { return std::exp(t) - 5 * t; }, [](double t) { return std::exp(t) - 5; },
          first);  // no number far out
    check([](double t) { return -t / (t * t + 2); },
          [](double t) { return (t * t - 2) / ((t * t + 2) * (t * t + 2)); }, first);
  }
}

TEST(Lbfgs, FindsTheEndOfAValley) {
  const Variable w(tensor({-1.2, 1.0}, float64), "w");
  nn::Lbfgs lbfgs({{"w", w}}, {.iterations = 100});
  const nn::Lbfgs::Progress progress = lbfgs.step([&] { return valley(w); });
  EXPECT_TRUE(progress.converged);
  EXPECT_NEAR(progress.before, 24.2, 1e-12);
  EXPECT_LT(progress.after, 1e-12);
  EXPECT_LT(progress.evaluations, 80);
  const auto found = w.value().to_vector<double>();
  EXPECT_NEAR(found[0], 1, 1e-5);
  EXPECT_NEAR(found[1], 1, 1e-5);
}

TEST(Lbfgs, GoesOnFromWhatItRemembers) {
  // Steps of one iteration each are one step of many.
  const Variable at_once(tensor({-1.2, 1.0}, float64), "a");
  const Variable in_parts(tensor({-1.2, 1.0}, float64), "b");
  nn::Lbfgs one({{"w", at_once}}, {.iterations = 15, .history = 3});
  nn::Lbfgs many({{"w", in_parts}}, {.iterations = 1, .history = 3});
  one.step([&] { return valley(at_once); });
  for (int i = 0; i < 15; ++i) many.step([&] { return valley(in_parts); });
  EXPECT_EQ(at_once.value().to_vector<double>(), in_parts.value().to_vector<double>());
}

TEST(Lbfgs, TrainsAModelOfSeveralParameters) {
  seed(3);
  const nn::Sequential model(nn::Dense(2, 8), nn::Tanh(), nn::Dense(8, 1));
  const Tensor x = uniform({64, 2}, -1, 1);
  const Tensor target = sum(square(x), 1, true);
  nn::Lbfgs lbfgs(model.trainable(), {.iterations = 60});
  const auto loss = function([&](const Tensor& input) { return mse_loss(model(input), target); });
  const nn::Lbfgs::Progress progress = lbfgs.step([&] { return loss(x); });
  EXPECT_LT(progress.after, 2e-3);
  EXPECT_LT(progress.after, progress.before / 50);
}

TEST(Lbfgs, CountsItsMemoryAsOptimizer) {
  const Variable w(zeros({1000}), "w");
  const auto bytes = [] { return memory()[Category::optimizer].bytes; };
  const std::int64_t before = bytes();
  nn::Lbfgs lbfgs({{"w", w}}, {.history = 5});
  EXPECT_GE(bytes() - before, 5 * 2 * 4000);
  EXPECT_LT(bytes() - before, 5 * 2 * 4000 + 1000);
  const std::int64_t all = memory().bytes;
  lbfgs.step([&] { return sum(square(w - 1.0)) + sum(exp(w)); });
  EXPECT_EQ(memory().bytes, all) << "nothing but its state stays";
  EXPECT_EQ(lbfgs.dispose(), 5 * 2 * 4000 + 8);
  EXPECT_EQ(bytes(), before);
}

TEST(Lbfgs, ChangesNothingIfTheLossThrows) {
  const Variable w(tensor({-1.2, 1.0}), "w");
  nn::Lbfgs lbfgs({{"w", w}}, {.iterations = 50});
  int calls = 0;
  const auto failing = [&] {
    if (++calls == 9) throw std::runtime_error("no");
    return valley(w);
  };
  EXPECT_THROW(lbfgs.step(failing), std::runtime_error);
  expect_elements<float>(w.value(), {2}, {-1.2F, 1.0F});
  EXPECT_EQ(lbfgs.state()[0].variable.value().item<std::int64_t>(), 0);
  EXPECT_THROW(lbfgs.step([&] { return log(sum(w.value()) - 5); }), ValueError);
  expect_elements<float>(w.value(), {2}, {-1.2F, 1.0F});
}

TEST(Lbfgs, RefusesWhatIsNoProblemForIt) {
  const Variable w(ones({2}), "w");
  const Variable half(ones({2}, float16), "half");
  EXPECT_THROW(nn::Lbfgs({}), ValueError);
  expect_throws<ValueError>([&] { nn::Lbfgs({{"w", w}, {"v", w}}); }, {"Lbfgs", "given twice"});
  expect_throws<DTypeError>([&] { nn::Lbfgs({{"half", half}}); }, {"half", "float16"});
  EXPECT_THROW(nn::Lbfgs({{"w", w}}, {.history = 0}), ValueError);
  EXPECT_THROW(nn::Lbfgs({{"w", w}}, {.rate = NAN}), ValueError);
  nn::Lbfgs lbfgs({{"w", w}});
  EXPECT_THROW(lbfgs.step({}), ValueError);
  EXPECT_THROW(lbfgs.step([&] { return w.value(); }), ShapeError);
  const auto f = function([&](const Tensor& x) {
    lbfgs.step([&] { return sum(w.value()); });
    return x;
  });
  EXPECT_THROW(f(ones({1})), GraphError);
}

}  // namespace
}  // namespace tenure
