#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "tenure/tenure.h"
#include "tests/support/expect.h"
#include "tests/support/test_device.h"

// Training on another device with batches that are made ahead.

namespace tenure {
namespace {

using test::kTestDevice;

constexpr std::int64_t kRows = 64;
constexpr std::int64_t kColumns = 256;
constexpr auto kBatchBytes = static_cast<std::int64_t>(kRows * kColumns * sizeof(float));

/// Each batch has its place as every element.
data::Dataset batches(std::int64_t n, std::int64_t bad = -1) {
  return data::from_function(n, [bad](std::int64_t i) {
    if (i == bad) throw ValueError("a file is damaged");
    return data::Batch{full({kRows, kColumns}, 0.01 * static_cast<double>(i)),
                       zeros({kRows}, int64)};
  });
}

struct Training {
  nn::Sequential model{nn::Dense(kColumns, 2)};
  nn::Sgd sgd{model.trainable(), 0.1};
  nn::Trainer trainer{model, [](const Tensor& y, const Tensor& t) { return cross_entropy(y, t); },
                      sgd};
};

/// After each step but the last, waits until the next batch does.
class SeesTheNext final : public nn::Callback {
 public:
  explicit SeesTheNext(std::int64_t steps) : steps_(steps) {}
  void on_step(nn::Fit&, const nn::Scores&) override {
    if (++step_ == steps_) return;
    for (int tries = 0; tries < 10'000; ++tries) {
      if (memory(kTestDevice)[Category::cache].bytes >= kBatchBytes) {
        ++seen;
        return;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }
  int seen = 0;

 private:
  std::int64_t steps_;
  std::int64_t step_ = 0;
};

class FitAhead : public testing::Test {
 protected:
  void SetUp() override { test::test_device(); }
};

TEST_F(FitAhead, BatchesWaitOnTheModelsDevice) {
  const auto losses = [](Device device, std::int64_t ahead) {
    seed(3);
    Training work;
    work.trainer.to(device);
    std::vector<double> of_epochs;
    for (const nn::Epoch& epoch : nn::fit(work.trainer, batches(5).prefetch(ahead),
                                          {.epochs = 2,
                                          .validation = batches(3).prefetch(ahead),
                                          .progress = nn::Progress::none})
                                      .epochs) {
      of_epochs.push_back(epoch.training.loss);
      of_epochs.push_back(epoch.validation->loss);
    }
    return of_epochs;
  };
  const std::vector<double> expected = losses(cpu, 0);
  EXPECT_EQ(losses(kTestDevice, 0), expected);
  EXPECT_EQ(losses(kTestDevice, 2), expected);

  Training work;
  work.trainer.to(kTestDevice);
  const auto looks = std::make_shared<SeesTheNext>(5);
  nn::fit(work.trainer, batches(5).prefetch(1),
          {.callbacks = {looks}, .progress = nn::Progress::none});
  EXPECT_EQ(looks->seen, 4);
  EXPECT_LT(memory(kTestDevice)[Category::cache].bytes, kBatchBytes);
}

TEST_F(FitAhead, WhatFailsLeavesNothingThere) {
  Training work;
  work.trainer.to(kTestDevice);
  const nn::FitOptions options{.progress = nn::Progress::none};
  nn::fit(work.trainer, batches(2), options);  // what is compiled stays
  const std::int64_t before = memory(kTestDevice).bytes;
  test::expect_throws<ValueError>(
      [&] { nn::fit(work.trainer, batches(6, 4).prefetch(3), options); }, {"a file is damaged"});
  EXPECT_EQ(memory(kTestDevice).bytes, before);
  EXPECT_EQ(work.sgd.steps(), 2 + 4);  // those before it
  {
    // Room for two batches: those that wait count, as they do on the CPU.
    const Budget budget("small", 5 * kBatchBytes / 2, kTestDevice);
    test::expect_throws<OutOfMemory>(
        [&] { nn::fit(work.trainer, batches(6).prefetch(6), options); }, {"small"});
  }
  EXPECT_EQ(memory(kTestDevice).bytes, before);
}

}  // namespace
}  // namespace tenure
