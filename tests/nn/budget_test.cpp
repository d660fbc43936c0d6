#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <memory>
#include <random>
#include <string>

#include "tenure/tenure.h"
#include "tests/support/share.h"

namespace tenure {
namespace {

/// A network, an optimizer and a batch, the same for the same seed.
struct RandomTask {
  explicit RandomTask(std::uint64_t number) : random(number) {
    seed(number);
    if (draw(3) == 0) {
      add_images();
    } else {
      width = 3 + draw(30);
      x = normal({4 + draw(60), width});
    }
    for (std::int64_t i = 1 + draw(7); i > 0; --i) add_dense();
    model.push_back(nn::Dense(width, 5));
    target = randint(0, 5, {x.dim(0)});
    options.clip_norm = draw(4) == 0 ? std::optional(1.0) : std::nullopt;
    options.accumulate = draw(6) == 0 ? 2 : 1;
    if (draw(8) == 0) options.loss_scale = nn::LossScale{.initial = 8};
    const std::vector<nn::NamedVariable> parameters = model.trainable();
    switch (draw(4)) {
      case 0:
        optimizer = std::make_unique<nn::Sgd>(parameters, 0.01);
        break;
      case 1:
        optimizer = std::make_unique<nn::AdamW>(parameters);
        break;
      case 2:
        optimizer = std::make_unique<nn::Lion>(parameters);
        break;
      default:
        optimizer = std::make_unique<nn::Adam>(parameters);
    }
    if (draw(8) == 0) options.precision = draw(2) == 0 ? bfloat16 : float16;
  }

  std::unique_ptr<nn::Trainer> trainer(std::optional<std::int64_t> budget) {
    options.budget = budget;
    return std::make_unique<nn::Trainer>(
        model, [](const Tensor& y, const Tensor& labels) { return cross_entropy(y, labels); },
        *optimizer, options);
  }

  nn::Sequential model;
  std::unique_ptr<nn::Optimizer> optimizer;
  nn::TrainerOptions options;
  Tensor x;
  Tensor target;

 private:
  std::int64_t draw(std::int64_t n) { return static_cast<std::int64_t>(random() % n); }

  void add_images() {
    const std::int64_t size = 6 + 2 * draw(4);
    const std::int64_t channels = 2 + draw(8);
    model.push_back(nn::Conv2d(2, channels, 3, {.relu = draw(2) == 0}));
    if (draw(2) == 0) model.push_back(nn::Tanh());
    model.push_back(nn::Conv2d(channels, 4, 3));
    if (draw(2) == 0) model.push_back(nn::BatchNorm(4));
    model.push_back(nn::MaxPool2d(2));
    model.push_back(nn::Flatten());
    const std::int64_t left = (size - 4) / 2;
    width = 4 * left * left;
    x = normal({2 + draw(12), size, size, 2});
  }

  void add_dense() {
    const std::int64_t next = draw(2) == 0 ? width : 3 + draw(40);
    model.push_back(nn::Dense(width, next));
    width = next;
    if (draw(3) == 0) model.push_back(nn::LayerNorm(width));
    switch (draw(4)) {
      case 0:
        model.push_back(nn::Relu());
        break;
      case 1:
        model.push_back(nn::Gelu());
        break;
      case 2:
        model.push_back(nn::Tanh());
        break;
      default:
        break;
    }
    if (draw(4) == 0) model.push_back(nn::Dropout(0.2));
  }

