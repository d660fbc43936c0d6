#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

#include "tenure/tenure.h"
#include "tests/autograd/near.h"

// Gradients in graphs whose sizes are known only when they run.

namespace tenure {
namespace {

using test::expect_near;

TEST(GradientModes, InAGraphWithUnknownDimensions) {
  Graph graph("model");
  const Tensor x = graph.placeholder("x", DType::float32, {kUnknown, 4});
  const Tensor b = graph.placeholder("b", DType::float32, {3});
  const Variable w(normal({4, 3}), "w");
  GradientTape tape;
  tape.watch({x, b});
  const Tensor y = sum(tanh(matmul(x, graph.read(w)) + b) * b);
  const auto by_tensors = std::vector{x, b};
  const auto gradients = tape.gradient(y, by_tensors);
  EXPECT_TRUE(gradients[0].is_symbolic());
  Session session(graph);
  for (const std::int64_t n : {1, 5}) {
    const Tensor x0 = normal({n, 4});
    const Tensor b0 = normal({3});
    GradientTape now;
    now.watch({x0, b0});
    const Tensor y0 = sum(tanh(matmul(x0, w.value()) + b0) * b0);
    const auto expected = now.gradient(y0, std::vector{x0, b0});
    const auto got = session.run(gradients, {{x, x0}, {b, b0}});
    expect_near(got[0], expected[0], 1e-5);
    expect_near(got[1], expected[1], 1e-5);
  }
}

TEST(GradientModes, SeveralElementsOfUnknownNumber) {
  Graph graph;
  const Tensor x = graph.placeholder("x", DType::float32, {kUnknown});
  GradientTape tape;
  tape.watch(x);
  const Tensor dx = tape.gradient(exp(x), x);
  Session session(graph);
  const Tensor x0 = tensor({0.0, 1.0});
  const Tensor got = session.run(dx, {{x, x0}});
  expect_near(got, exp(x0), 1e-6);
}

TEST(GradientModes, OfReductionsOverUnknownDimensions) {
  const double inf = std::numeric_limits<double>::infinity();
  const std::vector<std::function<Tensor(const Tensor&)>> functions{
      [](const Tensor& x) { return var(x, 0); },
      [](const Tensor& x) {
        return var(x, {0, 1}, true, 0);
      },
      [](const Tensor& x) { return stddev(x); },
      [](const Tensor& x) { return stddev(x, 0, true, 2); },
      [](const Tensor& x) { return mean(x, 0); },
      [](const Tensor& x) { return prod(x, 0); },
      [](const Tensor& x) { return prod(x, 1, true); },
      [](const Tensor& x) { return prod(x); },
      [](const Tensor& x) { return logsumexp(x, 0); },
      [](const Tensor& x) { return max(x, 0); },
      [](const Tensor& x) { return norm(x); },
      [](const Tensor& x) { return norm(x, 1, 0); },
      [](const Tensor& x) { return norm(x, 3, 0, true); },
      [inf](const Tensor& x) { return norm(x, inf, 0); },
      [](const Tensor& x) { return softmax(x, 0); },
      [](const Tensor& x) { return log_softmax(x, 0); },
      [](const Tensor& x) { return gelu(x); }};
  const auto slopes = [](const auto& f, const Tensor& x) {
    GradientTape outer;
    outer.watch(x);
    GradientTape inner;
    inner.watch(x);
    const Tensor y = sum(square(f(x)));
    const Tensor first = inner.gradient(y, x);
    return std::vector{first, outer.gradient(sum(square(first)), x)};
  };
  for (const Shape& shape : {Shape{kUnknown, 4}, Shape{kUnknown, kUnknown}}) {
    for (std::size_t i = 0; i < functions.size(); ++i) {
      SCOPED_TRACE(i);
      Graph graph;
      const Tensor x = graph.placeholder("x", DType::float64, shape);
      const auto symbolic = slopes(functions[i], x);
      Session session(graph);
      for (const std::int64_t n : {5, 3}) {
        const Tensor x0 = uniform({n, 4}, 0.5, 1.5, DType::float64);
        const auto expected = slopes(functions[i], x0);
        const auto got = session.run(symbolic, {{x, x0}});
        for (std::size_t k = 0; k < 2; ++k) {
          const double size = 1 + max(abs(expected[k])).item<double>();
          EXPECT_LE(max(abs(got[k] - expected[k])).item<double>(), 1e-12 * size) << k;
        }
      }
    }
  }
}

TEST(GradientModes, OfAProductWithZerosOrOfNothing) {
  Graph graph;
  const Tensor x = graph.placeholder("x", DType::float32, {kUnknown});
  GradientTape tape;
  tape.watch(x);
  const Tensor dx = tape.gradient(prod(x), x);
  Session session(graph);
  const auto at = [&](const Tensor& x0) { return session.run(dx, {{x, x0}}).to_vector<float>(); };
  EXPECT_EQ(at(tensor({2.0, 0.0, 3.0})), (std::vector<float>{0, 6, 0}));
  EXPECT_EQ(at(tensor({0.0, 0.0})), (std::vector<float>{0, 0}));
  EXPECT_EQ(at(tensor({5.0})), (std::vector<float>{1}));
  EXPECT_EQ(at(zeros({0})), (std::vector<float>{}));
}

TEST(GradientModes, CountsMoreThan16BitsHold) {
  Graph graph;
  const Tensor x = graph.placeholder("x", DType::float16, {kUnknown});
  GradientTape tape({.persistent = true});
  tape.watch(x);
  const auto gradients = std::vector{tape.gradient(mean(x), x), tape.gradient(var(x), x)};
  Session session(graph);
  const Tensor x0 = cast(concat({full({100000}, 64.0), full({100000}, -64.0)}), DType::float16);
  const auto got = session.run(gradients, {{x, x0}});
  const auto at = [](const Tensor& t) { return cast(t, DType::float64).to_vector<double>()[0]; };
  EXPECT_NEAR(at(got[0]), 1 / 200000.0, 1e-7);
  EXPECT_NEAR(at(got[1]), 128 / 199999.0, 1e-6);
}

}  // namespace
}  // namespace tenure
