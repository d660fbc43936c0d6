#include <gtest/gtest.h>

#include <atomic>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <limits>
#include <sstream>
#include <thread>

#include "tenure/tenure.h"

namespace tenure {
namespace {

Tensor loss_of(const Tensor& prediction, const Tensor& target) {
  return cross_entropy(prediction, target);
}

nn::Sequential make_model() {
  seed(5);
  return nn::Sequential(nn::Dense(2, 16), nn::Tanh(), nn::Dropout(0.1), nn::Dense(16, 2));
}

/// Points inside and outside of a circle.
data::Dataset points(std::int64_t n) {
  Generator generator(3);
  const Tensor x = uniform({n, 2}, -1, 1, DType::float32, &generator);
  const Tensor target = cast(sum(square(x), {1}) < 0.6, DType::int64);
  return data::from_tensors({x, target});
}

/// Everything a test needs to train.
struct Setting {
  explicit Setting(nn::TrainerOptions options = {.metrics = {nn::accuracy()}})
      : model(make_model()),
        adam(model.trainable(), 0.02),
        trainer(model, loss_of, adam, std::move(options)) {}
  nn::Sequential model;
  nn::Adam adam;
  nn::Trainer trainer;
};

constexpr auto kQuiet = nn::Progress::none;

std::string temporary(const char* name) {
  return (std::filesystem::temp_directory_path() /
          (std::string("tenure_") + std::to_string(getpid()) + "_" + name))
      .string();
}

TEST(Fit, LearnsAndHoldsItsMemory) {
  Setting setting;
  const data::Dataset batches = points(512).shuffle(1).batch(64);
  const nn::History history = nn::fit(setting.trainer, batches, {.epochs = 60, .progress = kQuiet});
  ASSERT_EQ(history.epochs.size(), 60u);
  EXPECT_LT(history.epochs.back().training.loss, 0.5 * history.epochs.front().training.loss);
  EXPECT_GT(nn::evaluate(setting.trainer, batches).metrics[0], 0.9);
  EXPECT_EQ(nn::predict(setting.trainer, batches).shape(), (Shape{512, 2}));
}

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

TEST(Fit, GoesOnAsIfItHadNeverStopped) {
  const data::Dataset batches = points(300).shuffle(1).batch(32);
  const nn::FitOptions options{.epochs = 3, .progress = kQuiet};
  Setting whole;
  seed(11);
  const nn::History expected = nn::fit(whole.trainer, batches, options);

  struct StopAt final : nn::Callback {
    explicit StopAt(int step) : left(step) {}
    void on_step(nn::Fit& fit, const nn::Scores&) override {
      if (--left == 0) fit.stop("enough");
    }
    int left;
  };
  const std::string path = temporary("resume.safetensors");
  {
    Setting first;
    seed(11);
    nn::FitOptions stopping = options;
    stopping.callbacks = {std::make_shared<StopAt>(14), std::make_shared<nn::SaveCheckpoint>(path)};
    const nn::History cut = nn::Fit(first.trainer, batches, stopping).run();
    EXPECT_TRUE(cut.was_interrupted);
    EXPECT_EQ(cut.reason, "enough");
    EXPECT_EQ(cut.epochs.size(), 1u);
  }
  Setting second;
  seed(99);
  nn::Fit rest(second.trainer, batches, options);
  rest.load(path);
  const nn::History resumed = rest.run();
  ASSERT_EQ(resumed.epochs.size(), 2u);
  for (int i = 0; i < 2; ++i) {
    const auto at = static_cast<std::size_t>(i);
    EXPECT_EQ(resumed.epochs[at].training.loss, expected.epochs[at + 1].training.loss);
    EXPECT_EQ(resumed.epochs[at].training.metrics, expected.epochs[at + 1].training.metrics);
  }
  std::filesystem::remove(path);
}

TEST(Fit, GoesOnWithThePatienceThatIsLeft) {
  const std::string path = temporary("patience.safetensors");
  const data::Dataset batches = points(64).batch(16);
  const auto options = [&](int epochs, int patience, bool saves_first) {
    nn::FitOptions o{.epochs = epochs, .validation = batches, .progress = kQuiet};
    o.callbacks = {
        std::make_shared<nn::EarlyStopping>(nn::EarlyStopping::Options{.patience = patience}),
        std::make_shared<nn::EarlyStopping>(
            nn::EarlyStopping::Options{.score = "val loss", .patience = 100})};
    o.callbacks.insert(saves_first ? o.callbacks.begin() : o.callbacks.end(),
                       std::make_shared<nn::SaveCheckpoint>(path));
    return o;
  };
  for (const bool saves_first : {false, true}) {
    Setting setting;
    setting.adam.set_learning_rate(0);  // so that nothing becomes better
    const nn::History whole = nn::Fit(setting.trainer, batches, options(20, 4, saves_first)).run();
    EXPECT_EQ(whole.epochs.size(), 5u);
    const nn::History first = nn::Fit(setting.trainer, batches, options(3, 4, saves_first)).run();
    EXPECT_EQ(first.epochs.size(), 3u);
    nn::Fit rest(setting.trainer, batches, options(20, 4, saves_first));
    rest.load(path);
    const nn::History second = rest.run();
    EXPECT_EQ(second.epochs.size(), 2u);
    EXPECT_EQ(second.reason, whole.reason);

    // What had stopped stays so; with more patience it goes on.
    nn::Fit stopped(setting.trainer, batches, options(20, 4, saves_first));
    stopped.load(path);
    const nn::History none = stopped.run();
    EXPECT_TRUE(none.epochs.empty());
    EXPECT_EQ(none.reason, whole.reason);
    nn::Fit patient(setting.trainer, batches, options(20, 6, saves_first));
    patient.load(path);
    EXPECT_EQ(patient.run().epochs.size(), 2u);
  }
  std::filesystem::remove(path);
}

TEST(Fit, ACallbackThatRefusesItsStateChangesNothing) {
  const std::string path = temporary("refused.safetensors");
  const data::Dataset batches = points(64).batch(16);
  Setting setting;
  struct Refuses final : nn::Callback {
    std::string name() const override { return "refuses"; }
    Facts state() const override { return {{"number", 1}}; }
    void set_state(const Checkpoint& state) override {
      if (state.facts.empty() || state.path.empty()) return;
      throw ValueError("not this one");
    }
  };
  const auto stopping = std::make_shared<nn::EarlyStopping>(
      nn::EarlyStopping::Options{.score = "loss", .patience = 9});
  nn::Fit fit(
      setting.trainer, batches,
      {.epochs = 2, .callbacks = {stopping, std::make_shared<Refuses>()}, .progress = kQuiet});
  fit.save(path);
  fit.run();
  const Facts before = stopping->state();
  EXPECT_EQ(before.size(), 2u);
  const auto weights = setting.model.parameters()[0].variable.value().to_vector<float>();
  EXPECT_THROW(fit.load(path), ValueError);
  EXPECT_EQ(stopping->state(), before);
  EXPECT_EQ(setting.model.parameters()[0].variable.value().to_vector<float>(), weights);
  EXPECT_TRUE(fit.run().epochs.empty());
  std::filesystem::remove(path);
}

TEST(Fit, LoadsCheckpointsWhoseStepsAreFloats) {
  const std::string path = temporary("float_steps.safetensors");
  const data::Dataset batches = points(64).batch(16);
  Setting setting;
  nn::Fit fit(setting.trainer, batches, {.progress = kQuiet});
  fit.run();
  fit.save(path);
  const auto rewrite = [&](double steps) {
    const Checkpoint now = load_checkpoint(path);
    NamedTensors tensors;
    for (const auto& [name, tensor] : now.tensors) tensors.emplace(name, clone(tensor));
    int changed = 0;
    for (auto& [name, tensor] : tensors) {
      if (!name.ends_with("adam/steps")) continue;
      tensor = full({}, steps, DType::float32);
      ++changed;
    }
    EXPECT_EQ(changed, 1);
    save_checkpoint(path, tensors, now.facts);
  };
  rewrite(4);
  Setting other;
  nn::Fit rest(other.trainer, batches, {.epochs = 2, .progress = kQuiet});
  rest.load(path);
  EXPECT_EQ(other.adam.steps(), 4);
  EXPECT_EQ(rest.run().epochs.size(), 1u);
  EXPECT_EQ(other.adam.steps(), 8);
  for (const double steps : {-1.0, 2.5, 1e9}) {
    rewrite(steps);
    EXPECT_THROW(rest.load(path), nn::CheckpointError);
    EXPECT_EQ(other.adam.steps(), 8);
  }
  std::filesystem::remove(path);
}

TEST(Fit, RefusesACheckpointOfAnotherModelAndChangesNothing) {
  const std::string path = temporary("other.safetensors");
  const data::Dataset batches = points(64).batch(32);
  Setting setting;
  nn::Fit(setting.trainer, batches, {.progress = kQuiet}).save(path);

  const nn::Sequential other(nn::Dense(2, 8), nn::Dense(8, 2));
  nn::Adam adam(other.trainable());
  nn::Trainer trainer(other, loss_of, adam);
  nn::Fit fit(trainer, batches, {.progress = kQuiet});
  const std::vector<float> before = other.parameters()[0].variable.value().to_vector<float>();
  try {
    fit.load(path);
    FAIL();
  } catch (const nn::CheckpointError& error) {
    EXPECT_GE(error.problems().size(), 3u);
    EXPECT_EQ(error.path(), path);
  }
  EXPECT_EQ(other.parameters()[0].variable.value().to_vector<float>(), before);
  std::filesystem::remove(path);
}

TEST(Fit, EndsAfterTheStepOnControlC) {
  Setting setting;
  struct Press final : nn::Callback {
    void on_step(nn::Fit&, const nn::Scores&) override { std::raise(SIGINT); }
  };
  const nn::History history =
      nn::fit(setting.trainer, points(128).batch(16),
              {.callbacks = {std::make_shared<Press>()}, .progress = kQuiet});
  EXPECT_TRUE(history.was_interrupted);
  EXPECT_EQ(history.reason, "interrupted");
  EXPECT_EQ(setting.adam.steps(), 1);
}

TEST(Fit, WritesPlainLinesIntoAPipe) {
  Setting setting;
  std::ostringstream out;
  nn::fit(setting.trainer, points(64).batch(16), {.epochs = 2, .out = &out});
  const std::string text = out.str();
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 2);
  EXPECT_EQ(text.find('\r'), std::string::npos);
  EXPECT_NE(text.find("epoch 2/2  4 batches"), std::string::npos) << text;
  EXPECT_NE(text.find("accuracy"), std::string::npos);
}

TEST(Fit, StopsEarlyAndWritesACsv) {
  const std::string path = temporary("log.csv");
  std::filesystem::remove(path);
  Setting setting;
  setting.adam.set_learning_rate(0);
  const data::Dataset batches = points(64).batch(16);
  const nn::History history = nn::fit(
      setting.trainer, batches,
      {.epochs = 20,
       .validation = batches,
       .callbacks = {std::make_shared<nn::EarlyStopping>(nn::EarlyStopping::Options{.patience = 2}),
                     std::make_shared<nn::CsvLog>(path)},
       .progress = kQuiet});
  EXPECT_EQ(history.epochs.size(), 3u);
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  EXPECT_EQ(line, "epoch,seconds,peak_bytes,loss,accuracy,val_loss,val_accuracy");
  int lines = 0;
  while (std::getline(file, line)) ++lines;
  EXPECT_EQ(lines, 3);
  std::filesystem::remove(path);
}

/// Keeps a tensor at every step.
struct Hoard final : nn::Callback {
  void on_step(nn::Fit&, const nn::Scores&) override { kept.push_back(ones({100})); }
  std::vector<Tensor> kept;
};

TEST(Fit, CatchesACallbackThatKeepsTensors) {
  Setting setting;
  EXPECT_THROW(nn::fit(setting.trainer, points(640).batch(16),
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

TEST(Fit, NamesTheOpThatMadeTheFirstNaN) {
  seed(1);
  const nn::Sequential model(nn::Dense(2, 2),
                             nn::Lambda("Root", [](Tensor x) { return sqrt(std::move(x)); }));
  nn::Sgd sgd(model.trainable(), 0.1);
  nn::Trainer trainer(model,
                      [](const Tensor& y, const Tensor& target) { return mse_loss(y, target); },
                      sgd, {.check_numbers = true});
  try {
    trainer.step(tensor({{-5.0, 3.0}, {4.0, -2.0}}), zeros({2, 2}));
    FAIL();
  } catch (const NumberError& error) {
    EXPECT_NE(std::string(error.what()).find("sqrt"), std::string::npos) << error.what();
  }
}

TEST(Fit, SmallBatchesAddUpToALargeOne) {
  const Tensor x = normal({32, 2});
  const Tensor target = randint(0, 2, {32});
  const auto train = [&](int parts) {
    seed(5);
    nn::Sequential model(nn::Dense(2, 8), nn::Tanh(), nn::Dense(8, 2));
    nn::Sgd sgd(model.trainable(), 0.5);
    nn::Trainer trainer(model, loss_of, sgd, {.accumulate = parts});
    for (int step = 0; step < 3; ++step) {
      for (const Tensor& i : split(arange(0, 32), 32 / parts))
        trainer.step(take(x, i), take(target, i));
    }
    EXPECT_EQ(sgd.steps(), 3);
    return trainer.score(x, target).loss;
  };
  EXPECT_NEAR(train(1), train(4), 1e-5);
}

TEST(Fit, LossScaleSkipsStepsThatAreNotFinite) {
  seed(5);
  const nn::Sequential model(nn::Dense(2, 8), nn::Tanh(), nn::Dense(8, 2));
  nn::Sgd sgd(model.trainable(), 0.1);
  const double inf = std::numeric_limits<double>::infinity();
  EXPECT_THROW(nn::Trainer(model, loss_of, sgd, {.loss_scale = nn::LossScale{.initial = inf}}),
               ValueError);
  nn::Trainer trainer(model, loss_of, sgd,
                      {.loss_scale = nn::LossScale{.initial = 1024, .growth_interval = 2}});
  const Tensor x = normal({8, 2});
  const Tensor target = randint(0, 2, {8});
  const auto scale = [&] {
    for (const nn::NamedVariable& own : trainer.variables()) {
      if (own.name == "trainer/scale") return own.variable.value().item<float>();
    }
    return 0.F;
  };
  trainer.step(full({8, 2}, inf), target);
  EXPECT_EQ(sgd.steps(), 0);
  EXPECT_EQ(scale(), 512);
  trainer.step(x, target);
  EXPECT_EQ(sgd.steps(), 1);
  EXPECT_EQ(scale(), 512);
  trainer.step(x, target);
  EXPECT_EQ(scale(), 1024);
  trainer.step(full({8, 2}, inf), target);
  trainer.step(x, target);
  EXPECT_EQ(sgd.steps(), 3);
  EXPECT_EQ(scale(), 512);
}

TEST(Fit, RefusesBatchesWithoutATarget) {
  Setting setting;
  EXPECT_THROW(
      nn::fit(setting.trainer, data::from_tensors({normal({8, 2})}).batch(4), {.progress = kQuiet}),
      ValueError);
  EXPECT_THROW(nn::fit(setting.trainer, points(0).batch(4), {.progress = kQuiet}), ValueError);
}

TEST(Fit, LayersMayBeFrozenBetweenSteps) {
  for (const int parts : {1, 2}) {
    const nn::Dense first(2, 4);
    const nn::Dense second(4, 2);
    const nn::Sequential model(first, nn::Tanh(), second);
    nn::Sgd sgd(model.trainable(), 0.1, {.momentum = 0.9, .weight_decay = 0.1});
    nn::Trainer trainer(model, loss_of, sgd, {.accumulate = parts, .clip_norm = 1.0});
    const Tensor x = normal({8, 2});
    const Tensor target = randint(0, 2, {8});
    const auto change = [&](const nn::Dense& layer) {
      const Tensor before = clone(layer.kernel().value());
      for (int i = 0; i < parts; ++i) trainer.step(x, target);
      return max(abs(layer.kernel().value() - before)).item<float>();
    };
    EXPECT_GT(change(first), 0);
    first.freeze();
    EXPECT_EQ(change(first), 0);
    EXPECT_GT(change(second), 0);
    first.unfreeze();
    EXPECT_GT(change(first), 0);
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
