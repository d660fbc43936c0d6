#include <gtest/gtest.h>

#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "tenure/tenure.h"

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
