#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "tenure/tenure.h"
#include "tests/nn/fit_setting.h"

// Training finds what is kept from step to step.

namespace tenure {
namespace {

using test::kQuiet;
using test::points;
using test::Setting;

/// Keeps a tensor at every step.
struct Hoard final : nn::Callback {
  void on_step(nn::Fit&, const nn::Scores&) override { kept.push_back(ones({100})); }
  std::vector<Tensor> kept;
};

TEST(Fit, CatchesACallbackThatKeepsTensors) {
  Setting setting;
  EXPECT_THROW(nn::fit(setting.trainer, points(1280).batch(16),
                       {.callbacks = {std::make_shared<Hoard>()}, .progress = kQuiet}),
               LeakError);
}

TEST(Fit, CatchesWhatStepsOfShortEpochsKeep) {
  Setting setting;
  const data::Dataset batches = points(64).batch(16);
  EXPECT_THROW(
      nn::fit(setting.trainer, batches,
              {.epochs = 20, .callbacks = {std::make_shared<Hoard>()}, .progress = kQuiet}),
      LeakError);
  nn::fit(setting.trainer, batches, {.epochs = 40, .validation = batches, .progress = kQuiet});
}

TEST(Fit, BatchesOfVaryingLengthAreNoLeak) {
  const nn::Sequential model(nn::Dense(2, 4), nn::Dense(4, 2));
  nn::Sgd sgd(model.trainable(), 0.01);
  nn::Trainer trainer(
      model, [](const Tensor& y, const Tensor& target) { return mse_loss(y, target); }, sgd);
  const data::Dataset batches = data::from_function(50, [](std::int64_t i) {
    return data::Batch{ones({1 + i, 2}), zeros({1 + i, 2})};
  });
  testing::internal::CaptureStderr();
  EXPECT_NO_THROW(nn::fit(trainer, batches, {.progress = kQuiet}));
  const std::string told = testing::internal::GetCapturedStderr();
  EXPECT_NE(told.find("has been traced 9 times"), std::string::npos) << told;
  EXPECT_NE(told.find(".batched"), std::string::npos) << told;
  EXPECT_EQ(told.find("traced"), told.rfind("traced")) << "it is said once: " << told;
}

TEST(Fit, AQueueThatFillsIsNoLeak) {
  for (const std::int64_t ahead : {2, 8, 40}) {
    Setting setting;
    // Slow at first, then faster than the steps: the queue fills one by one while they go on.
    std::atomic<std::int64_t> taken{0};
    const data::Dataset slow = data::from_function(120, [&taken](std::int64_t i) {
      for (int n = 0; n < 1'000'000 && taken.load() < i - i / 3 - 1; ++n) {
        std::this_thread::yield();
      }
      return data::Batch{ones({16, 2}), zeros({16}, DType::int64)};
    });
    struct Count final : nn::Callback {
      explicit Count(std::atomic<std::int64_t>& taken) : taken(taken) {}
      void on_step(nn::Fit&, const nn::Scores&) override { ++taken; }
      std::atomic<std::int64_t>& taken;
    };
    EXPECT_NO_THROW(nn::fit(setting.trainer, slow.prefetch(ahead),
                            {.callbacks = {std::make_shared<Count>(taken)}, .progress = kQuiet}));
  }
}

}  // namespace
}  // namespace tenure
