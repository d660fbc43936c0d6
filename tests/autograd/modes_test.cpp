#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <limits>

#include "tenure/tenure.h"
#include "tests/support/random_program.h"
#include "tests/support/share.h"

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

TEST(GradientModes, EqualCallsOfAGraphAreOneValue) {
  Graph graph;
  const Tensor x = graph.placeholder("x", DType::float64, {1});
  const auto rounded = [](double slope) {
    return custom_gradient(
        [](Saves&, const Tensor& v) { return round(v); },
        [slope](const std::vector<Tensor>&, const Tensor& g) { return g * slope; });
  };
  GradientTape tape({.persistent = true});
  tape.watch(x);
  const Tensor y = x * x;
  const Tensor z = y * y;
  static_cast<void>(x * x);
  const Tensor dy = tape.gradient(z, y);
  // Equal values with different gradients.
  const Tensor one = rounded(1)(x);
  const Tensor two = rounded(2)(x);
  const Tensor d1 = tape.gradient(one, x);
  const Tensor d2 = tape.gradient(two, x);
  Session session(graph);
  const auto run = [&](const Tensor& t) {
    return session.run(t, {{x, full({1}, 3.0, DType::float64)}}).item<double>();
  };
  EXPECT_EQ(run(dy), 18);
  EXPECT_EQ(run(one), 3);
  EXPECT_EQ(run(d1), 1);
  EXPECT_EQ(run(d2), 2);
}

TEST(GradientModes, WhatAVariableGotIsNotWhatItHolds) {
  const Variable v(ones({1}, DType::float64), "v");
  const Variable w(full({1}, 3.0, DType::float64), "w");
  const auto gradients = [&](const Tensor& x) {
    GradientTape tape;
    const Tensor e = w.value() * x;
    v.assign(e);
    const Tensor y = v.value() * 10 + e;
    return tape.gradient(y, std::vector{v, w});
  };
  const Tensor x = full({1}, 2.0, DType::float64);
  const auto traced = function(gradients);
  for (const auto& found : {gradients(x), traced(x)}) {
    EXPECT_EQ(found[0].item<double>(), 10);
    EXPECT_EQ(found[1].item<double>(), 2);
    EXPECT_EQ(v.value().item<double>(), 6);
  }
}

TEST(GradientModes, TermsOfAFunctionHoldUnderATape) {
  const auto small = function([](const Tensor& v) { return tanh(matmul(v, v)); }, {.budget = 100});
  const auto checked = function([](const Tensor& v) { return log(v); }, {.check_numbers = true});
  const Tensor x = full({16, 16}, -1.0);
  EXPECT_THROW(small(x), planner::BudgetError);
  EXPECT_THROW(checked(x), NumberError);
  GradientTape tape;
  tape.watch(x);
  EXPECT_THROW(small(x), planner::BudgetError);
  EXPECT_THROW(checked(x), NumberError);
}

TEST(GradientModes, NestedTapesRefuseWhatOneDoes) {
  Tensor x = ones({4});
  const auto twice = function([](const Tensor& v) { return v * 2; });
  std::function<Tensor(const Tensor&)> again;
  const auto endless = function([&](const Tensor& v) { return again(v); });
  again = [&](const Tensor& v) { return endless(v); };
  GradientTape outer;
  outer.watch(x);
  GradientTape inner;
  inner.watch(x);
  EXPECT_THROW(twice(donate(x)), DonationError);
  EXPECT_EQ(x.size(), 4);
  EXPECT_THROW(endless(x), GraphError);
}

/// The gradients of the sum of all that a program gives.
std::vector<Tensor> gradients_of(const test::RandomProgram& program,
                                 const std::vector<Tensor>& inputs) {
  GradientTape tape;
  tape.watch(inputs);
  Tensor total = zeros({});
  for (const Tensor& output : program(inputs)) total = total + sum(output);
  return tape.gradient(total, inputs, {.unconnected = Unconnected::zero});
}

/// To the last bit; with branches and loops, whose way back adds up in another order, nearly.
void expect_alike(const std::vector<Tensor>& got, const std::vector<Tensor>& expected, bool nearly,
                  const char* mode, int seed) {
  ASSERT_EQ(got.size(), expected.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    SCOPED_TRACE(mode);
    if (nearly) {
      expect_near(got[i], expected[i], 1e-4, seed);
      continue;
    }
    const auto a = got[i].to_vector<float>();
    const auto b = expected[i].to_vector<float>();
    ASSERT_EQ(a.size(), b.size());
    ASSERT_TRUE(a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0)
        << seed << "\n"
        << got[i] << "\n"
        << expected[i];
  }
}

