#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <vector>

#include "tenure/tenure.h"
#include "tests/support/expect.h"
#include "tests/support/waves.h"

// What optimizers do, to the number: PyTorch's conventions. Where values stand here, they are those
// of libtorch 1.13.1 in float64 for the same gradients; else the formulas are written out again.

namespace tenure {
namespace {

using test::expect_throws;
using test::expect_waves;
using test::waves;

Tensor gradient_of_step(int step) {
  return mul(waves({4}, 1.0 + step * 0.7), step == 1 ? 0.1 : 1.0);
}

nn::NamedVariable wave_parameter(const char* name = "w") {
  return {name, Variable(waves({4}, 0.25), name)};
}

/// The rate is a float32: so many digits are left.
void expect_weights(const Variable& w, const std::vector<double>& expected,
                    Site site = Site::current()) {
  const ::testing::ScopedTrace trace(site.file_name(), static_cast<int>(site.line()), "weights");
  const std::vector<double> values = w.value().to_vector<double>();
  ASSERT_EQ(values.size(), expected.size());
  for (std::size_t i = 0; i < values.size(); ++i) EXPECT_NEAR(values[i], expected[i], 1e-7);
}

/// Three steps with a rate of 0.1.
template <class Optimizer, class Options>
void expect_steps(const Options& options, const std::vector<double>& expected,
                  Site site = Site::current()) {
  const nn::NamedVariable w = wave_parameter();
  Optimizer optimizer({w}, 0.1, options);
  for (int step = 0; step < 3; ++step) optimizer.apply({gradient_of_step(step)});
  expect_weights(w.variable, expected, site);
}

TEST(OptimizerConventions, Amsgrad) {
  expect_steps<nn::Adam>(AdamOptions{.amsgrad = true},
                         {-0.0131712655, 0.82533238, 0.552554515, -0.620081994});
  expect_steps<nn::Adam>(AdamOptions{.weight_decay = 0.25, .amsgrad = true},
                         {-0.0161869179, 0.775826432, 0.532360735, -0.595372687});
  expect_steps<nn::AdamW>(AdamOptions{.weight_decay = 0.25, .amsgrad = true},
                          {-0.0244475842, 0.758854585, 0.524573032, -0.564934761});
}

TEST(OptimizerConventions, SgdDoesNotDampenTheFirstGradient) {
  expect_steps<nn::Sgd>(SgdOptions{.momentum = 0.9, .dampening = 0.25},
                        {-0.0454256397, 0.835424402, 0.492375738, -0.572004536});
  expect_steps<nn::Sgd>(SgdOptions{.momentum = 0.5, .dampening = 0.5, .weight_decay = 0.25},
                        {0.0438545738, 0.823618148, 0.396779206, -0.611342202});
}

TEST(OptimizerConventions, RmspropWithMomentumAndCentered) {
  expect_steps<nn::Rmsprop>(RmspropOptions{.alpha = 0.9, .centered = true},
                            {-0.361862801, 0.855849556, 1.01457275, -0.496374141});
  expect_steps<nn::Rmsprop>(RmspropOptions{.alpha = 0.9, .momentum = 0.9},
                            {-0.893230881, 0.326746611, 1.56358473, 0.0455963002});
  expect_steps<nn::Rmsprop>(
      RmspropOptions{.alpha = 0.9, .weight_decay = 0.25, .momentum = 0.9, .centered = true},
      {-0.914812812, 0.118462133, 1.39199714, 0.1709661});
}

/// What a formula for one element, its two states, its gradient and the step makes in eight steps.
using Element = std::function<void(double& w, double& a, double& b, double g, int step)>;
template <class Optimizer, class Options>
void expect_formula(const Options& options, const Element& change, Site site = Site::current()) {
  const nn::NamedVariable w = wave_parameter();
  Optimizer optimizer({w}, 0.1, options);
  std::vector<double> expected = w.variable.value().template to_vector<double>();
  std::vector<double> a(4), b(4);
  for (int step = 0; step < 8; ++step) {
    const std::vector<double> g = gradient_of_step(step).to_vector<double>();
    optimizer.apply({gradient_of_step(step)});
    for (std::size_t i = 0; i < 4; ++i) change(expected[i], a[i], b[i], g[i], step + 1);
  }
  expect_weights(w.variable, expected, site);
}

constexpr double kRate = 0.1f;  // as the optimizer has it

TEST(OptimizerConventions, Adamax) {
  const auto change = [](double& w, double& mean, double& largest, double g, int step) {
    g += 0.25 * w;
    mean = 0.9 * mean + 0.1 * g;
    largest = std::max(0.999 * largest, std::abs(g) + 1e-8);
    w -= kRate / (1 - std::pow(0.9, step)) * mean / largest;
  };
  expect_formula<nn::Adamax>(nn::AdamaxOptions{.weight_decay = 0.25}, change);
}

TEST(OptimizerConventions, Nadam) {
  const auto momentum = [](int step) { return 0.9 * (1 - 0.5 * std::pow(0.96, step * 4e-3)); };
  const auto change = [&](double& w, double& mean, double& square, double g, int step) {
    g += 0.25 * w;
    mean = 0.9 * mean + 0.1 * g;
    square = 0.999 * square + 0.001 * g * g;
    double product = 1;
    for (int i = 1; i <= step; ++i) product *= momentum(i);
    const double root = std::sqrt(square / (1 - std::pow(0.999, step))) + 1e-8;
    const double next = momentum(step + 1);
    w -= kRate * (1 - momentum(step)) / (1 - product) * g / root;
    w -= kRate * next / (1 - product * next) * mean / root;
  };
  expect_formula<nn::Nadam>(nn::NadamOptions{.weight_decay = 0.25}, change);
}

TEST(OptimizerConventions, Radam) {
  const auto change = [](double& w, double& mean, double& square, double g, int step) {
    g += 0.25 * w;
    mean = 0.9 * mean + 0.1 * g;
    square = 0.999 * square + 0.001 * g * g;
    const double corrected = mean / (1 - std::pow(0.9, step));
    const double rest = 1 - std::pow(0.999, step);
    const double most = 2 / (1 - 0.999) - 1;
    const double terms = most - 2 * step * std::pow(0.999, step) / rest;
    double by = 1;
    if (terms > 5) {
      by = std::sqrt((terms - 4) * (terms - 2) * most / ((most - 4) * (most - 2) * terms)) *
           std::sqrt(rest) / (std::sqrt(square) + 1e-8);
    }
    w -= kRate * corrected * by;
  };
  expect_formula<nn::Radam>(nn::RadamOptions{.weight_decay = 0.25}, change);
}

TEST(OptimizerConventions, NewOnesGoDownInEveryType) {
  const auto check = [](auto make) {
    for (const DType dtype : {DType::float32, DType::float64, DType::bfloat16}) {
      const nn::NamedVariable w{"w", Variable(full({3}, 1.0, dtype), "w")};
      auto optimizer = make(std::vector{w});
      for (int i = 0; i < 40; ++i) optimizer.apply({mul(w.variable.value(), 2.0)});
      const double value = cast(w.variable.value(), DType::float64).to_vector<double>()[0];
      EXPECT_LT(std::abs(value), 0.9) << optimizer.state()[0].name << ' ' << name_of(dtype);
    }
  };
  using Parameters = std::vector<nn::NamedVariable>;
  check([](Parameters p) { return nn::Adam(p, 0.05, {.amsgrad = true}); });
  check([](Parameters p) { return nn::Adamax(p, 0.05); });
  check([](Parameters p) { return nn::Nadam(p, 0.05); });
  check([](Parameters p) { return nn::Radam(p, 0.05); });
  check([](Parameters p) { return nn::Rmsprop(p, 0.01, {.momentum = 0.5, .centered = true}); });
}

TEST(ParameterGroups, SomeParametersAreTrainedOtherwise) {
  const nn::NamedVariable a = wave_parameter("a");
  const nn::NamedVariable b = wave_parameter("b");
  const nn::NamedVariable alone_a = wave_parameter("a");
  const nn::NamedVariable alone_b = wave_parameter("b");
  nn::AdamW both({a, b}, 0.1, {.weight_decay = 0.25});
  both.set_options({b}, {.beta1 = 0.5, .weight_decay = 0}, 0.5);
  nn::AdamW first({alone_a}, 0.1, {.weight_decay = 0.25});
  nn::AdamW second({alone_b}, 0.05, {.beta1 = 0.5, .weight_decay = 0});
  for (int step = 0; step < 3; ++step) {
    both.apply({gradient_of_step(step), gradient_of_step(step)});
    first.apply({gradient_of_step(step)});
    second.apply({gradient_of_step(step)});
  }
  expect_weights(a.variable, alone_a.variable.value().to_vector<double>());
  expect_weights(b.variable, alone_b.variable.value().to_vector<double>());
  both.set_learning_rate(0);
  const std::vector<double> before = b.variable.value().to_vector<double>();
  both.apply({gradient_of_step(0), gradient_of_step(0)});
  EXPECT_EQ(b.variable.value().to_vector<double>(), before) << "a factor of the one rate";
}

TEST(ParameterGroups, RefusesWhatItCannotKeep) {
  const nn::NamedVariable a = wave_parameter();
  nn::Sgd sgd({a}, 0.1);
  expect_throws<ValueError>([&] { sgd.set_options({wave_parameter("other")}, {}); },
                            {"sgd: other is not one of its parameters"});
  expect_throws<ValueError>([&] { sgd.set_options({a}, {.momentum = 0.9}); }, {"momentum"});
  expect_throws<ValueError>([&] { sgd.set_options({a}, {.weight_decay = -1}); }, {"weight_decay"});
  expect_throws<ValueError>([&] { sgd.set_options({a}, {}, -1); }, {"rate_factor"});
  sgd.apply({gradient_of_step(0)});
  expect_throws<ValueError>([&] { sgd.set_options({a}, {}); }, {"before the first step"});
  expect_throws<ValueError>([&] { sgd.keep_averages(0.9); }, {"before the first step"});
}

TEST(Averages, FollowTheParametersAndChangePlacesWithThem) {
  for (const DType dtype : {DType::float64, DType::bfloat16}) {
    const nn::NamedVariable w{"w", Variable(full({1}, 1.0, dtype), "w")};
    nn::Sgd sgd({w}, 0.5);
    expect_throws<ValueError>([&] { sgd.swap_averages(); }, {"keep_averages"});
    expect_throws<ValueError>([&] { sgd.keep_averages(1); }, {"decay"});
    sgd.keep_averages(0.75);
    expect_throws<ValueError>([&] { sgd.keep_averages(0.75); }, {"already"});
    double value = 1, average = 1;
    for (int i = 0; i < 4; ++i) {
      sgd.apply({full({1}, 0.5, dtype)});
      value -= 0.25;
      average = 0.75 * average + 0.25 * value;
    }
    const auto weight = [&] {
      return cast(w.variable.value(), DType::float64).to_vector<double>()[0];
    };
    EXPECT_DOUBLE_EQ(weight(), value);
    sgd.swap_averages();
    EXPECT_NEAR(weight(), average, dtype == DType::float64 ? 1e-12 : 4e-3);
    sgd.swap_averages();
    EXPECT_DOUBLE_EQ(weight(), value);
    EXPECT_EQ(sgd.state().back().name, "sgd/average/w");
  }
}

TEST(OneCycle, RisesAndFallsAsPyTorchs) {
  // OneCycleLR(max_lr = 1, total_steps = 10): warm-up ends at step 0.3 * 10 - 1.
  const nn::Schedule rate = nn::schedule::one_cycle(1, 10);
  EXPECT_NEAR(rate(0), 1.0 / 25, 1e-12);
  EXPECT_NEAR(rate(1), 0.52, 1e-12);
  EXPECT_NEAR(rate(2), 1, 1e-12);
  const double last = 1.0 / 25 / 1e4;
  EXPECT_NEAR(rate(3), last + (1 - last) * (1 + std::cos(M_PI / 7)) / 2, 1e-12);
  EXPECT_NEAR(rate(9), last, 1e-12);
  EXPECT_NEAR(rate(1000), last, 1e-12);
  EXPECT_THROW(nn::schedule::one_cycle(1, 1), ValueError);
  EXPECT_THROW(nn::schedule::one_cycle(1, 10, {.rising = 1}), ValueError);
  EXPECT_THROW(nn::schedule::one_cycle(1, 10, {.end_divisor = 0}), ValueError);
}

}  // namespace
}  // namespace tenure
