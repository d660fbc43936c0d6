#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <random>
#include <stdexcept>

#include "tenure/tenure.h"
#include "tests/support/share.h"

// Sizes that are known only when a graph runs. The harness holds every op to them; here are the
// functions that are written in several ops, and what reads sizes.

namespace tenure {
namespace {

using Function = std::function<std::vector<Tensor>(const std::vector<Tensor>&)>;

struct Case {
  const char* name;
  Function f;
  std::vector<Shape> shapes;        // of the arguments; kUnknown where a run knows
  std::vector<std::int64_t> sizes;  // of what is unknown, to run with
};

std::vector<Tensor> gradients_of(const Function& f, const std::vector<Tensor>& x,
                                 std::vector<Tensor>* results) {
  GradientTape tape;
  tape.watch(x);
  *results = f(x);
  Tensor total;
  for (const Tensor& y : *results) {
    if (!is_floating(y.dtype())) continue;
    const Tensor part = sum(y * y) + sum(y);
    total = total.defined() ? total + part : part;
  }
  return tape.gradient(total, x, {.unconnected = Unconnected::zero});
}

std::vector<Tensor> inputs_of(const std::vector<Shape>& shapes, std::int64_t size) {
  std::vector<Tensor> inputs;
  for (Shape shape : shapes) {
    for (int d = 0; d < shape.size(); ++d) shape[d] = shape[d] == kUnknown ? size : shape[d];
    inputs.push_back(normal(shape, 0, 1, DType::float64));
  }
  return inputs;
}

void expect_as_eager(const Case& c) {
  SCOPED_TRACE(c.name);
  Graph graph;
  std::vector<Tensor> symbols;
  for (const Shape& shape : c.shapes) {
    symbols.push_back(graph.placeholder(std::to_string(symbols.size()), DType::float64, shape));
  }
  std::vector<Tensor> results;
  std::vector<Tensor> fetches = gradients_of(c.f, symbols, &results);
  fetches.insert(fetches.end(), results.begin(), results.end());
  Session session(graph);
  for (const std::int64_t size : c.sizes) {
    SCOPED_TRACE(size);
    const std::vector<Tensor> inputs = inputs_of(c.shapes, size);
    std::vector<Feed> feeds;
    for (std::size_t i = 0; i < inputs.size(); ++i) feeds.push_back({symbols[i], inputs[i]});
    std::vector<Tensor> expected;
    const std::vector<Tensor> gradients = gradients_of(c.f, inputs, &expected);
    const std::vector<Tensor> got = session.run(fetches, feeds);
    for (std::size_t i = 0; i < gradients.size(); ++i) {
      ASSERT_EQ(got[i].shape(), gradients[i].shape());
      if (gradients[i].size() == 0) continue;
      const double scale = 1 + max(abs(gradients[i])).item<double>();
      EXPECT_LE(max(abs(got[i] - gradients[i])).item<double>(), 1e-12 * scale) << "by " << i;
    }
    for (std::size_t o = 0; o < expected.size(); ++o) {
      const Tensor& y = got[gradients.size() + o];
      ASSERT_EQ(y.shape(), expected[o].shape());
      EXPECT_EQ(y.to_vector<double>(), expected[o].to_vector<double>()) << "result " << o;
      for (int d = 0; d < y.rank(); ++d) {
        if (results[o].shape().is_known(d)) {
          EXPECT_EQ(results[o].dim(d), y.dim(d));
        }
      }
    }
  }
}

constexpr std::int64_t u = kUnknown;

TEST(UnknownSizes, FunctionsGiveWhatEagerCallsGive) {
  const auto one = [](const std::function<Tensor(const Tensor&)>& f) -> Function {
    return [f](const std::vector<Tensor>& x) { return std::vector{f(x[0])}; };
  };
  const auto w = [](const Shape& shape) { return full(shape, 0.5, DType::float64); };
  const std::vector<Case> cases{
      {"slice", one([](const Tensor& x) { return slice(x, 0, 0, 5); }), {{u}}, {3, 5, 9, 0}},
      {"var of a slice",
       [](const std::vector<Tensor>& x) { return std::vector{var(slice(x[0], 0, 0, 5) * x[1])}; },
       {{u}, {}},
       {3, 5, 9, 2}},
      {"mean of a slice",
       one([](const Tensor& x) { return mean(slice(x, 0, 0, 5) * x); }),
       {{u}},
       {3, 5, 1}},
      {"far slice",
       one([](const Tensor& x) { return slice(x, 0, 1000, 1010); }),
       {{u}},
       {3, 1005, 2000}},
      {"reshape",
       one([](const Tensor& x) {
         return reshape(x, {-1, 2});
       }),
       {{u}},
       {4, 6, 0}},
      {"reshape to a shape",
       one([](const Tensor& x) {
         return reshape(x, {3, 12});
       }),
       {{u, u}},
       {6}},
      {"broadcast", one([&](const Tensor& x) { return x + w({5}); }), {{u}}, {5, 1}},
      {"squeeze", one([](const Tensor& x) { return squeeze(x, 0); }), {{u, 3}}, {1}},
      {"select", one([](const Tensor& x) { return select(x, 0, 9000); }), {{u}}, {9001, 10000}},
      {"topk", one([](const Tensor& x) { return topk(x, 200).values; }), {{u}}, {200, 300}},
      {"split",
       [](const std::vector<Tensor>& x) {
         return split(x[0], {2, 3}, 0);
       },
       {{u, 2}},
       {5}},
      {"ones_like", one([](const Tensor& x) { return ones_like(x) * x; }), {{u, u}}, {2, 0}},
      {"size", one([](const Tensor& x) { return sum(x) / size(x); }), {{u, 3}}, {2, 5}},
      {"dim", one([](const Tensor& x) { return x * dim(x, 0); }), {{u, 3}}, {2, 5}},
      {"with_sizes",
       one([](const Tensor& x) {
         return with_sizes(x, [](const Tensor& known) {
           Tensor total = zeros({3}, DType::float64);
           for (std::int64_t i = 0; i < known.dim(0); ++i) total = total + select(known, 0, i) * i;
           return total / known.size();
         });
       }),
       {{u, 3}},
       {1, 4}},
      {"index",
       one([](const Tensor& x) {
         return index(x, {Slice{1, -1}, 0});
       }),
       {{u, 3}},
       {2, 5}},
      {"index by far numbers",
       one([](const Tensor& x) {
         return index(x, {Slice{300, 310}});
       }),
       {{u}},
       {3, 305, 400}},
      {"index_update",
       one([](const Tensor& x) {
         return index_update(x, {Slice{0, 2}}, 7.0);
       }),
       {{u, 3}},
       {1, 5}},
      {"index by tensors",
       one([](const Tensor& x) {
         return index(x, {tensor({0, 1, 0}), Slice{}});
       }),
       {{u, u}},
       {4}},
      {"einsum",
       one([&](const Tensor& x) {
         return einsum("ij,jk->ik", {x, w({3, 2})});
       }),
       {{u, 3}},
       {1, 4}},
      {"group_norm",
       one([&](const Tensor& x) { return group_norm(x, 2, w({4}), w({4})); }),
       {{u, u, 4}},
       {2, 3}},
      {"conv2d same",
       one([&](const Tensor& x) {
         return conv2d(x, w({3, 3, 3, 2}), {.stride = 2, .padding = Padding::same()});
       }),
       {{u, u, u, 3}},
       {4, 5}},
      {"conv_transpose2d",
       one([&](const Tensor& x) {
         return conv_transpose2d(x, w({3, 3, 3, 2}), {.stride = 2});
       }),
       {{u, u, u, 2}},
       {2, 4}},
      {"lstm",
       [&](const std::vector<Tensor>& x) {
         const LstmResult y = lstm(x[0], w({3, 8}), w({2, 8}), w({8}));
         return std::vector{y.sequence, y.last.h, y.last.c};
       },
       {{u, u, 3}},
       {1, 3}},
      {"gru",
       [&](const std::vector<Tensor>& x) {
         const GruResult y = gru(x[0], w({3, 6}), w({2, 6}), w({6}), w({6}));
         return std::vector{y.sequence, y.last};
       },
       {{u, 4, 3}},
       {1, 3}},
      {"causal attention",
       [](const std::vector<Tensor>& x) {
         return std::vector{attention(x[0], x[1], x[1], {.causal = true})};
       },
       {{u, u, 4}, {u, u, 4}},
       {2, 3}},
      {"pad",
       one([](const Tensor& x) {
         return pad(x, {{1, 2}}, PadMode::reflect);
       }),
       {{u}},
       {3, 6}},
      {"tile and repeat",
       one([](const Tensor& x) {
         return tile(x, {2, 3}) * sum(x);
       }),
       {{u, u}},
       {2, 3}},
      {"concat",
       [](const std::vector<Tensor>& x) { return std::vector{concat(OperandList(x))}; },
       {{u, 3}, {2, 3}},
       {1, 4}},
      {"diagonal", one([](const Tensor& x) { return diagonal(x); }), {{u, 3}}, {2, 5}},
      {"cumprod of a product",
       one([](const Tensor& x) { return prod(x, 0) + cumsum(x, 0); }),
       {{u, 3}},
       {1, 4}}};
  for (const Case& c : cases) expect_as_eager(c);
}

TEST(UnknownSizes, GradientsOfGradients) {
  const std::vector<std::function<Tensor(const Tensor&)>> functions{
      [](const Tensor& x) { return var(slice(x, 0, 0, 3)) * sum(x * x * x); },
      [](const Tensor& x) {
        return sum(square(index(x, {Slice{1, {}}}))) * mean(x * x);
      },
      [](const Tensor& x) {
        return einsum("i,i->", {x, x * x}) / size(x);
      },
      [](const Tensor& x) {
        return with_sizes(x, [](const Tensor& known) { return sum(pow(known, 3)) / known.size(); });
      }};
  const auto slopes = [](const auto& f, const Tensor& x) {
    GradientTape outer;
    outer.watch(x);
    GradientTape inner;
    inner.watch(x);
    const Tensor first = inner.gradient(f(x), x);
    return std::vector{first, outer.gradient(sum(square(first)), x)};
  };
  for (std::size_t i = 0; i < functions.size(); ++i) {
    SCOPED_TRACE(i);
    Graph graph;
    const Tensor x = graph.placeholder("x", DType::float64, {u});
    const auto symbolic = slopes(functions[i], x);
    Session session(graph);
    for (const std::int64_t n : {2, 5}) {
      const Tensor x0 = uniform({n}, 0.5, 1.5, DType::float64);
      const auto expected = slopes(functions[i], x0);
      const auto got = session.run(symbolic, {{x, x0}});
      for (std::size_t k = 0; k < 2; ++k) {
        const double scale = 1 + max(abs(expected[k])).item<double>();
        EXPECT_LE(max(abs(got[k] - expected[k])).item<double>(), 1e-11 * scale) << k;
      }
    }
  }
}

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
  EXPECT_NE(text.find("unknown_sizes_test.cpp"), std::string::npos);
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

TEST(UnknownSizes, FunctionsThatWaitMayUseTheGraph) {
  Graph graph;
  const Tensor x = graph.placeholder("x", float32, {u});
  const Tensor y = graph.placeholder("y", float32, {u});
  EXPECT_THROW(with_sizes(x, [&](const Tensor& known) { return (y * 2) + known; }), SymbolError);
  EXPECT_THROW(with_sizes(x, [&](const Tensor&) { return y * 2; }), SymbolError);
  const Tensor z = with_sizes(x, [&](const Tensor& known) {
    if (known.dim(0) == 1000) return known + y;  // no size that is tried
    return known * static_cast<double>(graph.nodes() > 0);
  });
  Session session(graph);
  EXPECT_EQ(session.run(z, {{x, ones({2})}}).to_vector<float>(), (std::vector<float>{1, 1}));
  EXPECT_THROW(session.run(z, {{x, ones({1000})}}), SymbolError);
}

TEST(UnknownSizes, FunctionsThatWaitMayRefuseSizesByErrorsOfTheirOwn) {
  Graph graph;
  const Tensor x = graph.placeholder("x", float32, {u});
  const auto at_least = [](std::int64_t n) {
    return [n](const Tensor& known) {
      if (known.dim(0) < n) throw std::invalid_argument("too few");
      return known * 2;
    };
  };
  const Tensor y = with_sizes(x, at_least(4));
  Session session(graph);
  EXPECT_EQ(session.run(y, {{x, ones({4})}}).shape(), Shape{4});
  EXPECT_THROW(session.run(y, {{x, ones({3})}}), std::invalid_argument);
  EXPECT_THROW(with_sizes(x, at_least(1'000'000)), std::invalid_argument);
}

TEST(UnknownSizes, WhatNobodyReadsDrawsAsManyAsAnEagerCall) {
  const auto model = [](const Tensor& x) {
    static_cast<void>(dropout(x, 0.5));
    static_cast<void>(
        with_sizes(x, [](const Tensor& known) { return uniform(known.shape()) + known; }));
    return dropout(x, 0.5);
  };
  const auto f = function(model, {.batched = {0}});
  for (const std::int64_t n : {5, 64}) {
    const Tensor x = ones({n, 3});
    seed(3);
    const Tensor expected = model(x);
    const Tensor next = uniform({2});
    seed(3);
    EXPECT_EQ(f(x).to_vector<float>(), expected.to_vector<float>());
    EXPECT_EQ(uniform({2}).to_vector<float>(), next.to_vector<float>());
  }
}

TEST(UnknownSizes, EqualCallsAreOneNode) {
  Graph graph;
  const Tensor x = graph.placeholder("x", float32, {u, 3});
  const auto build = [&] {
    GradientTape tape;
    tape.watch(x);
    const Tensor y = sum(tanh(x + 1) * ones_like(x)) / size(x);
    return tape.gradient(y, x);
  };
  static_cast<void>(build());
  const auto nodes = graph.nodes();
  for (int i = 0; i < 5; ++i) static_cast<void>(build());
  EXPECT_EQ(graph.nodes(), nodes);
}

TEST(UnknownSizes, DropoutDrawsAsManyAsAnEagerCall) {
  Graph graph;
  const Tensor x = graph.placeholder("x", float32, {u, 4});
  GradientTape tape;
  tape.watch(x);
  const Tensor y = dropout(x, 0.5);
  const std::vector<Tensor> fetches{y, tape.gradient(sum(y), x)};
  Session session(graph);
  const Tensor x0 = ones({6, 4});
  seed(3);
  const Tensor expected = dropout(x0, 0.5);
  const Tensor next = uniform({2});
  seed(3);
  const auto got = session.run(fetches, {{x, x0}});
  EXPECT_EQ(got[0].to_vector<float>(), expected.to_vector<float>());
  EXPECT_EQ(got[1].to_vector<float>(), expected.to_vector<float>());
  EXPECT_EQ(uniform({2}).to_vector<float>(), next.to_vector<float>());
}

TEST(UnknownSizes, NothingIsHeldForItsSizesAlone) {
  const auto f = function([](const Tensor& x) { return sum(tanh(x * 2)); }, {.batched = {0}});
  const Tensor x = ones({1000});
  GradientTape tape;
  tape.watch(x);
  const Tensor y = f(x);
  // What tanh reads, and nothing for the shapes of x and of x * 2.
  EXPECT_EQ(tape.saved().bytes, 4000);
  EXPECT_EQ(tape.gradient(y, x).shape(), Shape{1000});
}

TEST(UnknownSizes, InBranchesAndLoops) {
  Graph graph;
  const Tensor x = graph.placeholder("x", DType::float64, {u});
  const auto f = [](const Tensor& at) {
    const auto first = [](const Tensor& t) { return sum(slice(t, 0, 0, 3)) / size(t); };
    const auto second = [](const Tensor& t) { return sum(t * t); };
    const Tensor branch = cond(sum(at) > 0, first, second, at);
    const auto body = [](const Tensor& total, const Tensor& element) {
      const Tensor next = total * element + 1;
      return std::pair{next, next};
    };
    return branch + scan(body, branch, at).first;
  };
  const auto slope = [&](const Tensor& at) {
    GradientTape tape;
    tape.watch(at);
    return tape.gradient(f(at), at);
  };
  const Tensor dx = slope(x);
  Session session(graph);
  for (const double sign : {1.0, -1.0}) {
    for (const std::int64_t n : {2, 5}) {
      const Tensor x0 = full({n}, sign * 0.5, DType::float64);
      const Tensor got = session.run(dx, {{x, x0}});
      EXPECT_EQ(got.to_vector<double>(), slope(x0).to_vector<double>());
    }
  }
}

/// A random program of a vector of any length.
Tensor random_program(const Tensor& x, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<Tensor> values{x, x * 0.5 + 1};
  const auto pick = [&]() -> const Tensor& { return values[random() % values.size()]; };
  for (int i = 0; i < 6; ++i) {
    const auto number = static_cast<std::int64_t>(random() % 6);
    const Tensor& a = pick();
    switch (random() % 9) {
      case 0:
        values.push_back(slice(a, 0, 0, number));
        break;
      case 1:
        values.push_back(slice(a, 0, -number - 1));
        break;
      case 2:
        values.push_back(tanh(a) * mean(a));
        break;
      case 3:
        values.push_back(pad(a, {{number, 1}}));
        break;
      case 4:
        values.push_back(concat({a, pick()}));
        break;
      case 5:
        values.push_back(cumsum(a, 0) / size(a));
        break;
      case 6:
        values.push_back(a + pick());
        break;
      case 7:
        values.push_back(flip(a) - var(a));
        break;
      default:
        values.push_back(index(a, {Slice{{}, {}, 2}}));
        break;
    }
  }
  Tensor total = sum(values[0]);  // of all, for a graph does not run what nobody asks for
  for (const Tensor& value : values) total = total + sum(value * value);
  return total;
}

TEST(UnknownSizes, RandomProgramsAreLikeEagerOnes) {
  int compared = 0;
  int refused = 0;
  for (std::uint64_t seed = 0; seed < static_cast<std::uint64_t>(test::rounds(150)); ++seed) {
    SCOPED_TRACE(seed);
    const auto slope = [&](const Tensor& x) {
      GradientTape tape;
      tape.watch(x);
      const Tensor y = random_program(x, seed);
      return std::vector{y, tape.gradient(y, x)};
    };
    Graph graph;
    const Tensor x = graph.placeholder("x", DType::float64, {u});
    std::vector<Tensor> symbolic;
    bool is_refused = false;
    try {
      symbolic = slope(x);
    } catch (const Error&) {
      is_refused = true;  // then no size may do
    }
    Session session(graph);
    for (const std::int64_t n : {1, 2, 3, 5, 8}) {
      const Tensor x0 = uniform({n}, 0.5, 1.5, DType::float64);
      std::vector<Tensor> expected;
      try {
        expected = slope(x0);
      } catch (const Error&) {
        ++refused;
        if (!is_refused) {
          EXPECT_THROW(session.run(symbolic, {{x, x0}}), Error);
        }
        continue;
      }
      ASSERT_FALSE(is_refused) << n;
      const auto got = session.run(symbolic, {{x, x0}});
      for (std::size_t k = 0; k < 2; ++k) {
        const auto a = got[k].to_vector<double>();
        const auto b = expected[k].to_vector<double>();
        ASSERT_EQ(a.size(), b.size());
        for (std::size_t i = 0; i < a.size(); ++i) {
          if (std::isnan(a[i]) && std::isnan(b[i])) continue;
          ASSERT_NEAR(a[i], b[i], 1e-11 * (1 + std::abs(b[i]))) << n;
        }
      }
      ++compared;
    }
  }
  EXPECT_GT(compared, test::kSanitized ? 0 : 200);
  EXPECT_GT(refused, test::kSanitized ? -1 : 10);
}

}  // namespace
}  // namespace tenure
