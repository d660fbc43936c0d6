#include <gtest/gtest.h>

#include "tenure/tenure.h"
#include "tests/nn/fit_setting.h"

// Training predicts the memory of its steps, and keeps to a budget.

namespace tenure {
namespace {

using test::loss_of;
using test::Setting;

TEST(Fit, PredictsThePeakOfAStepToTheByte) {
  Setting setting;
  const Tensor x = normal({64, 2});
  const Tensor target = randint(0, 2, {64});
  const nn::StepPlan plan = setting.trainer.plan(x, target);
  setting.trainer.step(x, target);
  const MemoryRegion region;
  setting.trainer.step(x, target);
  EXPECT_EQ(region.peak_bytes(), plan.plan.peak);
  EXPECT_EQ(region.left_bytes(), 0);
}

TEST(Fit, WithinABudgetComputesTheSameInLess) {
  const auto deep = [] {
    seed(5);
    nn::Sequential model(nn::Dense(2, 16));
    for (int i = 0; i < 10; ++i) {
      model.push_back(nn::Dense(16, 16));
      model.push_back(nn::Tanh());
      model.push_back(nn::Dropout(0.1));
    }
    model.push_back(nn::Dense(16, 2));
    return model;
  };
  const Tensor x = normal({256, 2});
  const Tensor target = randint(0, 2, {256});
  struct Run {
    nn::StepPlan plan;
    double loss = 0;
    std::int64_t peak = 0;
  };
  const auto train = [&](std::optional<std::int64_t> budget) {
    const nn::Sequential model = deep();
    nn::Adam adam(model.trainable(), 0.02);
    nn::Trainer trainer(model, loss_of, adam, {.budget = budget});
    Run run{.plan = trainer.plan(x, target)};
    seed(9);
    trainer.step(x, target);
    const MemoryRegion region;
    run.loss = trainer.step(x, target).loss;
    run.peak = region.peak_bytes();
    return run;
  };
  const Run plain = train(std::nullopt);
  const std::int64_t resident = plain.plan.peak() - plain.plan.plan.peak;
  EXPECT_EQ(plain.plan.plan.recomputed, 0);
  for (const int percent : {70, 50}) {
    const std::int64_t budget = resident + plain.plan.plan.peak * percent / 100;
    const Run tight = train(budget);
    EXPECT_LE(tight.plan.peak(), budget);
    EXPECT_GT(tight.plan.plan.recomputed, 0);
    EXPECT_EQ(tight.peak, tight.plan.plan.peak);
    EXPECT_EQ(tight.loss, plain.loss);
  }
}

TEST(Fit, RecomputesAsMuchAsItMay) {
  const auto train = [](double share) {
    seed(5);
    nn::Sequential model;
    for (int i = 0; i < 4; ++i) {
      model.push_back(nn::Dense(32, 32));
      model.push_back(nn::Gelu());
    }
    nn::Sgd sgd(model.trainable(), 0.1);
    const auto loss = [](const Tensor& y, const Tensor& wanted) { return mse_loss(y, wanted); };
    nn::Trainer trainer(model, loss, sgd, {.recompute = share});
    const Tensor x = normal({256, 32});
    const Plan plan = trainer.plan(x, x).plan;
    trainer.step(x, x);
    const MemoryRegion region;
    const double value = trainer.step(x, x).loss;
    EXPECT_EQ(region.peak_bytes(), plan.peak);
    return std::pair(plan, value);
  };
  const auto [plain, loss] = train(0);
  const auto [cheap, same] = train(0.2);
  EXPECT_EQ(plain.recomputed, 0);
  EXPECT_GT(cheap.recomputed, 0);
  EXPECT_LE(cheap.recomputed, 0.2);
  EXPECT_LT(cheap.peak, plain.peak);
  EXPECT_EQ(loss, same);
  EXPECT_THROW(train(-1), ValueError);
}

TEST(Fit, RefusesABudgetThatNothingFits) {
  Setting setting({.budget = 1000});
  try {
    setting.trainer.plan(spec({64, 2}), spec({64}, DType::int64));
    FAIL();
  } catch (const planner::BudgetError& error) {
    EXPECT_GT(error.least(), 1000);
    EXPECT_NE(std::string(error.what()).find(std::to_string(error.least())), std::string::npos);
  }
}

TEST(Fit, PredictsThePeakWhereGradientsAreCollected) {
  seed(5);
  const nn::DenseOptions narrow{.dtype = DType::bfloat16};
  const nn::Sequential model(nn::Dense(64, 64, narrow), nn::Relu(), nn::Dense(64, 64, narrow));
  nn::Adam adam(model.trainable(), 0.001);
  const nn::Loss loss = [](const Tensor& y, const Tensor& target) {
    return mse_loss(cast(y, DType::float32), target);
  };
  const Tensor target = zeros({2, 64});
  const Tensor x = ones({2, 64}, DType::bfloat16);
  std::int64_t peak = 0;
  {
    nn::Trainer trainer(model, loss, adam, {.accumulate = 2});
    const nn::StepPlan plan = trainer.plan(x, target);
    peak = plan.peak();
    for (int i = 0; i < 2; ++i) trainer.step(x, target);
    const MemoryRegion region;
    for (int i = 0; i < 2; ++i) trainer.step(x, target);
    EXPECT_EQ(region.peak_bytes(), plan.plan.peak);
    EXPECT_EQ(region.left_bytes(), 0);
  }
  nn::Trainer tight(model, loss, adam, {.budget = peak, .accumulate = 2});
  for (int i = 0; i < 4; ++i) tight.step(x, target);
  EXPECT_EQ(adam.steps(), 4);
  nn::Trainer refused(model, loss, adam, {.budget = peak / 2, .accumulate = 2});
  EXPECT_THROW(refused.plan(x, target), planner::BudgetError);
}

}  // namespace
}  // namespace tenure
