#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tenure/base/user_site.h"
#include "tenure/tenure.h"
#include "tests/support/scratch.h"

// What layers, optimizers and trainers make bears lines of the program that uses them.

namespace tenure {
namespace {

bool is_here(Site site) { return std::string(site.file_name()).ends_with("nn/site_test.cpp"); }

void expect_here(const std::vector<nn::NamedVariable>& variables) {
  EXPECT_FALSE(variables.empty());
  for (const auto& [name, variable] : variables) {
    EXPECT_TRUE(is_here(variable.created())) << name << ": " << variable.created().file_name();
    EXPECT_TRUE(is_here(variable.value().created())) << name;
  }
}

/// Applies a layer; all that it makes bears one line.
void expect_line_of_call(const nn::Layer& layer, const Tensor& x) {
  SCOPED_TRACE(layer.kind());
  GradientTape tape;
  if (is_floating(x.dtype())) tape.watch(x);
  const Tensor y = layer(x);
  const std::uint_least32_t line = __LINE__ - 1;
  EXPECT_TRUE(is_here(y.created()));
  EXPECT_EQ(y.created().line(), line);
  for (const SavedTensor& saved : tape.saved().tensors) {
    EXPECT_TRUE(is_here(saved.site)) << saved.op << ": " << saved.site.file_name();
    EXPECT_EQ(saved.site.line(), line) << saved.op;
  }
  const auto f = function([&](const Tensor& t) { return layer(t); });
  for (const Plan::Step& step : f.plan(x).steps) {
    EXPECT_TRUE(is_here(step.site)) << step.op << ": " << step.site.file_name();
  }
  Graph graph;
  const Tensor symbol = graph.placeholder("x", x.dtype(), x.shape());
  EXPECT_TRUE(is_here(layer(symbol).created()));
}

TEST(Site, OfWhatLayersComputeIsTheCall) {
  const Tensor x = normal({2, 3, 8});
  const Tensor images = normal({2, 6, 6, 8});
  expect_line_of_call(nn::Dense(8, 4), x);
  expect_line_of_call(nn::Embedding(9, 4), zeros({2, 3}, DType::int64));
  expect_line_of_call(nn::LayerNorm(8), x);
  expect_line_of_call(nn::RmsNorm(8), x);
  expect_line_of_call(nn::GroupNorm(2, 8), images);
  for (const bool training : {true, false}) {
    const nn::BatchNorm norm(8);
    norm.train(training);
    expect_line_of_call(norm, images);
    expect_here(norm.variables());
  }
  expect_line_of_call(nn::Conv1d(8, 4, 2), x);
  expect_line_of_call(nn::Conv2d(8, 4, 3), images);
  expect_line_of_call(nn::Conv2d(8, 4, 3, {.bias = false}), images);
  expect_line_of_call(nn::MaxPool2d(2), images);
  expect_line_of_call(nn::AvgPool2d(2), images);
  expect_line_of_call(nn::GlobalAvgPool2d(), images);
  expect_line_of_call(nn::Dropout(0.5), x);
  expect_line_of_call(nn::MultiHeadAttention(8, 2), x);
  expect_line_of_call(nn::TransformerBlock(8, 2, {.dropout = 0.5}), x);
  for (const nn::Lambda& layer : {nn::Relu(), nn::Tanh(), nn::Sigmoid(), nn::Gelu(), nn::Silu(),
                                  nn::Softmax(), nn::Flatten()}) {
    expect_line_of_call(layer, x);
  }
  const nn::Dense frozen(8, 4);
  frozen.freeze();
  expect_line_of_call(frozen, x);
}

TEST(Site, OfWhatPartsComputeIsTheCallOfTheWhole) {
  const nn::Sequential model(nn::Dense(8, 8), nn::TransformerBlock(8, 2), nn::Relu());
  expect_line_of_call(model, normal({2, 3, 8}));
  expect_here(model.variables());
}

TEST(Site, OfADisposedInputIsTheCall) {
  const nn::Sequential model(nn::Dense(4, 4));
  const Tensor x = ones({1, 4});
  x.dispose();
  try {
    model(x);
    FAIL();
  } catch (const DisposedError& error) {
    EXPECT_TRUE(is_here(error.used()));
    EXPECT_EQ(error.used().line(), static_cast<std::uint_least32_t>(__LINE__ - 4));
  }
}

TEST(Site, OfOptimizersIsWhereTheyAreMadeAndApplied) {
  const nn::Dense layer(3, 2, {.dtype = DType::bfloat16});
  const auto parameters = layer.parameters();
  const auto check = [&](nn::Optimizer& optimizer) {
    expect_here(optimizer.state());
    optimizer.apply({ones({3, 2}, DType::bfloat16), ones({2}, DType::bfloat16)});
    expect_here(optimizer.state());
    expect_here(layer.parameters());
  };
  nn::Sgd sgd(parameters, 0.1);
  check(sgd);
  nn::Sgd momentum(parameters, 0.1, {.momentum = 0.9});
  check(momentum);
  nn::Adam adam(parameters);
  check(adam);
  nn::AdamW adamw(parameters);
  check(adamw);
  nn::Rmsprop rmsprop(parameters);
  check(rmsprop);
  nn::Adagrad adagrad(parameters);
  check(adagrad);
  nn::Lion lion(parameters);
  check(lion);
}

TEST(Site, OfWhatATrainerCompilesIsOfTheProgram) {
  const nn::Dense model(4, 2);
  nn::Adam adam(model.trainable());
  const nn::Loss loss = [](const Tensor& y, const Tensor& target) { return mse_loss(y, target); };
  const auto trainer =
      std::make_unique<nn::Trainer>(model, loss, adam);  // in a line of the library
  const Tensor y = trainer->predict(ones({3, 4}));
  EXPECT_TRUE(is_here(y.created())) << y.created().file_name();
  nn::Trainer plain(model, loss, adam);
  EXPECT_EQ(plain.predict(ones({3, 4})).created().line(),
            static_cast<std::uint_least32_t>(__LINE__ - 2));
}

TEST(Site, OfCollectedGradientsIsTheTrainer) {
  const nn::Dense model(4, 2);
  nn::Adam adam(model.trainable());
  const nn::Loss loss = [](const Tensor& y, const Tensor& target) { return mse_loss(y, target); };
  const nn::TrainerOptions options{
      .accumulate = 2, .clip_norm = 1.0, .loss_scale = nn::LossScale{.growth_interval = 1}};
  nn::Trainer trainer(model, loss, adam, options);
  const Tensor x = normal({3, 4});
  const Tensor target = zeros({3, 2});
  expect_here(trainer.variables());
  for (int i = 0; i < 4; ++i) trainer.step(x, target);
  trainer.step(full({3, 4}, std::numeric_limits<float>::infinity()), target);
  trainer.step(x, target);
  expect_here(trainer.variables());
  for (const Plan::Step& step : trainer.plan(x, target).plan.steps) {
    EXPECT_TRUE(is_here(step.site)) << step.op << ": " << step.site.file_name();
  }
  for (const Tensor& clipped : nn::clip_by_value(nn::clip_by_global_norm({x}, 1.0), 0.1)) {
    EXPECT_TRUE(is_here(clipped.created()));
  }
}

/// What is made while f runs bears lines of this file.
void expect_lines_here(const char* what, const std::function<void()>& f) {
  const Recording recording(100'000);
  f();
  for (const MemoryEvent& event : recording.events()) {
    if (user_site(event.site).line() == 0) continue;
    EXPECT_TRUE(is_here(event.site))
        << what << ": " << (event.op == nullptr ? "" : event.op) << " at " << event.site.file_name()
        << ':' << event.site.line();
  }
}

TEST(Site, NothingBearsALineOfTheLibrary) {
  const Tensor x = uniform({6, 4});
  const Tensor target = uniform({6, 4});
  const Tensor places = randint(0, 6, {6, 4});
  expect_lines_here("losses", [&] {
    GradientTape outer;
    outer.watch(std::vector{x, target});
    GradientTape tape;
    tape.watch(std::vector{x, target});
    const Tensor loss = mse_loss(x, target) + l1_loss(x, target) + huber_loss(x, target) +
                        binary_cross_entropy_with_logits(x, target) + kl_divergence(x, target) +
                        cross_entropy(x, target);
    const auto first = tape.gradient(loss, std::vector{x, target});
    outer.gradient(sum(first[0]) + sum(first[1]), std::vector{x, target});
  });
  expect_lines_here("indexing", [&] {
    GradientTape tape;
    tape.watch(x);
    const Tensor all = scatter(x, 0, places, x) + scatter(x, 0, places, x, ScatterMode::add) +
                       scatter(x, 0, places, x, ScatterMode::multiply) + gather(x, 0, places) +
                       sort(x, 0) + cumsum(x, 0) + cumprod(x, 1) + clamp(x, 0.2, 0.8) +
                       where(x > 0.5, x, pow(x, 2.5));
    tape.gradient(sum(all) + sum(var(x, {0})) + sum(norm(x, 2, {1})) + sum(max(x, {0})) +
                      sum(prod(x, {0})) + sum(logsumexp(x, {1})),
                  x);
  });
  expect_lines_here("control flow", [&] {
    const auto row = [](const Tensor& c, const Tensor& r) { return std::pair(c + r, c * r); };
    const auto f = function([&](const Tensor& t) {
      const Tensor chosen = cond(
          greater(sum(t), 0), [&] { return t * 2; }, [&] { return neg(t); });
      return scan(row, zeros({4}), chosen).second;
    });
    GradientTape tape;
    tape.watch(x);
    const Tensor y = sum(f(x));
    tape.gradient(y, x);
  });
  expect_lines_here("training", [&] {
    const nn::Sequential model(nn::Dense(4, 8), nn::LayerNorm(8), nn::Gelu(), nn::Dense(8, 4));
    nn::Adam adam(model.trainable());
    const nn::TrainerOptions options{.metrics = {nn::binary_accuracy(), nn::mean_absolute_error()},
                                     .accumulate = 2,
                                     .clip_norm = 1.0};
    const nn::Loss loss = [](const Tensor& y, const Tensor& t) { return mse_loss(y, t); };
    nn::Trainer trainer(model, loss, adam, options);
    const data::Dataset batches = data::from_tensors({x, target}).shuffle(1).batch(2);
    nn::fit(trainer, batches,
            {.validation = batches,
             .schedule = nn::schedule::cosine(0.1, 100),
             .progress = nn::Progress::none});
    nn::predict(trainer, batches);
    const Tensor classes = randint(0, 4, {6});
    nn::accuracy().value(x, classes);
    nn::top_k_accuracy(2).value(x, classes);
    nn::summarize(trainer, x, target);
    const test::Scratch scratch;
    nn::save_weights(model, scratch / "weights");
    nn::load_weights(model, scratch / "weights");
    save_npy(scratch / "x.npy", slice(x, 1, 1, 3));
  });
}

TEST(Site, OfLoadedWeightsIsTheCall) {
  const test::Scratch scratch;
  const nn::Dense model(4, 2);
  nn::save_weights(model, scratch / "weights");
  nn::load_weights(model, scratch / "weights");
  expect_here(model.variables());
}

TEST(Site, OfErrorsOfConstructorsIsTheCall) {
  const nn::Dense model(4, 2);
  nn::Sgd sgd(model.trainable(), 0.1);
  const nn::Loss loss = [](const Tensor& y, const Tensor& t) { return mse_loss(y, t); };
  nn::Trainer trainer(model, loss, sgd);
  const data::Dataset rows = data::from_tensors({ones({4, 4}), ones({4, 2})});
  const std::vector<std::function<void()>> calls{
      [] { nn::Dense(0, 4); },
      [] { nn::Conv2d(1, 0, 3); },
      [] { nn::Conv2d(1, 1, -3); },
      [] { nn::Conv2d(3, 4, 3, {.groups = 2}); },
      [] { nn::Embedding(-1, 3); },
      [] { nn::LayerNorm(-1); },
      [] { nn::RmsNorm(0); },
      [] { nn::BatchNorm(-8); },
      [] { nn::GroupNorm(3, 8); },
      [] { nn::Dropout(1.5); },
      [] { nn::MultiHeadAttention(8, 3); },
      [] { nn::TransformerBlock(8, 3); },
      [&] { nn::Adam(model.trainable(), 1e-3, {.beta1 = 2}); },
      [&] { nn::Trainer(model, loss, sgd, {.accumulate = 0}); },
      [&] { nn::fit(trainer, rows); },
      [&] { nn::fit(trainer, rows.batch(2), {.epochs = -1}); },
      [&] { nn::evaluate(trainer, rows); },
      [&] { nn::clip_by_value({}, -1); },
      [&] { nn::load_weights(model, "/nowhere/at/all"); },
  };
  std::uint_least32_t line = __LINE__ - 20;
  for (const auto& call : calls) {
    try {
      call();
      ADD_FAILURE() << "nothing was thrown at line " << line;
    } catch (const Error& error) {
      const std::string text = error.what();
      const std::string place = "site_test.cpp:" + std::to_string(line);
      EXPECT_NE(text.find(place), std::string::npos) << text;
    }
    ++line;
  }
}

TEST(Site, OfATrainingStepIsWhereLayersWereMade) {
  nn::Sequential model;
  model.push_back(nn::Dense(4, 8));
  model.push_back(nn::Gelu());
  model.push_back(nn::Dense(8, 2));
  const std::uint_least32_t last = __LINE__ - 1;
  nn::Adam adam(model.trainable());
  const nn::Loss loss = [](const Tensor& y, const Tensor& target) { return mse_loss(y, target); };
  nn::Trainer trainer(model, loss, adam, {.check_numbers = true});
  const Tensor x = normal({3, 4});
  const Tensor target = zeros({3, 2});
  for (const Plan::Step& step : trainer.plan(x, target).plan.steps) {
    EXPECT_TRUE(is_here(step.site)) << step.op << ": " << step.site.file_name();
  }
  try {
    trainer.step(full({3, 4}, std::numeric_limits<float>::infinity()), target);
    FAIL();
  } catch (const NumberError& error) {
    EXPECT_TRUE(is_here(error.site())) << error.what();
    EXPECT_GE(error.site().line(), last - 2);
    EXPECT_LE(error.site().line(), last);
  }
}

}  // namespace
}  // namespace tenure
