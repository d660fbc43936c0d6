#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <functional>

#include "tenure/tenure.h"
#include "tests/autograd/near.h"
#include "tests/support/placeholders.h"
#include "tests/support/random_program.h"
#include "tests/support/share.h"

// Gradients in graphs, in traced functions, and through them.

namespace tenure {
namespace {

using test::expect_near;

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
    const auto [symbols, feeds] = test::Placeholders(graph, inputs);
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
