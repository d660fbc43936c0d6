#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <limits>
#include <optional>
#include <sstream>
#include <thread>
#include <utility>
#include <vector>

#include "tenure/tenure.h"
#include "tests/nn/fit_setting.h"
#include "tests/support/expect.h"

namespace tenure {
namespace {

using test::kQuiet;
using test::loss_of;
using test::points;
using test::Setting;
using test::temporary;

TEST(Fit, LearnsAndHoldsItsMemory) {
  Setting setting;
  const data::Dataset batches = points(512).shuffle(1).batch(64);
  const nn::History history = nn::fit(setting.trainer, batches, {.epochs = 60, .progress = kQuiet});
  ASSERT_EQ(history.epochs.size(), 60u);
  EXPECT_LT(history.epochs.back().training.loss, 0.5 * history.epochs.front().training.loss);
  EXPECT_GT(nn::evaluate(setting.trainer, batches).metrics[0], 0.9);
  EXPECT_EQ(nn::predict(setting.trainer, batches).shape(), (Shape{512, 2}));
}

/// Scores of steps that were given one behind the other are those of the steps, in whatever order
/// they are asked for.
TEST(Trainer, GivesScoresLater) {
  const auto scores = [](bool is_ahead) {
    Setting setting;
    std::vector<nn::LateScores> late;
    std::vector<double> found;
    for (const data::Batch& batch : points(64).batch(16)) {
      if (is_ahead) {
        late.push_back(setting.trainer.step_ahead(batch[0], batch[1]));
      } else {
        const nn::Scores now = setting.trainer.step(batch[0], batch[1]);
        found.insert(found.end(), {now.loss, now.metrics[0]});
      }
    }
    for (std::size_t i = late.size(); i-- > 0;) {
      const nn::Scores& one = late[i].get();
      EXPECT_EQ(&late[i].get(), &one);
      found.insert(found.begin(), {one.loss, one.metrics[0]});
    }
    return found;
  };
  EXPECT_EQ(scores(true), scores(false));
  EXPECT_EQ(scores(true).size(), 8u);
}

TEST(Trainer, ScoresThatComeLaterOutliveTheirScope) {
  const auto scores = [](nn::TrainerOptions options, bool is_in_scope) {
    Setting setting(std::move(options));
    std::vector<nn::LateScores> late;
    std::vector<double> found;
    for (const data::Batch& batch : points(64).batch(16)) {
      std::optional<Scope> scope;
      if (is_in_scope) scope.emplace();
      late.push_back(setting.trainer.step_ahead(batch[0], batch[1]));
    }
    for (const nn::LateScores& one : late) {
      found.insert(found.end(), {one.get().loss, one.get().metrics[0]});
    }
    return found;
  };
  for (const int parts : {1, 2}) {
    const nn::TrainerOptions options{.metrics = {nn::accuracy()}, .accumulate = parts};
    EXPECT_EQ(scores(options, true), scores(options, false));
  }
}

TEST(Trainer, HoldsNoScoresThatAreThere) {
  Setting setting;
  for (const data::Batch& batch : points(32).batch(16)) {
    setting.trainer.step(batch[0], batch[1]);
    const std::int64_t before = memory().tensors;
    const nn::LateScores late = setting.trainer.step_ahead(batch[0], batch[1]);
    // A device that computes later has two of them, until somebody waits.
    EXPECT_EQ(memory().tensors, default_device() == cpu ? before : before + 2);
    EXPECT_GT(late.get().loss, 0);
    EXPECT_EQ(memory().tensors, before);
  }
}

TEST(Trainer, ThreadsMayAskForScoresAtOnce) {
  Setting setting;
  std::vector<nn::LateScores> late;
  for (const data::Batch& batch : points(64).batch(16)) {
    late.push_back(setting.trainer.step_ahead(batch[0], batch[1]));
  }
  std::vector<std::vector<double>> found(4);
  std::vector<std::thread> threads;
  for (std::vector<double>& losses : found) {
    threads.emplace_back([&] {
      for (const nn::LateScores& one : late) losses.push_back(one.get().loss);
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::vector<double>& losses : found) EXPECT_EQ(losses, found[0]);
  EXPECT_EQ(found[0].size(), 4u);
}

TEST(Fit, EndsWithinTheValidationOnControlC) {
  Setting setting;
  int seen = 0;
  const data::Dataset batches = data::from_function(100, [&](std::int64_t i) {
    ++seen;
    if (i == 2) std::raise(SIGINT);
    return data::Batch{ones({4, 2}), zeros({4}, DType::int64)};
  });
  const nn::History history =
      nn::fit(setting.trainer, points(32).batch(16), {.validation = batches, .progress = kQuiet});
  EXPECT_EQ(history.reason, "interrupted");
  EXPECT_TRUE(history.epochs.empty());
  EXPECT_EQ(seen, 3);
  EXPECT_EQ(setting.adam.steps(), 2);
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

TEST(Fit, ALogThatCannotBeWrittenIsOneSentence) {
  Setting setting;
  const nn::FitOptions options{.callbacks = {std::make_shared<nn::CsvLog>("/no/such/log.csv")},
                               .progress = kQuiet};
  test::expect_throws<FileError>([&] { nn::fit(setting.trainer, points(64).batch(16), options); },
                                 {"cannot write \"/no/such/log.csv\": No such file"});
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

/// A batch without rows has means of nothing, which count nothing; there are as many as metrics.
TEST(Fit, BatchesWithoutRowsAddNothing) {
  Setting setting;
  const data::Dataset some = points(32).batch(16);
  const nn::Scores want = nn::evaluate(setting.trainer, some);
  const auto with_empty = data::from_function(3, [&](std::int64_t i) {
    return i == 1 ? data::Batch{zeros({0, 2}), zeros({0}, int64)} : some.at(i / 2);
  });
  const nn::Scores got = nn::evaluate(setting.trainer, with_empty);
  EXPECT_EQ(got.loss, want.loss);
  EXPECT_EQ(got.metrics, want.metrics);
  const nn::Scores none = nn::evaluate(setting.trainer, with_empty.skip(1).take(1));
  EXPECT_EQ(none.loss, 0);
  EXPECT_EQ(none.metrics, std::vector<double>{0});
}

TEST(Fit, RefusesDatasetsWithoutBatches) {
  Setting setting;
  const data::Dataset some = points(32).batch(16);
  const data::Dataset none = some.take(0);
  EXPECT_THROW(nn::evaluate(setting.trainer, none), ValueError);
  EXPECT_THROW(nn::fit(setting.trainer, none, {.progress = kQuiet}), ValueError);
  EXPECT_THROW(nn::fit(setting.trainer, some, {.validation = none, .progress = kQuiet}),
               ValueError);
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

}  // namespace
}  // namespace tenure
