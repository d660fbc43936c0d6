#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <limits>

#include "tenure/tenure.h"
#include "tests/support/expect.h"
#include "tests/support/scratch.h"

// What training refuses before it does harm.

namespace tenure {
namespace {

using test::expect_throws;

constexpr auto kQuiet = nn::Progress::none;

std::vector<float> values_of(const nn::Layer& model) {
  std::vector<float> all;
  for (const nn::NamedVariable& own : model.variables()) {
    const auto values = own.variable.value().to_vector<float>();
    all.insert(all.end(), values.begin(), values.end());
  }
  return all;
}

Tensor squares(const Tensor& prediction, const Tensor& target) {
  return square(prediction - target);
}
Tensor mean_square(const Tensor& prediction, const Tensor& target) {
  return mean(squares(prediction, target));
}

/// Of every way to make a step.
std::vector<nn::TrainerOptions> ways(const nn::Metric& metric) {
  return {{.metrics = {metric}},
          {.metrics = {metric}, .accumulate = 2},
          {.metrics = {metric}, .loss_scale = nn::LossScale{}}};
}

nn::Metric fine() {
  return {"fine", [](const Tensor& y, const Tensor& t) { return mean_square(y, t); }};
}

TEST(Checks, ALossThatIsNoNumberChangesNothing) {
  const std::vector<std::pair<nn::Loss, nn::Metric>> wrong{
      {squares, fine()},
      {[](const Tensor& y, const Tensor& t) { return reshape(mean_square(y, t), {1}); }, fine()},
      {[](const Tensor& y, const Tensor&) { return cast(sum(y), DType::int64); }, fine()},
      {mean_square, {"odd", squares}}};
  for (const auto& [loss, metric] : wrong) {
    for (const nn::TrainerOptions& options : ways(metric)) {
      const nn::Dense model(3, 2);
      nn::Sgd sgd(model.trainable(), 0.1);
      nn::Trainer trainer(model, loss, sgd, options);
      const std::vector<float> before = values_of(model);
      for (int i = 0; i < 2; ++i) {
        EXPECT_THROW(trainer.step(ones({4, 3}), zeros({4, 2})), Error);
      }
      EXPECT_EQ(values_of(model), before);
      EXPECT_EQ(sgd.steps(), 0);
      EXPECT_THROW(trainer.score(ones({4, 3}), zeros({4, 2})), Error);
    }
  }
  const nn::Dense model(3, 2);
  nn::Sgd sgd(model.trainable(), 0.1);
  nn::Trainer trainer(model, squares, sgd);
  expect_throws<ShapeError>(
      [&] {
        trainer.step(ones({4, 3}), zeros({4, 2}));
      },
      {"the loss has shape [4, 2]", "mean()", "checks_test.cpp"});
}

/// Uses two layers, and says of one alone that it does.
class Forgetful final : public nn::Layer {
 public:
  explicit Forgetful(bool frozen = false) : Layer("Forgetful") {
    add("a", a_);
    b_.freeze(frozen);
  }
  Tensor forward(Tensor x) const override { return b_(tanh(a_(std::move(x)))); }

