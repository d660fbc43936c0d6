#include "tenure/graph/control.h"

#include <gtest/gtest.h>

#include <functional>

#include "tenure/tenure.h"

// Gradients through branches and loops: as nodes they are what a tape finds when all runs now.

namespace tenure {
namespace {

using Pair = std::pair<Tensor, Tensor>;
using Program = std::function<Tensor(const std::vector<Tensor>&)>;

std::vector<Tensor> gradients_of(const Program& f, const std::vector<Tensor>& inputs) {
  GradientTape tape;
  tape.watch(inputs);
  const Tensor result = f(inputs);
  return tape.gradient(sum(result), inputs, {.unconnected = Unconnected::zero});
}

void expect_same_gradients(const Program& f, const std::vector<Tensor>& inputs) {
  const std::vector<Tensor> expected = gradients_of(f, inputs);
  const auto traced = function([&](const std::vector<Tensor>& in) { return gradients_of(f, in); });
  const std::vector<Tensor> inside = traced(inputs);  // the tape in the trace
  const auto called = function([&](const std::vector<Tensor>& in) { return f(in); });
  const std::vector<Tensor> outside =
      gradients_of([&](const std::vector<Tensor>& in) { return called(in); }, inputs);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const auto want = expected[i].to_vector<double>();
    const auto a = inside[i].to_vector<double>();
    const auto b = outside[i].to_vector<double>();
    ASSERT_EQ(a.size(), want.size());
    for (std::size_t k = 0; k < want.size(); ++k) {
      EXPECT_NEAR(a[k], want[k], 1e-10) << "tape inside, input " << i;
      EXPECT_NEAR(b[k], want[k], 1e-10) << "tape outside, input " << i;
    }
  }
}

TEST(ControlGradients, Cond) {
  const Program f = [](const std::vector<Tensor>& in) {
    return cond(
        sum(in[0]) > 0, [&](const Tensor& x) { return tanh(x) * in[1]; },
        [&](const Tensor& x) { return x * x * x; }, in[0]);
  };
  expect_same_gradients(f, {uniform({3}, 0, 1, float64), uniform({3}, 0, 1, float64)});
  expect_same_gradients(f, {uniform({3}, -1, 0, float64), uniform({3}, 0, 1, float64)});
}

TEST(ControlGradients, Scan) {
  const Program f = [](const std::vector<Tensor>& in) {
    const auto [last, all] = scan(
        [&](const Tensor& h, const Tensor& x) {
          const Tensor next = tanh(matmul(h, in[2]) + x);
          return Pair(next, next * next);
        },
        in[0], in[1]);
    return sum(last) + sum(all) * 0.5;
  };
  expect_same_gradients(f, {uniform({1, 3}, -1, 1, float64), uniform({4, 1, 3}, -1, 1, float64),
                            uniform({3, 3}, -1, 1, float64)});
}

TEST(ControlGradients, WhileLoop) {
  const Program f = [](const std::vector<Tensor>& in) {
    const Pair end =
        while_loop([](const Pair& s) { return sum(s.first) < 20; },
                   [&](const Pair& s) { return Pair(s.first * s.first + in[1], s.second + 1); },
                   Pair(in[0], full({}, 0)), 8);
    return end.first;
  };
  expect_same_gradients(f, {full({2}, 1.25, float64), full({2}, 0.5, float64)});
  const auto endless = function([](const Tensor& x) {
    GradientTape tape;
    tape.watch(x);
    const Tensor y = while_loop([](const Tensor& s) { return sum(s) < 20; },
                                [](const Tensor& s) { return s * 2; }, x);
    return tape.gradient(y, x);
  });
  EXPECT_THROW(endless(ones({1})), GradientError);
}

TEST(ControlGradients, VariablesInsideBranches) {
  const Variable w(tensor({2.0, 3.0}), "w");
  const auto step = function([&](const Tensor& x) {
    GradientTape tape;
    const Tensor loss = sum(cond(
        sum(x) > 0, [&] { return w.value() * x; }, [&] { return w.value() * w.value(); }));
    return tape.gradient(loss, w);
  });
  const Tensor x = full({2}, 0.5, float64);
  const auto type = w.dtype();
  EXPECT_EQ(step(cast(x, type)).to_vector<double>(), (std::vector<double>{0.5, 0.5}));
  EXPECT_EQ(step(cast(-x, type)).to_vector<double>(), (std::vector<double>{4, 6}));
}

TEST(ControlGradients, OneTensorInSeveralPlaces) {
  const Program loop = [](const std::vector<Tensor>& in) {
    return while_loop([](const Pair& s) { return s.second < 3; },
                      [&](const Pair& s) { return Pair(s.first * in[0], s.second + 1); },
                      Pair(in[0], full({}, 0)), 5)
        .first;
  };
  expect_same_gradients(loop, {full({2}, 1.5, float64)});
  const Program twice = [](const std::vector<Tensor>& in) {
    const auto [a, b] = while_loop([](const Pair& s) { return sum(s.first) < 9; },
                                   [](const Pair& s) { return Pair(s.first * s.second, s.second); },
                                   Pair(in[0], in[0]), 5);
    return a + b;
  };
  expect_same_gradients(twice, {full({2}, 1.5, float64)});
}

TEST(ControlGradients, OfSecondOrder) {
  using Body = std::function<Tensor(const Tensor&)>;
  const Body branch = [](const Tensor& x) {
    return cond(
        sum(x) > 0, [&](const Tensor& c) { return c * x * x; }, [](const Tensor& c) { return c; },
        x);
  };
  const Body steps = [](const Tensor& x) {
    return scan([&](const Tensor& c, const Tensor& e) { return Pair(c * x * e, c); }, x,
                ones({2, 1}, float64))
        .first;
  };
  const Body loop = [](const Tensor& x) {
    return while_loop([](const Pair& s) { return s.second < 2; },
                      [&](const Pair& s) { return Pair(s.first * x, s.second + 1); },
                      Pair(x, full({}, 0)), 4)
        .first;
  };
  for (const Body& f : {branch, steps, loop}) {  // all of them x^3
    const auto second = [&](const Tensor& x) {
      GradientTape outer;
      outer.watch(x);
      GradientTape inner;
      inner.watch(x);
      const Tensor y = f(x);
      return outer.gradient(inner.gradient(y, x), x);
    };
    const Tensor x = full({1}, 2.0, float64);
    EXPECT_EQ(second(x).item<double>(), 12);
    EXPECT_EQ(function(second)(x).item<double>(), 12);
  }
}

TEST(ControlGradients, ManyCapturesAndResults) {
  std::vector<Tensor> weights;
  for (int i = 0; i < 40; ++i) weights.push_back(full({1}, 1 + i * 0.01, float64));
  const Program f = [&](const std::vector<Tensor>& in) {
    const std::vector<Tensor> all = cond(
        sum(in[0]) > 0,
        [&](const Tensor& x) {
          std::vector<Tensor> results;
          for (const Tensor& w : weights) results.push_back(tanh(x * w));
          return results;
        },
        [](const Tensor& x) { return std::vector<Tensor>(40, x); }, in[0]);
    return all[0] + all[39];
  };
  expect_same_gradients(f, {full({1}, 0.5, float64)});
}

TEST(ControlGradients, RandomNumbersInsideAreRefused) {
  const auto f = function([](const Tensor& x) {
    GradientTape tape;
    tape.watch(x);
    const auto [none, kept] = scan(
        [](const Tensor& c, const Tensor& e) { return Pair(c, dropout(e, 0.5)); }, zeros({}), x);
    return tape.gradient(sum(kept), x);
  });
  EXPECT_THROW(f(ones({4, 2})), GradientError);
}

TEST(ControlGradients, VariablesReadByABranchOfAGraph) {
  const Variable w(tensor({2.0}), "w");
  Graph graph;
  const Tensor x = graph.placeholder("x", w.dtype(), {1});
  GradientTape tape;
  const Tensor y = cond(
      sum(x) > 0, [&](const Tensor& v) { return v * graph.read(w) * w.value(); },
      [](const Tensor& v) { return v; }, x);
  const Tensor dw = tape.gradient(y, w);
  Session session(graph);
  EXPECT_EQ(session.run(dw, {{x, full({1}, 3.0, w.dtype())}}).item<double>(), 12);
}

}  // namespace
}  // namespace tenure
