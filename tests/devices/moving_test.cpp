#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

#include "tenure/tenure.h"
#include "tests/support/expect.h"
#include "tests/support/same_bits.h"
#include "tests/support/scratch.h"
#include "tests/support/test_device.h"

// What users say to move their work to another device, on the test device.

namespace tenure {
namespace {

using test::expect_elements;
using test::expect_same_bits;
using test::expect_throws;
using test::kOtherTestDevice;
using test::kTestDevice;

class Moving : public testing::Test {
 protected:
  void SetUp() override {
    test::test_device();
    test::test_device(1);
  }
};

TEST_F(Moving, ATensorIsCopiedUnlessItIsThere) {
  const Tensor x = tensor({1.0, 2.0});
  EXPECT_EQ(x.to(cpu).id(), x.id());
  const Tensor there = x.to(kTestDevice);
  EXPECT_TRUE(there.device() == kTestDevice);
  EXPECT_EQ(there.to(kTestDevice).id(), there.id());
  expect_elements<float>(there.to(cpu), {2}, {1, 2});
  constexpr Device kAbsent{.kind = Device::Kind::test, .index = 9};
  expect_throws<ValueError>([&] { return x.to(kAbsent); },
                            {"test:9 is not present", "moving_test"});
}

TEST_F(Moving, AGradientComesBack) {
  const Tensor x = tensor({1.0, 2.0});
  GradientTape tape;
  tape.watch(x);
  const Tensor y = sum(x.to(kTestDevice) * 3);
  const Tensor gradient = tape.gradient(y, x);
  EXPECT_TRUE(gradient.device() == cpu);
  expect_elements<float>(gradient, {2}, {3, 3});
}

TEST_F(Moving, TensorsOfTwoDevicesAreAnErrorThatNamesBoth) {
  const Tensor here = ones({2});
  const Tensor there = zeros({2}).to(kTestDevice);
  const std::vector<std::string> said{"float32[2] on cpu, made by ones at moving_test.cpp",
                                      "float32[2] on test:0, made by copy_to at moving_test.cpp"};
  expect_throws<DeviceError>([&] { return here + there; }, said);
  expect_throws<DeviceError>([&] { return concat({there, here}, 0); }, said);
  const auto f = function([](const Tensor& a, const Tensor& b) { return a * b; });
  expect_throws<DeviceError>([&] { return f(here, there); }, said);
  const Tensor elsewhere = zeros({2}).to(kOtherTestDevice);
  expect_throws<DeviceError>([&] { return there * elsewhere; }, {"on test:0", "on test:1"});
  // A tensor of another device without dimensions is no number.
  expect_throws<DeviceError>([&] { return here * sum(there); }, {"on test:0"});
}

/// In every mode.
TEST_F(Moving, NumbersAreEverywhere) {
  const Tensor two = tensor(2.0);
  const Tensor x = tensor({1.0, 3.0}).to(kTestDevice);
  const auto expect_result = [](const Tensor& y, const std::vector<float>& elements) {
    EXPECT_TRUE(y.device() == kTestDevice);
    expect_elements<float>(y.to(cpu), {2}, elements);
  };
  expect_result(x * two, {2, 6});
  expect_result(two * x, {2, 6});
  expect_result(where(x > two, x, two), {2, 3});
  expect_result(x * 2, {2, 6});
  const auto f = function([](const Tensor& a, const Tensor& b) { return a * b + 1; });
  expect_result(f(x, two), {3, 7});
  expect_result(f(x, tensor(2.0)), {3, 7});
  const auto captures = function([&two](const Tensor& a) { return a * two; });
  expect_result(captures(x), {2, 6});

  const DeviceScope scope(kTestDevice);
  Graph graph;
  const Tensor a = graph.placeholder("a", float32, {2});
  const Tensor b = graph.placeholder("b", float32, {});
  Session session(graph);
  expect_result(session.run(a * b * two, {{a, x}, {b, two}}), {4, 12});
}

TEST_F(Moving, NumbersHaveTheirGradients) {
  const Tensor two = tensor(2.0);
  const Tensor x = tensor({1.0, 3.0}).to(kTestDevice);
  GradientTape tape;
  tape.watch(two);
  const Tensor gradient = tape.gradient(sum(x * two), two);
  EXPECT_TRUE(gradient.device() == cpu);
  EXPECT_EQ(gradient.item<float>(), 4);
}

TEST_F(Moving, NumbersGoWithTheCallThatTheyWereMovedInto) {
  const Tensor x = tensor({1.0, 3.0}).to(kTestDevice);
  Tensor two = tensor(2.0);
  static_cast<void>(x * std::move(two));
  EXPECT_FALSE(two.defined());
  Tensor wrong = tensor(2.0);
  const auto f = function([](const Tensor& a, const Tensor& b) { return matmul(a, b); });
  EXPECT_THROW(static_cast<void>(f(x, std::move(wrong))), ShapeError);
  EXPECT_EQ(wrong.item<float>(), 2) << "a call that throws has changed nothing";
  EXPECT_TRUE(wrong.device() == cpu);
}

TEST_F(Moving, VariablesKeepWhatTheyHold) {
  const Variable v(tensor({1.0, 2.0}), "v");
  const std::int64_t there = memory(kTestDevice).bytes;
  const std::int64_t here = memory(cpu).bytes;
  v.to(kTestDevice);
  EXPECT_TRUE(v.device() == kTestDevice);
  expect_elements<float>(v.value().to(cpu), {2}, {1, 2});
  EXPECT_EQ(memory(kTestDevice).bytes, there + 8);
  EXPECT_EQ(memory(cpu).bytes, here - 8);
  EXPECT_EQ(memory(kTestDevice)[Category::parameter].bytes, 8);
  v.assign(tensor({5.0, 6.0}));  // from anywhere
  EXPECT_TRUE(v.value().device() == kTestDevice);
  expect_elements<float>(v.value().to(cpu), {2}, {5, 6});
  v.to(cpu);
  expect_elements<float>(v.value(), {2}, {5, 6});
}

TEST_F(Moving, AFunctionFollowsItsVariables) {
  const Variable v(tensor({1.0, 2.0}), "v");
  const auto f = function([&v](const Tensor& x) { return x * v.value(); });
  const Tensor x = tensor({3.0, 4.0});
  expect_elements<float>(f(x), {2}, {3, 8});
  v.to(kTestDevice);
  expect_elements<float>(f(x.to(kTestDevice)).to(cpu), {2}, {3, 8});
  expect_throws<DeviceError>([&] { return f(x); }, {"runs on cpu", "\"v\" on test:0"});
  const auto g = function([&v](const Tensor& y) { return y + v.value(); });
  expect_throws<DeviceError>([&] { return g(x); },
                             {"\"v\", made at moving_test.cpp", "is on test:0", "to(device)"});
}

/// All or nothing.
TEST_F(Moving, WhatDoesNotFitStaysWhereItWas) {
  const nn::Sequential model(nn::Dense(4, 64), nn::Dense(64, 4));
  {
    const Budget budget("too little", 1024, kTestDevice);
    expect_throws<OutOfMemory>([&] { model.to(kTestDevice); }, {"too little"});
  }
  for (const nn::NamedVariable& own : model.variables()) {
    EXPECT_TRUE(own.variable.device() == cpu) << own.name;
  }
  EXPECT_NO_THROW(model(ones({1, 4})));
}

struct Training {
  nn::Sequential model{nn::Dense(3, 8), nn::BatchNorm(8), nn::Relu(), nn::Dense(8, 2)};
  nn::Adam adam{model.trainable(), 0.05};
  nn::Trainer trainer{model, [](const Tensor& y, const Tensor& t) { return cross_entropy(y, t); },
                      adam};
};

/// Steps here, there, and here again are those of a trainer that stayed.
TEST_F(Moving, TrainingGoesOnElsewhere) {
  const Tensor x = normal({6, 3});
  const Tensor labels = tensor({0, 1, 0, 1, 1, 0});
  const auto train = [&](bool moves) {
    seed(5);
    Training work;
    std::vector<double> losses;
    for (int i = 0; i < 6; ++i) {
      if (moves && i == 2) work.trainer.to(kTestDevice);
      if (moves && i == 4) {
        work.model.to(cpu);
        work.adam.to(cpu);
      }
      EXPECT_TRUE(work.trainer.device() == (moves && (i == 2 || i == 3) ? kTestDevice : cpu));
      losses.push_back(work.trainer.step(x, labels).loss);
      EXPECT_GT(work.trainer.plan(x, labels).plan.peak, 0);
      EXPECT_EQ(nn::summarize(work.trainer, spec({6, 3}), spec({6}, int64)).parameters, 66);
    }
    EXPECT_EQ(work.adam.steps(), 6);
    return losses;
  };
  EXPECT_EQ(train(true), train(false));
}

/// What a layer makes from nothing is where its input is, whatever the default device is.
TEST_F(Moving, LayersOfAllKindsRunWhereTheyAre) {
  const nn::Sequential model(nn::Embedding(5, 8, {.padding_index = 0}), nn::TransformerBlock(8, 2),
                             nn::Dropout(0.5), nn::LayerNorm(8), nn::Dense(8, 3));
  model.to(kTestDevice);
  const Tensor letters = tensor({{1, 2, 0}, {3, 4, 4}}).to(kTestDevice);
  const Tensor y = model(letters);
  EXPECT_TRUE(y.device() == kTestDevice);
  EXPECT_EQ(y.shape(), (Shape{2, 3, 3}));
}

TEST_F(Moving, AnOptimizerThatStayedIsNamed) {
  Training work;
  work.model.to(kTestDevice);
  expect_throws<DeviceError>(
      [&] {
        work.trainer.step(ones({2, 3}), tensor({0, 1}));
      },
      {"\"learning_rate\", made at moving_test.cpp", "is on cpu", "to(device)"});
  work.adam.to(kTestDevice);
  EXPECT_NO_THROW(work.trainer.step(ones({2, 3}), tensor({0, 1})));
}

TEST_F(Moving, CheckpointsOfOneDeviceAreReadOnAnother) {
  const test::Scratch scratch;
  seed(7);
  Training there;
  there.trainer.to(kTestDevice);
  there.trainer.step(ones({2, 3}), tensor({0, 1}));
  save_checkpoint(scratch / "a", nn::values_of(there.trainer.variables()), {});
  seed(8);
  Training here;
  nn::assign_all(here.trainer.variables(), load_checkpoint(scratch / "a"));
  const auto a = there.trainer.variables();
  const auto b = here.trainer.variables();
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    EXPECT_TRUE(a[i].variable.device() == kTestDevice && b[i].variable.device() == cpu);
    expect_same_bits(a[i].variable.value().to(cpu), b[i].variable.value());
  }
}

}  // namespace
}  // namespace tenure