/// Sums of gradients are made in one order in every mode, also where a graph has calls once that
/// the program makes several times.
TEST(GradientModes, AddUpInOneOrder) {
  using Function = std::function<Tensor(const Tensor&)>;
  const std::vector<Function> functions{
      [](const Tensor& x) { return x * x * x + x * x; },
      [](const Tensor& x) { return tanh(x) * x + tanh(x) * exp(tanh(x)); },
      [](const Tensor& x) {
        const Tensor y = x * 3 + x;
        return (x * 3 + x) * y + y * sigmoid(x * 3 + x);
      },
      [](const Tensor& x) { return sum(x * x) * x + exp(sum(x * x) * -0.01); }};
  const Tensor x = uniform({257}, -2, 2);
  for (std::size_t i = 0; i < functions.size(); ++i) {
    const auto slope = [&](const Tensor& at) {
      GradientTape tape;
      tape.watch(at);
      return std::vector{tape.gradient(functions[i](at), at)};
    };
    const std::vector<Tensor> expected = slope(x);
    const auto f = function([&](const Tensor& t) { return slope(t); });
    expect_alike(f(x), expected, false, "function", static_cast<int>(i));
    Graph graph;
    const Tensor symbol = graph.placeholder("x", float32, {257});
    Session session(graph);
    expect_alike(session.run(slope(symbol), {{symbol, x}}), expected, false, "session",
                 static_cast<int>(i));
    const auto whole = function(functions[i]);
    GradientTape tape;
    tape.watch(x);
    expect_alike({tape.gradient(whole(x), x)}, expected, false, "through a function",
                 static_cast<int>(i));
  }
}

/// Some results of a body are known to a tape by two symbols with different gradients.
TEST(GradientModes, BranchesTellEqualValuesApart) {
  const auto rounded = [](double slope) {
    return custom_gradient(
        [](Saves&, const Tensor& v) { return round(v); },
        [slope](const std::vector<Tensor>&, const Tensor& g) { return g * slope; });
  };
  const auto slope = [&](const Tensor& x) {
    GradientTape tape;
    tape.watch(x);
    const Tensor one = rounded(1)(x);
    const Tensor ten = rounded(10)(x);
    const Tensor y = cond(
        sum(x) > 0, [&](const Tensor& t) { return t + one * 2 + ten; },
        [&](const Tensor& t) { return t - ten; }, x);
    return tape.gradient(sum(y), x);
  };
  const Tensor x = tensor({2.0, 3.0});
  EXPECT_EQ(slope(x).to_vector<float>(), (std::vector<float>{13, 13}));
  EXPECT_EQ(function(slope)(x).to_vector<float>(), (std::vector<float>{13, 13}));
}

TEST(GradientModes, AgreeOnRandomPrograms) {
  for (int seed = 0; seed < test::rounds(2000); ++seed) {
    const test::RandomProgram program(static_cast<std::uint64_t>(seed));
    const std::vector<Tensor>& inputs = program.inputs();
    const bool nearly = program.has_control_flow();
    const std::vector<Tensor> expected = gradients_of(program, inputs);

    const auto f = function([&](const std::vector<Tensor>& x) { return gradients_of(program, x); });
    const Plan plan = f.plan(inputs);
    {
      const MemoryRegion region;
      const std::vector<Tensor> inside = f(inputs);
      ASSERT_EQ(region.peak_bytes(), plan.peak) << seed;
      expect_alike(inside, expected, nearly, "function", seed);
    }
    Graph graph;
    std::vector<Tensor> symbols;
    std::vector<Feed> feeds;
    for (const Tensor& input : inputs) {
      symbols.push_back(
          graph.placeholder(std::to_string(symbols.size()), input.dtype(), input.shape()));
      feeds.emplace_back(symbols.back(), input);
    }
    const std::vector<Tensor> fetches = gradients_of(program, symbols);
    Session session(graph);
    const Plan predicted = session.plan(fetches, feeds);
    {
      const MemoryRegion region;
      const std::vector<Tensor> fetched = session.run(fetches, feeds);
      ASSERT_EQ(region.peak_bytes(), predicted.peak) << seed;
      expect_alike(fetched, expected, nearly, "session", seed);
    }
    const auto whole = function([&](const std::vector<Tensor>& x) { return program(x); });
    GradientTape tape;
    tape.watch(inputs);
    Tensor total = zeros({});
    for (const Tensor& output : whole(inputs)) total = total + sum(output);
    expect_alike(tape.gradient(total, inputs, {.unconnected = Unconnected::zero}), expected, nearly,
                 "through a function", seed);
  }
}

}  // namespace
}  // namespace tenure
