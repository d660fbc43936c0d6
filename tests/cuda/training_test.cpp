#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tests/cuda/emulated.h"

// Models train on a GPU as on the CPU: by one compiled step, with the plan's peak, within a budget.

namespace tenure {
namespace {

using test::emulated_gpu;

/// An embedding, one block and a head.
class TinyGpt final : public nn::Layer {
 public:
  TinyGpt() : Layer("TinyGpt"), letters_(11, 8), block_(8, 2), norm_(8), head_(8, 11) {
    add("letters", letters_);
    add("block", block_);
    add("norm", norm_);
    add("head", head_);
  }

 protected:
  Tensor forward(Tensor x) const override { return head_(norm_(block_(letters_(std::move(x))))); }

 private:
  nn::Embedding letters_;
  nn::TransformerBlock block_;
  nn::LayerNorm norm_;
  nn::Dense head_;
};

/// A model, and one batch of tensors of the CPU's.
struct Work {
  std::unique_ptr<nn::Layer> model{};
  Tensor x;
  Tensor target;
};

Work mlp() {
  auto model = std::make_unique<nn::Sequential>();
  model->push_back(nn::Dense(6, 12));
  model->push_back(nn::Relu());
  model->push_back(nn::Dense(12, 5));
  return {std::move(model), copy_to(normal({16, 6}), cpu), copy_to(randint(0, 5, {16}), cpu)};
}

Work cnn() {
  auto model = std::make_unique<nn::Sequential>();
  model->push_back(nn::Conv2d(2, 4, 3));
  model->push_back(nn::Relu());
  model->push_back(nn::MaxPool2d(2));
  model->push_back(nn::Flatten());
  model->push_back(nn::Dense(4 * 3 * 3, 5));
  return {std::move(model), copy_to(normal({6, 8, 8, 2}), cpu), copy_to(randint(0, 5, {6}), cpu)};
}

/// As residual networks have it: no bias, a batch that is normalized.
Work normalized_cnn() {
  auto model = std::make_unique<nn::Sequential>();
  model->push_back(nn::Conv2d(2, 8, 3, {.stride = 2, .padding = 1, .bias = false}));
  model->push_back(nn::BatchNorm(8));
  model->push_back(nn::Relu());
  model->push_back(nn::Conv2d(8, 6, 1, {.bias = false}));
  model->push_back(nn::BatchNorm(6));
  model->push_back(nn::Relu());
  model->push_back(nn::MaxPool2d(2));
  model->push_back(nn::Flatten());
  model->push_back(nn::Dense(6 * 2 * 2, 5));
  return {std::move(model), copy_to(normal({6, 8, 8, 2}), cpu), copy_to(randint(0, 5, {6}), cpu)};
}

Work gpt() {
  const Tensor letters = randint(0, 11, {4, 7});
  return {std::make_unique<TinyGpt>(), copy_to(slice(letters, 1, 0, 6), cpu),
          copy_to(slice(letters, 1, 1, 7), cpu)};
}

struct Case {
  const char* name;
  Work (*make)();
  DType precision = float32;
};

/// What a run leaves to compare.
struct Trained {
  std::vector<double> losses{};
  std::int64_t least = 0;  ///< the tightest budget
};

Trained train(const Case& c, Device device, std::optional<std::int64_t> budget = std::nullopt) {
  constexpr int kSteps = 4;
  const DeviceScope scope(device);
  seed(3);
  const Work work = c.make();
  nn::Adam optimizer(work.model->trainable(), 0.01);
  const auto trainer = [&](std::optional<std::int64_t> bytes) {
    nn::TrainerOptions options;
    options.budget = bytes;
    options.precision = c.precision;
    return std::make_unique<nn::Trainer>(
        *work.model, [](const Tensor& y, const Tensor& t) { return cross_entropy(y, t); },
        optimizer, options);
  };
  const auto trains = trainer(budget);
  const Tensor x = copy_to(work.x, device);
  const Tensor target = copy_to(work.target, device);
  const nn::StepPlan plan = trains->plan(x, target);
  EXPECT_LE(plan.peak(), budget.value_or(plan.peak()));
  Trained run;
  run.losses.push_back(trains->step(x, target).loss);
  const MemoryRegion region(device);
  while (run.losses.size() < kSteps) run.losses.push_back(trains->step(x, target).loss);
  EXPECT_EQ(region.peak_bytes(), plan.plan.peak);
  EXPECT_EQ(region.left_bytes(), 0);
  for (const nn::NamedVariable& v : trains->variables()) {
    EXPECT_TRUE(v.variable.device() == device) << v.name;
  }
  try {
    static_cast<void>(trainer(0)->plan(x, target));
    ADD_FAILURE() << "no bytes are enough";
  } catch (const planner::BudgetError& error) {
    run.least = error.least();
  }
  return run;
}

/// Scores that the GPU has not come to are kept from the scope that the step is in.
TEST(TrainingOnAGpu, KeepsScoresUntilSomebodyAsks) {
  const DeviceScope device(emulated_gpu());
  const auto losses = [](bool is_in_scope) {
    seed(3);
    const Work work = mlp();
    nn::Adam optimizer(work.model->trainable(), 0.01);
    nn::Trainer trainer(
        *work.model, [](const Tensor& y, const Tensor& t) { return cross_entropy(y, t); },
        optimizer);
    std::vector<nn::LateScores> late;
    for (int step = 0; step < 3; ++step) {
      std::optional<Scope> scope;
      if (is_in_scope) scope.emplace();
      late.push_back(trainer.step_ahead(work.x, work.target));
    }
    std::vector<double> found;
    for (const nn::LateScores& one : late) found.push_back(one.get().loss);
    for (const nn::LateScores& one : late) found.push_back(one.get().loss);
    return found;
  };
  EXPECT_EQ(losses(true), losses(false));
}

class TrainsOnAGpu : public testing::TestWithParam<Case> {};

TEST_P(TrainsOnAGpu, AsOnTheCpu) {
  const Device device = emulated_gpu();
  const std::int64_t before = memory(device).bytes;
  const Trained here = train(GetParam(), cpu);
  const Trained there = train(GetParam(), device);
  const Trained tight = train(GetParam(), device, there.least);
  ASSERT_EQ(here.losses.size(), there.losses.size());
  EXPECT_LT(there.losses.back(), there.losses.front());
  for (std::size_t i = 0; i < here.losses.size(); ++i) {
    // Sums are joined in other orders: a few roundings each step.
    const double rounding = GetParam().precision == float32 ? 1e-6 : 4e-3;
    const double bound = rounding * static_cast<double>(i + 1) * here.losses[i];
    EXPECT_NEAR(there.losses[i], here.losses[i], bound) << "step " << i;
    EXPECT_NEAR(tight.losses[i], here.losses[i], bound) << "step " << i << ", within a budget";
  }
  EXPECT_EQ(memory(device).bytes, before);
}

INSTANTIATE_TEST_SUITE_P(
    Models, TrainsOnAGpu,
    testing::Values(Case{"mlp", mlp}, Case{"cnn", cnn}, Case{"gpt", gpt},
                    Case{"normalized_cnn", normalized_cnn},
                    Case{"normalized_cnn_in_bfloat16", normalized_cnn, bfloat16},
                    Case{"gpt_in_bfloat16", gpt, bfloat16}, Case{"mlp_in_float16", mlp, float16}),
    [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace tenure
