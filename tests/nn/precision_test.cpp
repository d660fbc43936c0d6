#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <string>
#include <vector>

#include "tenure/tenure.h"
#include "tests/nn/fit_setting.h"

// Training in 16 bits with float32 parameters: TrainerOptions::precision.

namespace tenure {
namespace {

using test::temporary;

nn::Sequential perceptron() {
  seed(5);
  return nn::Sequential(nn::Dense(16, 16), nn::Relu(), nn::Dense(16, 16), nn::Relu(),
                        nn::Dense(16, 16));
}

Tensor squared_error(const Tensor& y, const Tensor& t) { return mse_loss(y, t); }

/// A network that learns to halve what is positive.
struct Task {
  explicit Task(DType precision, nn::LossScale scale = {}) : Task(options_of(precision, scale)) {}
  explicit Task(nn::TrainerOptions options)
      : model(perceptron()),
        adam(model.trainable(), 2e-3),
        trainer(model, squared_error, adam, std::move(options)),
        x(uniform({128, 16}, -1, 1)),
        target(relu(x) * 0.5) {}

  static nn::TrainerOptions options_of(DType precision, nn::LossScale scale) {
    nn::TrainerOptions options{.precision = precision};
    if (precision == float16) options.loss_scale = scale;
    return options;
  }
  double step(double factor = 1) { return trainer.step(x * factor, target).loss; }
  double number(const std::string& name) const {
    for (const nn::NamedVariable& own : trainer.variables()) {
      if (own.name == name) return own.variable.value().item<float>();
    }
    ADD_FAILURE() << "no " << name;
    return 0;
  }
  Tensor kernel() const { return clone(model.trainable().front().variable.value()); }

  nn::Sequential model;
  nn::Adam adam;
  nn::Trainer trainer;
  Tensor x;
  Tensor target;
};

bool same(const Tensor& a, const Tensor& b) { return all(a == b).item<bool>(); }

TEST(Precision, OfATrainerLearnsTheSame) {
  const auto train = [&](DType precision) {
    Task task(precision);
    const nn::StepPlan plan = task.trainer.plan(task.x, task.target);
    std::vector<double> losses{task.trainer.step(task.x, task.target).loss};
    const MemoryRegion region(task.trainer.device());
    while (losses.size() < 80) losses.push_back(task.trainer.step(task.x, task.target).loss);
    EXPECT_EQ(region.peak_bytes(), plan.plan.peak) << precision;
    EXPECT_EQ(region.left_bytes(), 0) << precision;
    EXPECT_EQ(task.trainer.predict(task.x).dtype(), float32);
    for (const nn::NamedVariable& own : task.trainer.variables()) {
      EXPECT_TRUE(!is_floating(own.variable.dtype()) || own.variable.dtype() == float32)
          << own.name;
    }
    EXPECT_EQ(task.adam.steps(), 80) << precision;
    return losses;
  };
  const std::vector<double> exact = train(float32);
  EXPECT_LT(exact.back(), 0.3 * exact.front());
  for (const DType precision : {bfloat16, float16}) {
    const std::vector<double> rounded = train(precision);
    // One step apart they are a few roundings apart, and stay on the same curve.
    const double rounding = precision == bfloat16 ? 0x1p-8 : 0x1p-11;
    EXPECT_NE(rounded.front(), exact.front()) << precision;
    for (std::size_t i = 0; i < exact.size(); ++i) {
      EXPECT_NEAR(rounded[i], exact[i], 16 * rounding * exact[i]) << precision << ", step " << i;
    }
  }
}

TEST(Precision, ScoresAsItTrains) {
  Task task(bfloat16);
  const double score = task.trainer.score(task.x, task.target).loss;
  EXPECT_EQ(task.step(), score);
}

TEST(Precision, AnOverflowOfFloat16SkipsTheStepAndHalvesTheScale) {
  Task task(float16, {.growth_interval = 2});
  EXPECT_EQ(task.number("trainer/scale"), 65536);
  const Tensor before = task.kernel();
  const double loss = task.step(1e6);  // what float32 and bfloat16 take, and float16 does not
  EXPECT_FALSE(std::isfinite(loss)) << loss;
  EXPECT_EQ(task.adam.steps(), 0);
  EXPECT_TRUE(same(task.kernel(), before));
  EXPECT_EQ(task.number("trainer/scale"), 32768);
  task.step();
  EXPECT_EQ(task.adam.steps(), 1);
  EXPECT_FALSE(same(task.kernel(), before));
  EXPECT_EQ(task.number("trainer/scale"), 32768);
  task.step();
  EXPECT_EQ(task.number("trainer/scale"), 65536);

  Task wide(bfloat16);
  EXPECT_TRUE(std::isfinite(wide.step(1e6)));
  EXPECT_EQ(wide.adam.steps(), 1);
}

TEST(Precision, TheScaleKeepsSmallGradientsOfFloat16) {
  const auto change = [](nn::LossScale scale) {
    const nn::Sequential model = perceptron();
    nn::Sgd sgd(model.trainable(), 1e9);
    nn::Trainer trainer(model,
                        [](const Tensor& y, const Tensor& t) { return mse_loss(y, t) * 1e-9; }, sgd,
                        {.loss_scale = scale, .precision = float16});
    const Tensor before = clone(model.trainable().front().variable.value());
    const Tensor x = uniform({128, 16}, -1, 1);
    trainer.step(x, relu(x));
    return max(abs(model.trainable().front().variable.value() - before)).item<double>();
  };
  EXPECT_EQ(change({.initial = 1}), 0);
  EXPECT_GT(change({}), 1e-3);
}

TEST(Precision, ACheckpointHasTheScale) {
  const std::string path = temporary("precision.safetensors");
  const data::Dataset batches =
      data::from_tensors({uniform({64, 16}, -1, 1), uniform({64, 16})}).batch(16);
  const nn::FitOptions quiet{.progress = nn::Progress::none};
  Task first(float16, {.initial = 4096, .growth_interval = 3});
  first.step(1e6);
  first.step();
  nn::Fit(first.trainer, batches, quiet).save(path);
  std::vector<double> expected;
  for (int i = 0; i < 4; ++i) expected.push_back(first.step());

  Task second(float16, {.growth_interval = 3});
  second.x = first.x;
  second.target = first.target;
  nn::Fit(second.trainer, batches, quiet).load(path);
  EXPECT_EQ(second.number("trainer/scale"), 2048);
  EXPECT_EQ(second.number("trainer/good_steps"), 1);
  for (const double loss : expected) EXPECT_EQ(second.step(), loss);
  EXPECT_EQ(second.number("trainer/scale"), first.number("trainer/scale"));
  EXPECT_EQ(second.number("trainer/scale"), 4096) << "grew when the third good step was made";

  Task other(bfloat16);  // has no scale
  EXPECT_THROW(nn::Fit(other.trainer, batches, quiet).load(path), nn::CheckpointError);
  std::filesystem::remove(path);
}

TEST(Precision, IsAFloatOf16Or32Bits) {
  for (const DType type : {float64, int16, boolean}) {
    EXPECT_THROW(Task{type}, DTypeError) << type;
    EXPECT_THROW(Autocast{type}, DTypeError) << type;
  }
}

}  // namespace
}  // namespace tenure