  std::mt19937_64 random;
  std::int64_t width = 0;
};

/// Asks for a budget that nothing fits.
planner::BudgetError refusal(RandomTask& task, std::int64_t budget) {
  try {
    static_cast<void>(task.trainer(budget)->plan(task.x, task.target));
  } catch (const planner::BudgetError& error) {
    return error;
  }
  ADD_FAILURE() << budget << " bytes are enough";
  return {0, 0, 0};
}

TEST(TrainingBudget, IsHeldOrRefusedWithOneThatIs) {
  int tighter = 0;
  constexpr std::uint64_t kTasks = test::rounds(20);
  for (std::uint64_t number = 0; number < kTasks; ++number) {
    SCOPED_TRACE("task " + std::to_string(number));
    RandomTask task(number);
    const std::int64_t plain = task.trainer(std::nullopt)->plan(task.x, task.target).peak();
    const planner::BudgetError none = refusal(task, 0);
    ASSERT_LE(none.bound(), none.least());
    ASSERT_LE(none.least(), plain);
    for (const std::int64_t refused : {none.bound() - 1, none.least() - 1}) {
      const planner::BudgetError error = refusal(task, refused);
      EXPECT_EQ(error.budget(), refused);
      EXPECT_EQ(error.least(), none.least());
      EXPECT_EQ(error.bound(), none.bound());
    }
    double recomputed = std::numeric_limits<double>::infinity();
    for (const int percent : {0, 30, 70, 100}) {
      const std::int64_t budget = none.least() + (plain - none.least()) * percent / 100;
      const auto trainer = task.trainer(budget);
      const nn::StepPlan plan = trainer->plan(task.x, task.target);
      ASSERT_LE(plan.peak(), budget);
      EXPECT_LE(plan.plan.recomputed, recomputed);
      recomputed = plan.plan.recomputed;
      trainer->step(task.x, task.target);
      const MemoryRegion region;
      for (int i = 0; i < 2; ++i) trainer->step(task.x, task.target);
      EXPECT_LE(region.peak_bytes(), budget - trainer->resident_bytes() -
                                         static_cast<std::int64_t>(task.x.nbytes()) -
                                         static_cast<std::int64_t>(task.target.nbytes()));
    }
    EXPECT_EQ(recomputed, 0);
    tighter += none.least() < plain ? 1 : 0;
    if (HasFailure()) return;
  }
  EXPECT_GT(tighter, static_cast<int>(kTasks / 2));
}

TEST(TrainingBudget, NamedOnOneNumberOfThreadsSufficesOnAnother) {
  const int before = num_threads();
  for (std::uint64_t number = 100; number < 104; ++number) {
    SCOPED_TRACE("task " + std::to_string(number));
    set_num_threads(1);
    RandomTask task(number);
    const planner::BudgetError named = refusal(task, 0);
    const auto made_on_one = task.trainer(named.least());
    const nn::StepPlan plan = made_on_one->plan(task.x, task.target);
    for (const int threads : {2, 3, 4, 8, 16}) {
      set_num_threads(threads);
      const planner::BudgetError again = refusal(task, 0);
      EXPECT_EQ(again.least(), named.least());
      EXPECT_EQ(again.bound(), named.bound());
      const auto trainer = task.trainer(named.least());
      EXPECT_EQ(trainer->plan(task.x, task.target).plan.recomputed, plan.plan.recomputed);
      trainer->step(task.x, task.target);
      made_on_one->step(task.x, task.target);
    }
  }
  set_num_threads(before);
}

/// What plans of some tasks say. It runs in processes of its own.
TEST(TrainingBudget, DISABLED_PrintPlans) {
  for (const std::uint64_t number : {1, 4}) {
    RandomTask task(number);
    const planner::BudgetError none = refusal(task, 0);
    std::printf("plan %lld %lld", static_cast<long long>(none.least()),
                static_cast<long long>(none.bound()));
    for (const std::int64_t more : {0, 2000, 8000}) {
      const Plan plan = task.trainer(none.least() + more)->plan(task.x, task.target).plan;
      std::printf(" %.17g", plan.recomputed);
      for (const Plan::Step& step : plan.steps) std::printf(" %s", step.op.c_str());
    }
    std::printf("\n");
  }
}

TEST(TrainingBudget, IsTheSameInEveryProcess) {
  // All at once, so that they are in each other's way.
  std::vector<FILE*> children;
  std::string self(4096, '\0');
  const ssize_t length = readlink("/proc/self/exe", self.data(), self.size());
  ASSERT_GT(length, 0);
  self.resize(static_cast<std::size_t>(length));
  for (const char* const threads : {"1", "2", "3", "4", "8", "16"}) {
    const std::string command = std::string("TENURE_NUM_THREADS=") + threads + " '" + self +
                                "' --gtest_also_run_disabled_tests"
                                " --gtest_filter='*DISABLED_PrintPlans'";
    children.push_back(popen(command.c_str(), "r"));
    ASSERT_NE(children.back(), nullptr);
  }
  std::vector<std::string> plans;
  for (FILE* const child : children) {
    std::string text;
    char line[4096];
    bool is_plan = false;
    while (std::fgets(line, sizeof(line), child) != nullptr) {
      is_plan = std::string_view(line).starts_with("plan ") || (is_plan && text.back() != '\n');
      if (is_plan) text += line;
    }
    EXPECT_EQ(pclose(child), 0);
    plans.push_back(std::move(text));
  }
  EXPECT_FALSE(plans.front().empty());
  for (const std::string& other : plans) EXPECT_EQ(other, plans.front());
}

}  // namespace
}  // namespace tenure
