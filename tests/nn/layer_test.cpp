#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tenure/tenure.h"

namespace tenure {
namespace {

std::vector<std::string> names_of(const std::vector<nn::NamedVariable>& variables) {
  std::vector<std::string> names;
  for (const auto& [name, variable] : variables) names.push_back(name);
  return names;
}

class Net final : public nn::Layer {
 public:
  Net() : Layer("Net") {
    add("hidden", hidden_);
    add("norm", norm_);
    add("out", out_);
  }
  const nn::Dense& hidden() const { return hidden_; }

 protected:
  Tensor forward(Tensor x) const override { return out_(tanh(norm_(hidden_(std::move(x))))); }

 private:
  nn::Dense hidden_{3, 5};
  nn::BatchNorm norm_{5};
  nn::Dense out_{5, 2, {.bias = false}};
};

TEST(Layer, NamesVariablesByTheirPath) {
  const Net net;
  EXPECT_EQ(names_of(net.parameters()),
            (std::vector<std::string>{"hidden/kernel", "hidden/bias", "norm/scale", "norm/offset",
                                      "out/kernel"}));
  EXPECT_EQ(names_of(net.buffers()), (std::vector<std::string>{"norm/mean", "norm/variance"}));
  EXPECT_EQ(net.parameter_count(), 3 * 5 + 5 + 5 + 5 + 5 * 2);
  EXPECT_EQ(net.parameters()[0].variable.value().dtype(), DType::float32);
}

TEST(Layer, CopiesAreTheSameLayer) {
  const nn::Dense a(2, 2);
  const nn::Dense b = a;
  b.kernel().assign(zeros({2, 2}));
  EXPECT_EQ(sum(a(ones({1, 2}))).item<float>(), 0);
}

TEST(Layer, PartsThatAreSharedCountOnce) {
  const nn::Dense shared(4, 4);
  const nn::Sequential model(shared, nn::Tanh(), shared);
  EXPECT_EQ(model.parameters().size(), 2u);
  EXPECT_EQ(model.parameter_count(), 20);
}

TEST(Layer, RefusesNamesThatAreTakenOrNone) {
  nn::Sequential model;
  model.push_back("a", nn::Relu());
  EXPECT_THROW(model.push_back("a", nn::Relu()), ValueError);
  EXPECT_THROW(model.push_back("", nn::Relu()), ValueError);
  EXPECT_THROW(model.push_back("b/c", nn::Relu()), ValueError);
  EXPECT_EQ(model.size(), 1u);
  EXPECT_THROW(model.push_back("self", model), ValueError);
}

TEST(Layer, NamesWhatItMakesInReports) {
  const Net net;
  const Tensor y = net(ones({2, 3}));
  EXPECT_EQ(y.scope(), "out");
  const nn::Sequential outer(net);
  EXPECT_NE(outer(ones({2, 3})).scope().find("out"), std::string::npos);
}

TEST(Layer, FrozenPartsGetNoGradient) {
  const Net net;
  net.hidden().freeze();
  EXPECT_EQ(names_of(net.trainable()),
            (std::vector<std::string>{"norm/scale", "norm/offset", "out/kernel"}));
  GradientTape tape;
  const Tensor loss = sum(net(normal({4, 3})));
  EXPECT_THROW(tape.gradient(loss, net.hidden().kernel()), GradientError);
}

TEST(Layer, OnAGraphReadsItsParametersWhenThatRuns) {
  const nn::Dense dense(2, 1);
  Graph graph;
  const Tensor x = graph.placeholder("x", DType::float32, {kUnknown, 2});
  GradientTape tape;
  const Tensor y = dense(x);
  EXPECT_EQ(graph.bytes(), 0);
  const Tensor dw = tape.gradient(sum(y), dense.kernel());
  Session session(graph);
  const std::vector<Feed> feeds{{x, ones({1, 2})}};
  for (const double value : {0.5, 2.0}) {
    dense.kernel().assign(full({2, 1}, value));
    EXPECT_EQ(session.run(y, feeds).item<float>(), 2 * value);
    EXPECT_EQ(session.run(dw, feeds).to_vector<float>(), (std::vector<float>{1, 1}));
  }
}

TEST(Layer, DisposeFreesAllAndSaysHowMuch) {
  const MemoryRegion region;
  const Net net;
  EXPECT_EQ(net.dispose(), static_cast<std::int64_t>((15 + 5 + 5 + 5 + 10 + 5 + 5) * 4));
  EXPECT_EQ(net.dispose(), 0);
  EXPECT_EQ(region.left_bytes(), 0);
  EXPECT_THROW(net(ones({2, 3})), DisposedError);
}

TEST(Layer, ParametersAreOfTheirCategory) {
  const std::int64_t before = memory()[Category::parameter].bytes;
  const nn::Dense dense(8, 8);
  EXPECT_EQ(memory()[Category::parameter].bytes - before, (64 + 8) * 4);
}

TEST(Layer, RefusesSizesThatMakeNoLayer) {
  EXPECT_THROW(nn::Dense(0, 4), ValueError);
  EXPECT_THROW(nn::Conv2d(3, 8, 3, {.groups = 2}), ValueError);
  EXPECT_THROW(nn::MultiHeadAttention(10, 3), ValueError);
  EXPECT_THROW(nn::Dropout(1), ValueError);
  EXPECT_THROW(nn::GroupNorm(3, 4), ValueError);
}

TEST(Layer, BatchNormFollowsTheBatchInTrainingAndItsAveragesOtherwise) {
  const nn::BatchNorm norm(2, {.momentum = 0.5});
  const Tensor x = tensor({{1.0, 10.0}, {3.0, 30.0}});
  const Tensor y = norm(x);
  EXPECT_NEAR(mean(y, {0}).to_vector<float>()[1], 0, 1e-5);
  EXPECT_NEAR(norm.buffers()[0].variable.value().to_vector<float>()[1], 10, 1e-4);  // half of 20
  norm.eval();
  const Tensor still = norm(x);
  EXPECT_NEAR(norm.buffers()[0].variable.value().to_vector<float>()[1], 10, 1e-4);
  EXPECT_GT(mean(still, {0}).to_vector<float>()[1], 0.5f);
}

TEST(Layer, BatchNormOnAGraphListsItsUpdates) {
  const nn::BatchNorm norm(2, {.momentum = 0.5});
  const nn::BatchNorm eager(2, {.momentum = 0.5});
  const auto averages = [](const nn::BatchNorm& layer) {
    std::vector<float> all = layer.buffers()[0].variable.value().to_vector<float>();
    const auto more = layer.buffers()[1].variable.value().to_vector<float>();
    all.insert(all.end(), more.begin(), more.end());
    return all;
  };
  Graph graph;
  const Tensor x = graph.placeholder("x", DType::float32, {kUnknown, 2});
  const Tensor y = norm(x);
  ASSERT_EQ(graph.updates().size(), 2u);
  const std::int64_t nodes = graph.nodes();
  for (int i = 0; i < 3; ++i) static_cast<void>(norm(x));
  EXPECT_EQ(graph.nodes(), nodes);
  norm.eval();
  const Tensor served = norm(x);  // does not depend on the updates

  Session session(graph);
  const std::vector<Feed> feeds{{x, tensor({{1.F, 10.F}, {3.F, 30.F}})}};
  const std::vector<float> before = averages(norm);
  static_cast<void>(session.run({y, served}, feeds));
  EXPECT_EQ(averages(norm), before);
  for (int i = 0; i < 3; ++i) {
    std::vector<Tensor> fetches = graph.updates();
    fetches.push_back(y);
    const Tensor found = session.run(fetches, feeds).back();
    EXPECT_EQ(found.to_vector<float>(), eager(feeds[0].value).to_vector<float>());
    EXPECT_EQ(averages(norm), averages(eager));
  }
  eager.eval();
  EXPECT_EQ(session.run(served, feeds).to_vector<float>(),
            eager(feeds[0].value).to_vector<float>());
}

TEST(Layer, BatchNormOnTwoSymbolsOfAGraphAddsUp) {
  const nn::BatchNorm norm(1, {.momentum = 0.25});
  Graph graph;
  const Tensor a = graph.placeholder("a", DType::float32, {2, 1});
  const Tensor b = graph.placeholder("b", DType::float32, {2, 1});
  static_cast<void>(norm(a));
  static_cast<void>(norm(b));
  ASSERT_EQ(graph.updates().size(), 2u);
  Session session(graph);
  static_cast<void>(session.run(graph.updates(), {{a, full({2, 1}, 4.0)}, {b, full({2, 1}, 8.0)}}));
  EXPECT_EQ(norm.buffers()[0].variable.value().item<float>(), 3);  // a quarter of 4 + 8
}

TEST(Layer, DropoutIsForTrainingAlone) {
  const nn::Dropout dropout(0.5);
  const Tensor x = ones({1000});
  const float kept = sum(dropout(x)).item<float>();
  EXPECT_NE(kept, 1000);
  EXPECT_NEAR(kept, 1000, 200);
  dropout.eval();
  EXPECT_EQ(sum(dropout(x)).item<float>(), 1000);
}

TEST(Layer, CausalAttentionDoesNotSeeWhatComesLater) {
  seed(1);
  const nn::TransformerBlock block(8, 2);
  const Tensor x = normal({1, 5, 8});
  Tensor changed = clone(x);
  changed = index_update(changed, {Index(0), Index(4)}, zeros({8}));
  const Tensor a = slice(block(x), 1, 0, 4);
  const Tensor b = slice(block(changed), 1, 0, 4);
  EXPECT_TRUE(all(a == b).item<bool>());
}

TEST(Summary, KnowsShapesAndMemoryBeforeAnythingRuns) {
  const nn::Sequential model(nn::Conv2d(1, 4, 3), nn::Relu(), nn::Flatten(),
                             nn::Dense(4 * 6 * 6, 10));
  const MemoryRegion region;
  const nn::Summary summary = nn::summarize(model, spec({2, 8, 8, 1}));
  EXPECT_EQ(region.peak_bytes(), 0);
  ASSERT_EQ(summary.rows.size(), 5u);
  EXPECT_EQ(summary.rows[1].path, "0");
  EXPECT_EQ(summary.rows[1].output, (Shape{2, 6, 6, 4}));
  EXPECT_EQ(summary.rows[4].parameters, 4 * 36 * 10 + 10);
  EXPECT_EQ(summary.parameters, 40 + 1450);
  EXPECT_NE(to_string(summary).find("1,490"), std::string::npos);

  const auto apply = function([&model](const Tensor& x) { return model(x); });
  const Tensor x = normal({2, 8, 8, 1});
  apply(x);
  const MemoryRegion run;
  apply(x);
  EXPECT_EQ(run.peak_bytes(), summary.inference.peak);
}

}  // namespace
}  // namespace tenure
