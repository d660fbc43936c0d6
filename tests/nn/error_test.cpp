#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "tenure/tenure.h"

// What goes wrong inside a model names the layer by its path.

namespace tenure {
namespace {

class Attention : public nn::Layer {
 public:
  Attention() : Layer("Attention") {
    add("qkv", qkv_);
    add("out", out_);
  }

 private:
  Tensor forward(Tensor x) const override { return out_(qkv_(std::move(x))); }
  nn::Dense qkv_{8, 24};
  nn::Dense out_{8, 8};
};

class Block : public nn::Layer {
 public:
  Block() : Layer("Block") { add("attention", attention_); }

 private:
  Tensor forward(Tensor x) const override { return attention_(std::move(x)); }
  Attention attention_;
};

class Model : public nn::Layer {
 public:
  Model() : Layer("Model") {
    add("block1", first_);
    add("block2", second_);
  }
  const Block& second() const { return second_; }

 private:
  Tensor forward(Tensor x) const override { return second_(std::move(x)); }
  Block first_;
  Block second_;
};

std::string text_of(const std::function<void()>& f) {
  try {
    f();
  } catch (const Error& error) {
    return error.what();
  }
  return "nothing was thrown";
}

TEST(LayerError, NamesTheLayer) {
  const Model model;
  const std::string text = text_of([&] { model(ones({2, 8})); });
  EXPECT_NE(text.find("block2/attention/out"), std::string::npos) << text;
  EXPECT_NE(text.find("error_test.cpp:"), std::string::npos) << text;
  EXPECT_NE(text_of([&] { model(ones({2, 5})); }).find("block2/attention/qkv"), std::string::npos);
}

TEST(LayerError, NamesTheLayerInAFunctionToo) {
  const Model model;
  const auto f = function([&](const Tensor& x) { return model(x); });
  EXPECT_NE(text_of([&] { f(ones({2, 5})); }).find("block2/attention/qkv"), std::string::npos);
}

TEST(LayerError, OfALayersOwnCheckNamesItsCall) {
  const nn::MultiHeadAttention attention(8, 2);
  try {
    attention(ones({2, 8}));
    FAIL();
  } catch (const ShapeError& error) {
    const std::string line = "error_test.cpp:" + std::to_string(__LINE__ - 3);
    EXPECT_NE(std::string(error.what()).find(line), std::string::npos) << error.what();
  }
}

TEST(LayerError, VariablesHaveTheirPath) {
  const Model model;
  const nn::Dense used(8, 1);
  GradientTape tape;
  const Tensor y = sum(used(ones({2, 8})));
  std::vector<Variable> variables;
  for (const auto& parameter : model.trainable()) variables.push_back(parameter.variable);
  const std::string text = text_of([&] { tape.gradient(y, variables); });
  EXPECT_NE(text.find("variable \"block1/attention/qkv/kernel\""), std::string::npos) << text;
  const std::string fit = text_of([&] { variables.back().assign(ones({3})); });
  EXPECT_NE(fit.find("variable \"block2/attention/out/bias\""), std::string::npos) << fit;
}

TEST(LayerError, AVariableInTwoPlacesHasItsFirstPath) {
  class Twice : public nn::Layer {
   public:
    Twice() : Layer("Twice") {
      add("a", dense_);
      add("b", dense_);
    }

   private:
    Tensor forward(Tensor x) const override { return dense_(std::move(x)); }
    nn::Dense dense_{2, 2};
  };
  const Twice layer;
  const std::string text = text_of([&] { layer.parameters()[0].variable.assign(ones({3})); });
  EXPECT_NE(text.find("variable \"a/kernel\""), std::string::npos) << text;
}

TEST(OptimizerRate, IsWhatWasSet) {
  const nn::Dense layer(2, 2);
  nn::Sgd sgd(layer.trainable(), 0.1);
  EXPECT_EQ(sgd.learning_rate(), 0.1);
  sgd.set_learning_rate(0.3);
  EXPECT_EQ(sgd.learning_rate(), 0.3);
  sgd.set_learning_rate(1.0 / 3);
  EXPECT_EQ(sgd.learning_rate(), 1.0 / 3);
  // What a checkpoint puts back is a float: the shortest number that it stands for.
  for (const auto& [name, variable] : sgd.state()) {
    if (name.ends_with("/learning_rate")) variable.assign(full({}, 0.2));
  }
  EXPECT_EQ(sgd.learning_rate(), 0.2);
}

TEST(OptimizerError, NamesItsCall) {
  const nn::Dense layer(2, 2);
  nn::Sgd sgd(layer.trainable(), 0.1);
  try {
    sgd.apply({ones({2, 2}), ones({5})});
    FAIL();
  } catch (const ShapeError& error) {
    const std::string line = "error_test.cpp:" + std::to_string(__LINE__ - 3);
    EXPECT_NE(std::string(error.what()).find(line), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace tenure
