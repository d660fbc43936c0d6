#include <gtest/gtest.h>

#include <cmath>

#include "tenure/tenure.h"
#include "tests/support/random_program.h"

// Gradients in graphs, in traced functions, and through them.

namespace tenure {
namespace {

void expect_near(const Tensor& got, const Tensor& expected, double tolerance, int seed = 0) {
  ASSERT_EQ(got.shape(), expected.shape()) << seed;
  const auto a = got.to_vector<double>();
  const auto b = expected.to_vector<double>();
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (std::isnan(a[i]) && std::isnan(b[i])) continue;
    ASSERT_NEAR(a[i], b[i], tolerance * (1 + std::abs(b[i]))) << seed;
  }
}

Tensor loss(const Tensor& x, const Tensor& w) { return mean(square(tanh(matmul(x, w)) - 0.5)); }

TEST(GradientModes, InsideAFunction) {
  const Variable w(normal({4, 3}), "w");
  const Tensor x = normal({8, 4});
  const auto eager = [&](const Tensor& input) {
    GradientTape tape;
    const Tensor y = loss(input, w.value());
    return tape.gradient(y, w);
  };
  const auto traced = function(eager);
  expect_near(traced(x), eager(x), 1e-6);
  expect_near(traced(x), eager(x), 1e-6);
  EXPECT_EQ(traced.traces().size(), 1u);
}

TEST(GradientModes, AStepInOneFunction) {
  const Variable w(ones({2}), "w");
  const auto step = function([&](const Tensor& x) {
    GradientTape tape;
    const Tensor y = sum(square(w.value() * x));
    const Tensor dw = tape.gradient(y, w);
    w.assign_sub(dw * 0.1);
    return y;
  });
  const Tensor x = tensor({1.0, 2.0});
  EXPECT_FLOAT_EQ(step(x).item<float>(), 5);
  EXPECT_FLOAT_EQ(w.value().to_vector<float>()[0], 0.8F);
  EXPECT_FLOAT_EQ(w.value().to_vector<float>()[1], 0.2F);
}

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

TEST(GradientModes, ThroughAFunction) {
  const Variable w(normal({4, 3}), "w");
  const Tensor x = normal({8, 4});
  const auto f =
      function([&](const Tensor& input) { return loss(input, w.value()); }, {.name = "loss"});
  const auto both = [&](const auto& g) {
    GradientTape tape;
    tape.watch(x);
    const Tensor y = g(x) * 2;
    const SavedReport report = tape.saved();
    return std::pair(tape.gradient(y, x, {.unconnected = Unconnected::zero}), report);
  };
  const auto [by_function, report] = both(f);
  const auto [by_ops, other] = both([&](const Tensor& input) { return loss(input, w.value()); });
  expect_near(by_function, by_ops, 1e-5);
  ASSERT_FALSE(report.tensors.empty());
  EXPECT_EQ(report.tensors[0].op, "function \"loss\"");

  GradientTape tape;
  const Tensor y = f(x);
  const Tensor dw = tape.gradient(y, w);
  GradientTape plain;
  const Tensor z = loss(x, w.value());
  expect_near(dw, plain.gradient(z, w), 1e-5);
}

TEST(GradientModes, OfHigherOrderThroughAFunction) {
  const Tensor x = tensor({1.0, 2.0}, DType::float64);
  const auto cube = function([](const Tensor& v) { return v * v * v; });
  GradientTape outer;
  outer.watch(x);
  GradientTape inner;
  inner.watch(x);
  const Tensor y = cube(x);
  const Tensor first = inner.gradient(y, x);
  const Tensor second = outer.gradient(first, x);
  EXPECT_EQ(first.to_vector<double>(), (std::vector<double>{3, 12}));
  EXPECT_EQ(second.to_vector<double>(), (std::vector<double>{6, 12}));
}

TEST(GradientModes, AFunctionThatNobodyWatchesSavesNothing) {
  const auto f = function([](const Tensor& v) { return exp(v); });
  const Tensor x = ones({4});
  const Tensor other = ones({4});
  GradientTape tape;
  tape.watch(other);
  const Tensor y = f(x);
  EXPECT_TRUE(tape.saved().tensors.empty());
  EXPECT_THROW(tape.gradient(y, other), GradientError);
}

TEST(GradientModes, DonationsAreRefusedLoudly) {
  const auto f = function([](const Tensor& v) { return v * 2; });
  Tensor x = ones({4});
  GradientTape tape;
  tape.watch(x);
  EXPECT_THROW(f(donate(x)), DonationError);
  EXPECT_EQ(x.size(), 4);
}

TEST(GradientModes, ControlFlowOnTensorsWithData) {
  const Tensor x = tensor({2.0}, DType::float64);
  GradientTape tape;
  tape.watch(x);
  const Tensor y = cond(
      sum(x) > 1, [](const Tensor& v) { return v * v; }, [](const Tensor& v) { return -v; }, x);
  const Tensor z = while_loop([](const Tensor& v) { return sum(v) < 100; },
                              [](const Tensor& v) { return v * v; }, y);
  // x^8 is 256.
  EXPECT_EQ(tape.gradient(z, x).item<double>(), 8 * 128);
}

TEST(GradientModes, AgreeOnRandomPrograms) {
  int compared = 0;
  for (int seed = 0; seed < 150; ++seed) {
    const test::RandomProgram program(static_cast<std::uint64_t>(seed));
    const auto gradients = [&](const std::vector<Tensor>& inputs) {
      std::vector<Tensor> floats;
      for (const Tensor& input : inputs) {
        if (is_floating(input.dtype())) floats.push_back(input);
      }
      GradientTape tape;
      tape.watch(floats);
      Tensor total = zeros({});
      for (const Tensor& output : program(inputs)) {
        if (is_floating(output.dtype())) total = total + sum(output);
      }
      return tape.gradient(total, floats, {.unconnected = Unconnected::zero});
    };
    const std::vector<Tensor> expected = gradients(program.inputs());
    const auto f = function([&](const std::vector<Tensor>& x) { return gradients(x); });
    std::vector<Tensor> inside;
    try {
      inside = f(program.inputs());
    } catch (const GradientError&) {
      continue;  // control flow as a node has no gradient
    }
    ++compared;

    const auto whole = function([&](const std::vector<Tensor>& x) { return program(x); });
    std::vector<Tensor> floats;
    for (const Tensor& input : program.inputs()) {
      if (is_floating(input.dtype())) floats.push_back(input);
    }
    GradientTape tape;
    tape.watch(floats);
    Tensor total = zeros({});
    for (const Tensor& output : whole(program.inputs())) {
      if (is_floating(output.dtype())) total = total + sum(output);
    }
    const std::vector<Tensor> through =
        tape.gradient(total, floats, {.unconnected = Unconnected::zero});
    ASSERT_EQ(inside.size(), expected.size());
    for (std::size_t i = 0; i < expected.size(); ++i) {
      expect_near(inside[i], expected[i], 1e-4, seed);
      expect_near(through[i], expected[i], 1e-4, seed);
    }
  }
  EXPECT_GE(compared, 50);
}

}  // namespace
}  // namespace tenure
