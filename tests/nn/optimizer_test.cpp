#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <memory>

#include "tenure/tenure.h"

namespace tenure {
namespace {

nn::NamedVariable parameter(const Tensor& value, const char* name = "w") {
  return {name, Variable(value, name)};
}

/// The value of w after some steps down w^2.
double descend(nn::Optimizer& optimizer, int steps) {
  const Variable w = optimizer.parameters()[0].variable;
  for (int i = 0; i < steps; ++i) {
    GradientTape tape;
    const Tensor loss = sum(square(w.value()));
    optimizer.apply({tape.gradient(loss, w)});
  }
  return w.value().to_vector<float>()[0];
}

TEST(Optimizer, EachOneGoesDown) {
  const auto check = [](auto make) {
    const nn::NamedVariable w = parameter(tensor({1.0, -1.0}));
    const std::unique_ptr<nn::Optimizer> optimizer = make(std::vector{w});
    EXPECT_LT(std::abs(descend(*optimizer, 50)), 0.9);
    EXPECT_EQ(optimizer->steps(), 50);
  };
  using Parameters = std::vector<nn::NamedVariable>;
  check([](Parameters p) { return std::make_unique<nn::Sgd>(p, 0.05); });
  check([](Parameters p) {
    return std::make_unique<nn::Sgd>(p, 0.02, SgdOptions{.momentum = 0.9, .nesterov = true});
  });
  check([](Parameters p) { return std::make_unique<nn::Adam>(p, 0.05); });
  check([](Parameters p) { return std::make_unique<nn::AdamW>(p, 0.05); });
  check([](Parameters p) { return std::make_unique<nn::Rmsprop>(p, 0.02); });
  check([](Parameters p) { return std::make_unique<nn::Adagrad>(p, 0.2); });
  check([](Parameters p) { return std::make_unique<nn::Lion>(p, 0.02); });
}

TEST(Optimizer, AdamTakesTheStepsOfItsPaper) {
  const nn::NamedVariable w = parameter(tensor({1.0}));
  nn::Adam adam({w}, 0.1);
  double value = 1, mean = 0, square = 0;
  for (int step = 1; step <= 5; ++step) {
    const double gradient = 2 * value;
    mean = 0.9 * mean + 0.1 * gradient;
    square = 0.999 * square + 0.001 * gradient * gradient;
    value -= 0.1 * (mean / (1 - std::pow(0.9, step))) /
             (std::sqrt(square / (1 - std::pow(0.999, step))) + 1e-8);
    EXPECT_NEAR(descend(adam, 1), value, 1e-5);
  }
}

TEST(Optimizer, OneTraceServesAllStepsAndRates) {
  const nn::NamedVariable w = parameter(ones({4}));
  nn::Adam adam({w}, 0.1);
  const auto step = function([&](const Tensor& x) {
    GradientTape tape;
    const Tensor loss = sum(square(w.variable.value() * x));
    adam.apply({tape.gradient(loss, w.variable)});
    return loss;
  });
  for (int i = 0; i < 5; ++i) {
    adam.set_learning_rate(0.1 / (i + 1));
    step(ones({4}));
  }
  EXPECT_EQ(step.traces().size(), 1u);
  EXPECT_EQ(adam.steps(), 5);
}

TEST(Optimizer, CountsMoreStepsThanAFloatHolds) {
  constexpr std::int64_t kMany = 1 << 24;
  const AdamOptions slow{.beta2 = 1 - 1e-8};  // far from done after so many steps
  const Tensor gradient = full({}, 0.5, DType::float64);
  const auto update = [&](std::int64_t step) {
    const Tensor w = full({}, 1.0, DType::float64);
    const Tensor zero = zeros({}, DType::float64);
    const Tensor rate = full({}, 0.125, DType::float32);
    return adam_update(w, zero, zero, gradient, rate, step, slow)[0].item<double>();
  };
  ASSERT_NE(update(kMany + 1), update(kMany));
  for (const bool traced : {false, true}) {
    const nn::NamedVariable w = parameter(full({}, 1.0, DType::float64));
    nn::Adam adam({w}, 0.125, slow);
    const auto compiled = function([&](const Tensor& g) {
      adam.apply({g * 1.0});
      return g;
    });
    adam.state()[0].variable.assign(full({}, kMany, DType::int64));
    if (traced) {
      compiled(gradient);
    } else {
      adam.apply({clone(gradient)});
    }
    EXPECT_EQ(adam.steps(), kMany + 1);
    EXPECT_EQ(w.variable.value().item<double>(), update(kMany + 1));
  }
}

TEST(Optimizer, UpdatesInPlaceInACompiledStep) {
  const nn::NamedVariable w = parameter(ones({1 << 16}));
  nn::Adam adam({w}, 0.1);
  const auto step = function([&](const Tensor& g) {
    adam.apply({g * 2.0});
    return sum(g);
  });
  const Tensor g = ones({1 << 16});
  step(g);
  const MemoryRegion region;
  step(g);
  EXPECT_LE(region.peak_bytes(), (1 << 18) + 4096);  // the gradient, not three more
}

TEST(Optimizer, KeepsMastersOfNarrowParameters) {
  const nn::NamedVariable w = parameter(ones({2}, DType::bfloat16));
  nn::Sgd sgd({w}, 1.0);
  for (int i = 0; i < 100; ++i) sgd.apply({full({2}, 1e-4, DType::bfloat16)});
  EXPECT_NEAR(cast(w.variable.value(), DType::float32).to_vector<float>()[0], 0.99, 4e-3);
}

TEST(Optimizer, RefusesOtherGradientsThanItsParameters) {
  nn::Sgd sgd({parameter(ones({2}))}, 0.1);
  EXPECT_THROW(sgd.apply({}), ValueError);
  EXPECT_THROW(sgd.apply({ones({3})}), ShapeError);
  EXPECT_THROW(nn::Sgd({}, 0.1), ValueError);
  EXPECT_THROW(nn::Sgd({parameter(ones({2}))}, -1), ValueError);
  EXPECT_THROW(nn::Sgd({parameter(ones({2}))}, 1e300), ValueError);
  EXPECT_THROW(nn::Sgd({parameter(ones({2}))}, 0.1, {.momentum = -1}), ValueError);
  EXPECT_THROW(nn::Adam({parameter(ones({2}))}, 0.1, {.beta1 = 1}), ValueError);
  EXPECT_THROW(nn::Lion({parameter(ones({2}))}, 0.1, {.beta2 = std::nan("")}), ValueError);
  EXPECT_THROW(nn::Sgd({parameter(ones({2}, DType::int32))}, 0.1), DTypeError);
  const nn::NamedVariable a = parameter(ones({2}));
  const nn::NamedVariable b = parameter(ones({2}));
  nn::Sgd both({a, b}, 0.1);
  const Tensor gone = ones({2});
  gone.dispose();
  EXPECT_THROW(both.apply({ones({2}), gone}), DisposedError);
  EXPECT_THROW(both.apply({ones({2}), ones({2}, DType::int32)}), DTypeError);
  EXPECT_EQ(a.variable.value().to_vector<float>(), (std::vector<float>{1, 1}));
  both.apply({Tensor(), ones({2})});
  EXPECT_EQ(a.variable.value().to_vector<float>(), (std::vector<float>{1, 1}));
  EXPECT_EQ(b.variable.value().to_vector<float>(), (std::vector<float>{0.9f, 0.9f}));
  const nn::NamedVariable twice = parameter(ones({2}));
  EXPECT_THROW(nn::Sgd({twice, twice}, 0.1), ValueError);
}

/// All that a step changes.
std::vector<double> everything(const nn::Optimizer& optimizer) {
  std::vector<double> all;
  std::vector<nn::NamedVariable> variables = optimizer.state();
  variables.insert(variables.end(), optimizer.parameters().begin(), optimizer.parameters().end());
  for (const nn::NamedVariable& own : variables) {
    if (own.variable.is_disposed()) continue;
    for (const double value : own.variable.value().to_vector<double>()) all.push_back(value);
  }
  return all;
}

TEST(Optimizer, AStepIsTakenAsAWholeOrNotAtAll) {
  const auto refuses = [](const Tensor& second, int disposed, std::size_t budget = 1 * MiB) {
    nn::Adam adam({parameter(ones({2}), "a"), parameter(ones({300}), "b")}, 0.1);
    adam.apply({ones({2}), ones({300})});
    if (disposed >= 0) adam.state()[static_cast<std::size_t>(disposed)].variable.dispose();
    if (disposed == -2) adam.parameters()[1].variable.dispose();
    const std::vector<double> before = everything(adam);
    const Budget small("small", budget);
    EXPECT_THROW(adam.apply({ones({2}), second}), Error);
    EXPECT_EQ(everything(adam), before);
  };
  Graph graph("g");
  refuses(graph.placeholder("g", DType::float32, {300}), -1);
  refuses(spec({300}), -1);
  refuses(ones({300}), -2);
  for (int i = 0; i < 6; ++i) refuses(ones({300}), i);
  refuses(ones({300}), -1, 0);
}

TEST(Optimizer, UpdatesInPlaceEagerly) {
  const nn::NamedVariable w = parameter(ones({1 << 16}));
  nn::Adam adam({w}, 0.1);
  adam.apply({ones({1 << 16})});
  Tensor gradient = ones({1 << 16});
  const MemoryRegion region;
  adam.apply({std::move(gradient)});
  EXPECT_LE(region.peak_bytes(), 4096);
}

TEST(Optimizer, EagerStepsAreThoseOfATrace) {
  for (const bool has_all : {true, false}) {
    const auto after = [&](bool traced) {
      nn::AdamW adam({parameter(ones({3}), "a"), parameter(ones({2}, DType::bfloat16), "b")}, 0.1);
      const auto step = function([&](const Tensor& g) {
        adam.apply({g * 1.0, has_all ? ones({2}, DType::bfloat16) * 1.0 : Tensor()});
        return g;
      });
      for (int i = 1; i < 4; ++i) {
        const Tensor g = full({3}, 0.25 * i);
        if (traced) {
          step(g);
        } else {
          const GradientTape outer;  // takes no note of it
          adam.apply({clone(g), has_all ? ones({2}, DType::bfloat16) : Tensor()});
        }
      }
      return everything(adam);
    };
    EXPECT_EQ(after(false), after(true));
  }
}

TEST(Optimizer, StateIsOfItsCategoryAndEndsWithDispose) {
  const nn::NamedVariable w = parameter(ones({100}));
  const std::int64_t before = memory()[Category::optimizer].bytes;
  nn::Adam adam({w});
  EXPECT_EQ(memory()[Category::optimizer].bytes - before, 2 * 400 + 12);
  EXPECT_EQ(adam.state().size(), 4u);
  EXPECT_EQ(adam.dispose(), 2 * 400 + 12);
  EXPECT_EQ(memory()[Category::optimizer].bytes, before);
  EXPECT_THROW(adam.apply({ones({100})}), DisposedError);
}

TEST(Clip, ShortensTogetherAndKeepsTheDirection) {
  const std::vector<Tensor> long_ones{full({2}, 3.0), full({1}, 4.0)};
  const std::vector<Tensor> clipped = nn::clip_by_global_norm(long_ones, 1.0);
  EXPECT_NEAR(nn::global_norm(clipped).item<float>(), 1, 1e-6);
  EXPECT_NEAR(clipped[1].item<float>() / clipped[0].to_vector<float>()[0], 4.0 / 3, 1e-5);
  EXPECT_EQ(nn::clip_by_global_norm({full({1}, 0.5)}, 1.0)[0].item<float>(), 0.5f);
  EXPECT_EQ(nn::clip_by_value({full({1}, -9.0)}, 2)[0].item<float>(), -2);
  EXPECT_THROW(nn::clip_by_value({}, 0), ValueError);
  const double inf = std::numeric_limits<double>::infinity();
  EXPECT_EQ(nn::clip_by_global_norm({full({1}, 0.5)}, inf)[0].item<float>(), 0.5f);
}

TEST(Schedule, HasTheRatesOfItsName) {
  using namespace nn::schedule;
  EXPECT_DOUBLE_EQ(steps(1, 10, 0.5)(25), 0.25);
  EXPECT_DOUBLE_EQ(cosine(2, 100)(50), 1);
  EXPECT_DOUBLE_EQ(cosine(2, 100, 0.1)(1000), 0.1);
  EXPECT_DOUBLE_EQ(linear(1, 10)(5), 0.5);
  EXPECT_DOUBLE_EQ(exponential(1, 0.5)(3), 0.125);
  EXPECT_DOUBLE_EQ(warm_up(4, constant(8))(0), 2);
  EXPECT_DOUBLE_EQ(warm_up(4, linear(8, 4))(6), 4);
  EXPECT_THROW(cosine(1, 0), ValueError);
}

}  // namespace
}  // namespace tenure
