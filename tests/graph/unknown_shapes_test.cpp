#include <gtest/gtest.h>

#include <functional>
#include <random>

#include "tenure/tenure.h"
#include "tests/support/share.h"

// What is known of shapes before a graph runs, and what is checked when it does.

namespace tenure {
namespace {

using Function = std::function<std::vector<Tensor>(const std::vector<Tensor>&)>;

constexpr std::int64_t u = kUnknown;

/// What `f` throws.
template <class F>
std::string text_of(const F& f) {
  try {
    f();
  } catch (const GraphError& error) {
    return error.what();
  }
  return "nothing";
}

TEST(UnknownSizes, AreNoNumbers) {
  Graph graph("model");
  const Tensor x = graph.placeholder("x", float32, {u, 2});
  const Tensor both = graph.placeholder("both", float32, {u, u});
  const std::string text = text_of([&] { static_cast<void>(x.size()); });
  EXPECT_NE(text.find("size(): placeholder \"x\" of graph \"model\" has shape [?, 2]"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("with_sizes()"), std::string::npos);
  EXPECT_NE(text.find("unknown_shapes_test.cpp"), std::string::npos);
  EXPECT_THROW(static_cast<void>(x.nbytes()), GraphError);
  EXPECT_THROW(static_cast<void>(both.size()), GraphError);
  EXPECT_THROW(static_cast<void>(both.nbytes()), GraphError);
  EXPECT_THROW(static_cast<void>(x.dim(0)), GraphError);
  EXPECT_THROW(static_cast<void>(x.dim(-2)), GraphError);
  EXPECT_THROW(static_cast<void>(x.shape()[0]), GraphError);
  EXPECT_THROW(static_cast<void>(graph.placeholder("v", float32, {u}).shape().back()), GraphError);
  EXPECT_THROW(
      {
        for (const std::int64_t d : x.shape()) static_cast<void>(d);
      },
      GraphError);
  EXPECT_EQ(x.dim(1), 2);
  EXPECT_EQ(x.shape()[1], 2);
  EXPECT_EQ(x.shape().back(), 2);
  EXPECT_EQ(x.rank(), 2);
  EXPECT_FALSE(x.shape().is_known());
  EXPECT_FALSE(x.shape().is_known(0));
  EXPECT_TRUE(x.shape().is_known(1));
  EXPECT_EQ(to_string(x.shape()), "[?, 2]");
  EXPECT_EQ(x.shape(), (Shape{u, 2}));
}

TEST(UnknownSizes, AreRefusedWhereAGraphCannotWait) {
  Graph graph;
  const Tensor x = graph.placeholder("x", float32, {u, 3});
  EXPECT_THROW(static_cast<void>(split(x, 2)), GraphError);
  EXPECT_THROW(static_cast<void>(squeeze(x)), GraphError);
  EXPECT_EQ(split(x, 2, 1).size(), 2u);
  // Whatever the size, it does not fit.
  EXPECT_THROW(static_cast<void>(x + ones({4})), ShapeError);
  EXPECT_THROW(static_cast<void>(matmul(x, ones({4, 2}))), ShapeError);
  EXPECT_THROW(static_cast<void>(reshape(x, {5})), ShapeError);
}

TEST(UnknownSizes, AreCheckedInRuns) {
  Graph graph;
  const Tensor x = graph.placeholder("x", float32, {u});
  const Variable v(zeros({3}), "v");
  Session session(graph);
  const auto run = [&](const Tensor& y, std::int64_t n) {
    return session.run(y, {{x, ones({n})}});
  };
  EXPECT_THROW(run(x + ones({5}), 3), ShapeError);
  EXPECT_THROW(run(select(x, 0, 4), 3), IndexError);
  EXPECT_THROW(run(index(x, {4}), 3), IndexError);
  EXPECT_THROW(run(split(x, {2, 3})[0], 6), ShapeError);
  EXPECT_THROW(run(reshape(x, {-1, 2}), 3), ShapeError);
  const Tensor assigned = graph.assign(v, x * 2);
  EXPECT_THROW(run(assigned, 4), ShapeError);
  run(assigned, 3);
  EXPECT_EQ(v.value().to_vector<float>(), (std::vector<float>{2, 2, 2}));
}

TEST(UnknownSizes, AGivenGradientHasTheShapeOfItsTarget) {
  Graph graph;
  const Tensor x = graph.placeholder("x", float32, {u});
  GradientTape tape;
  tape.watch(x);
  const Tensor dx = tape.gradient(x * 2, x, {.output_gradient = tensor({1.0, 2.0, 3.0})});
  Session session(graph);
  EXPECT_EQ(session.run(dx, {{x, ones({3})}}).to_vector<float>(), (std::vector<float>{2, 4, 6}));
  EXPECT_THROW(session.run(dx, {{x, ones({1})}}), ShapeError);
}

TEST(UnknownSizes, ShapesThatHoldForAllSizesAreKnown) {
  Graph graph;
  const Tensor x = graph.placeholder("x", float32, {u, 3});
  EXPECT_EQ((select(x, 0, 0) + ones({5, 1})).shape(), (Shape{5, 3}));
  EXPECT_EQ((slice(x, 1, 0, 1) + ones({5})).shape(), (Shape{u, 5}));
  EXPECT_EQ((reshape(x, {-1}) + ones({6})).shape(), (Shape{6}));
  EXPECT_EQ(topk(reshape(x, {-1}), 4).values.shape(), (Shape{4}));
  EXPECT_EQ(reshape(x, {2, 6}).shape(), (Shape{2, 6}));
  EXPECT_EQ(slice(x, 0, 0, 5).shape(), (Shape{u, 3}));
  EXPECT_EQ(matmul(x, ones({3, 4})).shape(), (Shape{u, 4}));
  EXPECT_EQ(size(x).shape(), Shape{});
}

/// Whatever sizes a call takes, what was inferred without some of them holds.
TEST(UnknownSizes, WhatIsInferredHoldsForAllSizes) {
  struct Call {
    Function f;
    std::vector<Shape> shapes;
  };
  std::mt19937_64 random(5);
  const auto draw = [&] { return static_cast<std::int64_t>(1 + random() % 4); };
  for (int round = 0; round < test::rounds(60); ++round) {
    const std::int64_t a = draw(), b = draw(), c = draw(), d = draw(), e = draw();
    const std::vector<Call> calls{
        {[](const auto& x) { return std::vector{matmul(x[0], x[1])}; }, {{a, b, c}, {a, c, d}}},
        {[](const auto& x) { return std::vector{matmul(x[0], x[1])}; }, {{a, b, c}, {1, c, d}}},
        {[](const auto& x) { return std::vector{matmul(x[0], x[1])}; }, {{a, e, b, c}, {e, c, d}}},
        {[](const auto& x) { return std::vector{concat(OperandList(x), 1)}; },
         {{a, b, c}, {a, d, c}, {a, e, c}}},
        {[](const auto& x) { return std::vector{stack(OperandList(x), 1)}; },
         {{a, b, c}, {a, b, c}}},
        {[](const auto& x) { return std::vector{einsum("bij,bjk->bik", OperandList(x))}; },
         {{a, b, c}, {a, c, d}}},
        {[](const auto& x) { return std::vector{einsum("...i,...i->...", OperandList(x))}; },
         {{a, b, c}, {b, c}}},
        {[](const auto& x) { return std::vector{attention(x[0], x[1], x[2])}; },
         {{a, b, c}, {a, d, c}, {a, d, e}}},
        {[](const auto& x) { return std::vector{sum_like(x[0], x[1])}; }, {{a, b, c}, {b, 1}}},
        {[](const auto& x) { return std::vector{broadcast_like(x[0], x[1])}; },
         {{b, 1}, {a, b, c}}},
        {[](const auto& x) { return std::vector{mse_loss(x[0], x[1], Reduction::none)}; },
         {{a, b}, {a, b}}},
        {[](const auto& x) { return std::vector{layer_norm(x[0], x[1], x[2])}; },
         {{a, b, c}, {c}, {c}}},
        {[](const auto& x) { return std::vector{conv1d(x[0], x[1])}; }, {{a, b + 2, c}, {2, c, d}}},
        {[](const auto& x) { return std::vector{where(x[0] > 0, x[1], x[2])}; },
         {{a, 1, c}, {b, 1}, {c}}}};
    const Call& call = calls[random() % calls.size()];
    Graph graph;
    std::vector<Tensor> symbols;
    std::vector<Feed> feeds;
    std::string text = std::to_string(round);
    for (const Shape& shape : call.shapes) {
      Shape open = shape;
      for (std::int64_t& size : open) size = random() % 4 == 0 ? size : u;
      text += " " + to_string(Sizes(open)) + " of " + to_string(shape);
      symbols.push_back(graph.placeholder(text, DType::float64, open));
      feeds.push_back({symbols.back(), normal(shape, 0, 1, DType::float64)});
    }
    SCOPED_TRACE(text);
    std::vector<Tensor> inputs;
    for (const Feed& feed : feeds) inputs.push_back(feed.value);
    const Tensor expected = call.f(inputs)[0];
    const Tensor inferred = call.f(symbols)[0];
    for (int i = 0; i < expected.rank(); ++i) {
      EXPECT_TRUE(!inferred.shape().is_known(i) || inferred.dim(i) == expected.dim(i));
    }
    EXPECT_EQ(Session(graph).run(inferred, feeds).to_vector<double>(),
              expected.to_vector<double>());
  }
}

/// No gradient, not even one of zero, goes back to what counts by its shape alone.
TEST(UnknownSizes, ShapesToFollowHaveNoGradient) {
  const std::vector<std::function<Tensor(const Tensor&, const Tensor&)>> functions{
      [](const Tensor& x, const Tensor& like) { return sum_like(x, like); },
      [](const Tensor& x, const Tensor& like) { return reshape_like(x, like); },
      [](const Tensor& x, const Tensor& like) { return broadcast_like(x, like); }};
  const auto slope = [](const auto& f, const Tensor& x) {
    GradientTape tape;
    tape.watch(x);
    const Tensor steep = sqrt(x * 0);  // whose slope at 0 is infinite
    return tape.gradient(f(x * x, steep), x);
  };
  for (const auto& f : functions) {
    Graph graph;
    const Tensor x = graph.placeholder("x", DType::float64, {u});
    const Tensor dx = slope(f, x);
    const Tensor x0 = tensor({-1.0, 0.0, 2.0}, DType::float64);
    const std::vector<double> expected{-2, 0, 4};
    EXPECT_EQ(slope(f, x0).to_vector<double>(), expected);
    EXPECT_EQ(Session(graph).run(dx, {{x, x0}}).to_vector<double>(), expected);
  }
}

}  // namespace
}  // namespace tenure
