#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

#include "tenure/tenure.h"
#include "tests/support/expect.h"

// Models of several inputs and outputs, parts that are taken out, and pictures of trainings.

namespace tenure {
namespace {

using test::expect_throws;

class Two final : public nn::Model {
 public:
  Two() : Model("Two") {
    add("left", left_);
    add("right", right_);
    add("head", head_);
  }
  using Layer::add;
  using Layer::remove;

 protected:
  std::vector<Tensor> forward_all(std::vector<Tensor> in) const override {
    const Tensor hidden = tanh(left_(in.at(0)) + right_(in.at(1)));
    return {head_(hidden), mean(hidden, 1, true)};
  }

 private:
  nn::Dense left_{3, 4};
  nn::Dense right_{2, 4};
  nn::Dense head_{4, 2};
};

Tensor both(const nn::Tensors& outputs, const nn::Tensors& targets) {
  return cross_entropy(outputs[0], targets[0]) + mse_loss(outputs[1], targets[1]);
}

TEST(Model, OfSeveralInputsAndOutputsIsTrained) {
  seed(1);
  const Two net;
  const nn::Tensors x{normal({16, 3}), normal({16, 2})};
  const nn::Tensors targets{zeros({16}, DType::int64), ones({16, 1})};
  const std::vector<Tensor> made = net.call(x);
  ASSERT_EQ(made.size(), 2U);
  EXPECT_EQ(made[1].shape(), (Shape{16, 1}));
  nn::Adam adam(net.trainable(), 0.05);
  nn::Trainer trainer(net, both, adam, {.inputs = 2});
  EXPECT_EQ(trainer.plan(x, targets).batch, 16 * (3 + 2 + 1) * 4 + 16 * 8);
  const double first = trainer.step(x, targets).loss;
  const data::Dataset data = data::from_tensors({x[0], x[1], targets[0], targets[1]}).batch(8);
  const nn::History history =
      nn::fit(trainer, data, {.epochs = 10, .progress = nn::Progress::none});
  EXPECT_LT(history.epochs.back().training.loss, first);
  EXPECT_LT(nn::evaluate(trainer, data).loss, first);
  EXPECT_EQ(trainer.predict(x).size(), 2U);
  EXPECT_EQ(nn::summarize(net, nn::Tensors{spec({1, 3}), spec({1, 2})}).rows.size(), 4U);
}

TEST(Model, RefusesOtherNumbersOfThings) {
  const Two net;
  nn::Sgd sgd(net.trainable(), 0.1);
  nn::Trainer trainer(net, both, sgd, {.inputs = 2});
  const Tensor x = ones({4, 3});
  expect_throws<ValueError>([&] { trainer.step(nn::Tensors{}, nn::Tensors{x}); }, {"a batch has"});
  expect_throws<ValueError>([&] { nn::Dense(3, 2).call({x, x}); }, {"takes one input, not 2"});
  expect_throws<ValueError>(
      [&] {
        nn::fit(trainer, data::from_tensors({x, x}).batch(2));
      },
      {"2 inputs, target"});
  const nn::Loss single = [](const Tensor& y, const Tensor& t) { return mse_loss(y, t); };
  expect_throws<ValueError>([&] { single({x, x}, {x}); }, {"is given 2 and 1"});
  class One final : public nn::Model {
   public:
    One() : Model("One") {}

   protected:
    std::vector<Tensor> forward_all(std::vector<Tensor> in) const override {
      return {in[0], in[0]};
    }
  };
  expect_throws<ValueError>([&] { One()(x); }, {"gives 2 outputs"});
}

TEST(Model, TrainersNoticeThatAPartIsTakenOut) {
  Two net;
  nn::Sgd sgd(net.trainable(), 0.1);
  nn::Trainer trainer(net, both, sgd, {.inputs = 2});
  const std::string before = net.modes();
  EXPECT_TRUE(net.remove("head"));
  EXPECT_FALSE(net.remove("head"));
  net.add("head", nn::Dense(4, 2));
  EXPECT_NE(net.modes(), before) << "traces must not be taken for those of another model";
  expect_throws<ValueError>(
      [&] {
        trainer.step({ones({4, 3}), ones({4, 2})}, {zeros({4}, DType::int64), ones({4, 1})});
      },
      {"make an optimizer and a trainer"});
}

TEST(Plot, LeavesOutWhatIsNotFinite) {
  nn::History history{.metrics = {"a <b>"}};
  for (int i = 1; i <= 5; ++i) {
    const double loss = i == 3 ? std::numeric_limits<double>::quiet_NaN() : 1.0 / i;
    history.epochs.push_back(
        {.number = i, .training = {.loss = loss, .metrics = {0.5}}, .validation = std::nullopt});
  }
  const std::string svg = nn::plot(history);
  EXPECT_EQ(svg.find("nan"), std::string::npos);
  EXPECT_NE(svg.find("a &lt;b&gt;"), std::string::npos);
  EXPECT_EQ(svg.find("dashed"), std::string::npos);
  std::size_t lines = 0;
  for (std::size_t at = 0; (at = svg.find("<polyline", at)) != std::string::npos; ++at) ++lines;
  EXPECT_EQ(lines, 3U) << "the loss before and after the gap, and the metric";
  EXPECT_NE(nn::plot({}).find("</svg>"), std::string::npos);
}

}  // namespace
}  // namespace tenure