  nn::Dense a_{3, 3};
  nn::Dense b_{3, 2};
};

TEST(Checks, ALayerThatWasNeverAddedIsRefused) {
  const Forgetful model;
  nn::Sgd sgd(model.trainable(), 0.1);
  nn::Trainer trainer(model, mean_square, sgd);
  const std::vector<float> before = values_of(model);
  expect_throws<ValueError>(
      [&] {
        trainer.step(ones({4, 3}), zeros({4, 2}));
      },
      {"Forgetful computes with the variable", "no part of it", "add("});
  EXPECT_EQ(values_of(model), before);
}

TEST(Checks, WhatIsAnybodysMayBeUsed) {
  const Tensor x = ones({4, 3});
  const Tensor target = zeros({4, 2});
  {
    const Forgetful model(true);  // frozen: nobody wants it to learn
    nn::Sgd sgd(model.trainable(), 0.1);
    nn::Trainer(model, mean_square, sgd).step(x, target);
  }
  {
    const Forgetful model;  // the optimizer has both
    std::vector<nn::NamedVariable> all = model.trainable();
    for (const nn::NamedVariable& own : model.b_.trainable()) {
      all.push_back({"b/" + own.name, own.variable});
    }
    nn::Sgd sgd(all, 0.1);
    nn::Trainer(model, mean_square, sgd).step(x, target);
  }
  {
    const nn::Dense model(3, 2);  // the loss may judge by another model
    const nn::Dense judge(2, 1);
    nn::Sgd sgd(model.trainable(), 0.1);
    const std::vector<float> before = values_of(judge);
    nn::Trainer(
        model, [&](const Tensor& y, const Tensor&) { return mean(judge(y)); }, sgd)
        .step(x, target);
    EXPECT_EQ(values_of(judge), before);
  }
}

TEST(Checks, ParametersThatTheLossDoesNotUseStay) {
  /// One of its two heads is used.
  class TwoHeads final : public nn::Layer {
   public:
    TwoHeads() : Layer("TwoHeads") {
      add("used", used_);
      add("unused", unused_);
    }
    Tensor forward(Tensor x) const override { return used_(std::move(x)); }
    nn::Dense used_{3, 2};
    nn::Dense unused_{3, 2};
  };
  for (const nn::TrainerOptions& options : ways(fine())) {
    const TwoHeads model;
    nn::AdamW adam(model.trainable(), 0.1, {.weight_decay = 0.5});
    nn::Trainer trainer(model, mean_square, adam, options);
    const std::vector<float> used = values_of(model.used_);
    const std::vector<float> unused = values_of(model.unused_);
    for (int i = 0; i < 2; ++i) trainer.step(ones({4, 3}), zeros({4, 2}));
    EXPECT_NE(values_of(model.used_), used);
    EXPECT_EQ(values_of(model.unused_), unused);
  }
}

TEST(Checks, RowsAreNoBatches) {
  const nn::Dense model(3, 2);
  nn::Sgd sgd(model.trainable(), 0.1);
  nn::Trainer trainer(model, mean_square, sgd);
  const data::Dataset rows = data::from_tensors({ones({8, 3}), zeros({8, 2})});
  expect_throws<ValueError>([&] { nn::fit(trainer, rows, {.progress = kQuiet}); },
                            {"[3]", "[2]", "batch()"});
  const data::Dataset labels = data::from_tensors({ones({8, 3}), zeros({8})});
  expect_throws<ValueError>([&] { nn::fit(trainer, labels, {.progress = kQuiet}); }, {"batch()"});
  EXPECT_THROW(nn::evaluate(trainer, rows), ValueError);
  EXPECT_EQ(sgd.steps(), 0);
  nn::fit(trainer, rows.batch(4), {.progress = kQuiet});
}

TEST(Checks, ALossThatIsNotFiniteEndsTraining) {
  const nn::Dense model(1, 1);
  nn::Sgd sgd(model.trainable(), 1e30);
  nn::Trainer trainer(model, mean_square, sgd);
  const data::Dataset batches = data::from_tensors({ones({64, 1}), zeros({64, 1})}).batch(1);
  try {
    nn::fit(trainer, batches, {.progress = kQuiet});
    FAIL();
  } catch (const nn::DivergedError& error) {
    EXPECT_LT(error.step(), 64);
    EXPECT_EQ(error.step(), sgd.steps());
    EXPECT_FALSE(std::isfinite(error.loss()));
  }
  EXPECT_NO_THROW(nn::fit(trainer, batches, {.stop_at_nan = false, .progress = kQuiet}));
}

TEST(Checks, ALossThatStaysNotFiniteEndsTrainingWithALossScaleToo) {
  const nn::Dense model(1, 1);
  nn::Sgd sgd(model.trainable(), 0.1);
  nn::Trainer trainer(model, mean_square, sgd, {.loss_scale = nn::LossScale{}});
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const auto batches = [](double value, std::int64_t n) {
    return data::from_tensors({full({n, 1}, value), zeros({n, 1})}).batch(1);
  };
  EXPECT_NO_THROW(nn::fit(trainer, batches(nan, 31), {.progress = kQuiet}));
  EXPECT_THROW(nn::fit(trainer, batches(nan, 32), {.progress = kQuiet}), nn::DivergedError);
}

TEST(Checks, ALossScaleStaysANumber) {
  const auto train = [](double input, double factor) {
    const nn::Dense model(2, 1);
    nn::Sgd sgd(model.trainable(), 0.01);
    const auto loss = [factor](const Tensor& y, const Tensor& t) {
      return mean_square(y, t) * factor;
    };
    nn::Trainer trainer(model, loss, sgd, {.loss_scale = nn::LossScale{.growth_interval = 1}});
    for (int i = 0; i < 300; ++i) trainer.step(full({4, 2}, input), zeros({4, 1}));
    const std::int64_t steps = sgd.steps();
    trainer.step(ones({4, 2}), zeros({4, 1}));
    EXPECT_EQ(sgd.steps(), steps + 1);
    for (const float value : values_of(model)) EXPECT_TRUE(std::isfinite(value));
  };
  train(1, 1e-20);  // each step doubles it
  train(std::numeric_limits<double>::infinity(), 1);
}

TEST(Checks, ALossThatUsesNoParameterIsRefused) {
  for (const nn::TrainerOptions& options : ways(fine())) {
    const nn::Dense model(3, 2);
    nn::AdamW adam(model.trainable(), 0.1);
    const auto loss = [](const Tensor&, const Tensor& target) { return mean(target); };
    nn::Trainer trainer(model, loss, adam, options);
    expect_throws<ValueError>(
        [&] {
          trainer.step(ones({4, 3}), zeros({4, 2}));
        },
        {"none of the optimizer's parameters", "checks_test.cpp"});
    EXPECT_EQ(adam.steps(), 0);
    model.freeze();  // nobody wants it to learn
    trainer.step(ones({4, 3}), zeros({4, 2}));
  }
}

TEST(Checks, WhatIsNoFunctionIsRefused) {
  const nn::Dense model(3, 2);
  nn::Sgd sgd(model.trainable(), 0.1);
  EXPECT_THROW(nn::Trainer(model, nullptr, sgd), ValueError);
  EXPECT_THROW(nn::Trainer(model, mean_square, sgd, {.metrics = {{"none", nullptr}}}), ValueError);
  nn::Trainer trainer(model, mean_square, sgd);
  const data::Dataset batches = data::from_tensors({ones({8, 3}), zeros({8, 2})}).batch(4);
  EXPECT_THROW(nn::Fit(trainer, batches, {.callbacks = {nullptr}}), ValueError);
  nn::Trainer empty(
      model, [](const Tensor&, const Tensor&) { return Tensor(); }, sgd);
  expect_throws<ValueError>(
      [&] {
        empty.step(ones({4, 3}), zeros({4, 2}));
      },
      {"the loss is an empty handle", "checks_test.cpp"});
}

TEST(Checks, AStepTakesDataAlone) {
  for (const nn::TrainerOptions& options : ways(fine())) {
    const nn::Dense model(3, 2);
    nn::Sgd sgd(model.trainable(), 0.1);
    nn::Trainer trainer(model, mean_square, sgd, options);
    Graph graph("g");
    const Tensor x = graph.placeholder("x", DType::float32, {4, 3});
    const Tensor target = zeros({4, 2});
    const std::int64_t nodes = graph.nodes();
    expect_throws<SymbolError>([&] { trainer.step(x, target); }, {"step", "checks_test.cpp"});
    expect_throws<SymbolError>([&] { trainer.score(x, target); }, {"score", "checks_test.cpp"});
    EXPECT_THROW(trainer.step(spec({4, 3}), target), SymbolError);
    EXPECT_THROW(trainer.step(ones({4, 3}), Tensor()), EmptyTensorError);
    EXPECT_EQ(graph.nodes(), nodes);
    EXPECT_TRUE(graph.updates().empty());
    EXPECT_EQ(sgd.steps(), 0);
  }
}

TEST(Checks, ErrorsOfAStepNameTheProgramsLines) {
  const nn::Dense model(3, 2);
  nn::Sgd sgd(model.trainable(), 0.1);
  for (const nn::TrainerOptions& options : ways(fine())) {
    nn::Trainer trainer(model, mean_square, sgd, options);
    try {
      trainer.step(ones({4, 3}), zeros({4, 7}));
      FAIL();
    } catch (const ShapeError& error) {
      EXPECT_EQ(std::string(error.what()).find("steps.cpp"), std::string::npos) << error.what();
    }
  }
}

TEST(Checks, NamesOfMetricsDoNotBreakTheLog) {
  const test::Scratch scratch;
  const nn::Dense model(3, 2);
  nn::Sgd sgd(model.trainable(), 0.01);
  const std::string name = "error, \"squared\"\nand averaged";
  nn::Trainer trainer(model, mean_square, sgd, {.metrics = {{name, mean_square}}});
  nn::fit(trainer, data::from_tensors({ones({8, 3}), zeros({8, 2})}).batch(4),
          {.epochs = 2,
           .callbacks = {std::make_shared<nn::CsvLog>(scratch / "log.csv")},
           .progress = kQuiet});
  const data::Table log = data::read_csv(scratch / "log.csv");
  EXPECT_EQ(log.rows, 2);
  EXPECT_EQ(log.columns.back().name, name);
}

TEST(Checks, TheLogHasEachEpochOnceHoweverOftenTrainingGoesOn) {
  const test::Scratch scratch;
  const std::string log = scratch / "log.csv";
  const std::string saved = scratch / "fit";
  const data::Dataset batches = data::from_tensors({ones({8, 3}), zeros({8, 2})}).batch(4);
  const auto train = [&](int epochs, bool goes_on, int save_after) {
    const nn::Dense model(3, 2);
    nn::Sgd sgd(model.trainable(), 0.01);
    nn::Trainer trainer(model, mean_square, sgd);
    struct Saver final : nn::Callback {
      Saver(std::string path, int epoch) : path(std::move(path)), epoch(epoch) {}
      void after_epoch(nn::Fit& fit, const nn::Epoch& done) override {
        if (done.number == epoch) fit.save(path);
      }
      std::string path;
      int epoch;
    };
    nn::Fit fit(trainer, batches,
                {.epochs = epochs,
                 .callbacks = {std::make_shared<nn::CsvLog>(log),
                               std::make_shared<Saver>(saved, save_after)},
                 .progress = kQuiet});
    if (goes_on) fit.load(saved);
    fit.run();
  };
  const auto epochs = [&] {
    std::ifstream file(log);
    std::string line;
    std::string numbers;
    while (std::getline(file, line)) numbers += line.substr(0, line.find(',')) + ' ';
    return numbers;
  };
  train(3, false, 2);  // it is killed after its third epoch: the last checkpoint is of the second
  EXPECT_EQ(epochs(), "epoch 1 2 3 ");
  train(4, true, 2);
  EXPECT_EQ(epochs(), "epoch 1 2 3 4 ");
  train(4, true, 4);
  EXPECT_EQ(epochs(), "epoch 1 2 3 4 ");
  train(2, false, 0);  // another training adds to the file
  EXPECT_EQ(epochs(), "epoch 1 2 3 4 1 2 ");
}

TEST(Checks, BatchNormAveragesTheUnbiasedVariance) {
  const Tensor x = tensor({{1.F, 10.F}, {3.F, 30.F}, {8.F, 20.F}});
  for (const auto& [shape, channels] :
       {std::pair(Shape{3, 2}, Channels::last), std::pair(Shape{3, 1, 2}, Channels::last)}) {
    const nn::BatchNorm norm(2, {.momentum = 1, .channels = channels});
    static_cast<void>(norm(reshape(x, shape)));
    const auto found = norm.buffers()[1].variable.value().to_vector<float>();
    EXPECT_NEAR(found[0], 13, 1e-4);  // of 1, 3, 8
    EXPECT_NEAR(found[1], 100, 1e-3);
  }
  const nn::BatchNorm alone(1, {.momentum = 1});
  static_cast<void>(alone(ones({1, 1})));
  EXPECT_EQ(alone.buffers()[1].variable.value().item<float>(), 0);
}

}  // namespace
}  // namespace tenure
