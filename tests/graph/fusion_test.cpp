#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <random>

#include "tenure/graph/function.h"
#include "tenure/tenure.h"
#include "tests/support/same_bits.h"
#include "tests/support/share.h"

// What joins a kernel: loops that make its input, and loops that follow its result.

namespace tenure {
namespace {

using test::expect_same_bits;
using Program = std::function<Tensor(const Tensor&, const Tensor&)>;

/// Runs the program as a function, which must take so many steps and give what eager ops give.
void expect_steps(const Program& program, const Tensor& a, const Tensor& b, std::size_t steps) {
  const auto f = function([&](const Tensor& x, const Tensor& y) { return program(x, y); });
  const Plan plan = f.plan(spec(a.shape(), a.dtype()), spec(b.shape(), b.dtype()));
  EXPECT_EQ(plan.steps.size(), steps) << plan;
  expect_same_bits(f(a, b), program(a, b));
  const MemoryRegion region;
  const Tensor again = f(a, b);
  EXPECT_EQ(region.peak_bytes(), plan.peak);
  EXPECT_TRUE(plan.arena == 0 || steps > 1) << plan;
}

TEST(Fusion, ALoopMakesWhatAReductionReads) {
  struct Case {
    Shape shape;
    Axes axes;
    std::size_t steps = 1;
  };
  const std::vector<Case> cases{
      {{400000}, {0}},           // threads share the result, runs are cut in pieces
      {{20, 40000}, {1}},        // long runs
      {{300, 5000}, {0}},        // wide rows, a part of a row at a time
      {{40000, 10}, {0}},        // rows so narrow that several are folded at once
      {{3000, 33}, {1}},         // short runs
      {{64, 128}, {0, 1}},       // a few elements
      {{70, 40, 90}, {0, 2}},    // runs that do not lie one after the other
      {{70, 40, 90}, {1}},       // columns of several matrices
      {{100, 300}, {0}},         // less than a thread is woken for
      {{200000}, {0}, 2},        // too little to be shared, too much for one thread
      {{5000, 10}, {1}, 2},      // runs that are folded side by side
      {{70, 40, 8}, {0, 2}, 2},  // gathered
      {{0, 8}, {0}, 2},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(to_string(c.shape) + " over " + to_string(c.axes));
    const Tensor a = normal(c.shape);
    const Tensor b = normal(c.shape);
    expect_steps([&](auto& x, auto& y) { return sum((x - y) * x, c.axes); }, a, b, c.steps);
    expect_steps([&](auto& x, auto& y) { return mean(tanh(x) * y, c.axes, KeepDims(true)); }, a, b,
                 c.steps);
    if (count(c.shape) == 0) continue;
    expect_steps([&](auto& x, auto& y) { return max(x + y, c.axes); }, a, b, c.steps);
    expect_steps([&](auto& x, auto& y) { return any(x > y + 4, c.axes); }, a, b, c.steps);
  }
}

TEST(Fusion, AReductionReadsLoopsOfAnyTypeThatItAddsUpIn) {
  const Tensor a = cast(normal({9, 100}) * 10.f, DType::float64);
  const Tensor b = cast(a, DType::int64);
  expect_steps([](auto& x, auto& y) { return sum(x * y, {1}); }, a, b, 1);
  expect_steps([](auto& x, auto& y) { return sum(where(x > 0.5, y * y, y), {1}); }, a, b, 1);
  expect_steps([](auto& x, auto&) { return prod(x + 1, {1}); }, a, b, 1);
  // float16 is added up as float32: its loop ends in memory.
  expect_steps([](auto& x, auto& y) { return sum(x * y, {1}); }, cast(a, DType::float16),
               cast(b, DType::float16), 2);
}

TEST(Fusion, ALoopBroadcastsItsInputsOnTheWay) {
  const Tensor row = normal({500});
  const Tensor column = normal({600, 1});
  expect_steps([](auto& x, auto& y) { return sum(exp(x * y)); }, row, column, 1);
  expect_steps([](auto& x, auto& y) { return sum(exp(x * y), {0}); }, row, column, 1);
  expect_steps([](auto& x, auto& y) { return sum(x - transpose(y), {1}); }, normal({600, 500}),
               normal({500, 600}), 1);
}

TEST(Fusion, AgreesWithEagerOpsOnRandomShapes) {
  std::mt19937 random(7);
  const auto below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  for (int round = 0; round < test::rounds(200); ++round) {
    Shape shape;
    Shape repeated;  // of an input that broadcasts
    Axes axes;
    std::int64_t left = std::int64_t{1} << below(19);
    for (int i = 0, rank = 1 + below(4); i < rank; ++i) {
      const std::int64_t size = i + 1 == rank ? left : 1 + below(static_cast<int>(left));
      left /= size;
      shape.push_back(std::max<std::int64_t>(1, size));
      repeated.push_back(below(2) == 0 ? 1 : shape.back());
      if (below(2) == 0) axes.push_back(i);
    }
    if (axes.empty()) axes.push_back(0);
    SCOPED_TRACE(to_string(shape) + " over " + to_string(axes));
    const int kind = below(3);
    const KeepDims keep(below(2) == 0);
    const auto program = [&](const Tensor& a, const Tensor& b) {
      const Tensor x = tanh(a) * b + a;
      const Tensor y = kind == 0   ? sum(x, axes, keep)
                       : kind == 1 ? mean(x, axes, keep)
                                   : max(x, axes, keep);
      return sqrt(abs(y) + 1e-3f);
    };
    const Tensor a = normal(shape);
    const Tensor b = normal(repeated);
    expect_same_bits(function(program)(a, b), program(a, b));
  }
}

TEST(Fusion, NotANumberComesThrough) {
  const Tensor a = full({3, 50}, std::nanf(""));
  const Tensor b = ones({3, 50});
  expect_steps([](auto& x, auto& y) { return max(x * y, {1}); }, a, b, 1);
  expect_steps([](auto& x, auto& y) { return sum(x * y, {1}); }, a, b, 1);
}

TEST(Fusion, ALoopFollowsAReduction) {
  const Tensor a = normal({300, 400});
  const Tensor scale = normal({300});
  // The root of the mean square, one kernel from beginning to end.
  expect_steps([](auto& x, auto&) { return sqrt(mean(x * x, {1}) + 1e-5f); }, a, scale, 1);
  expect_steps([](auto& x, auto& s) { return exp(sum(x, {1}) * 0.01f) * s + s; }, a, scale, 1);
  expect_steps([](auto& x, auto& s) { return sum(x, {0}) * 2.f + sum(s); }, a, scale, 2);
  // Of another size than what was summed up: a step of its own.
  expect_steps([](auto& x, auto&) { return sum(x, {1}) > 0.f; }, a, scale, 2);
  // Two sums in one loop: one of them joins it.
  expect_steps([](auto& x, auto&) { return sum(x, {1}) + max(x, {1}); }, a, scale, 2);
}

TEST(Fusion, WhatOthersReadStaysInMemory) {
  const Tensor a = normal({30, 40});
  const auto f = function([](const Tensor& x) {
    const Tensor y = tanh(x);
    return std::vector<Tensor>{sum(y), y};
  });
  const std::vector<Tensor> got = f(a);
  expect_same_bits(got[0], sum(tanh(a)));
  expect_same_bits(got[1], tanh(a));
  expect_steps(
      [](auto& x, auto&) {
        Tensor y = tanh(x);
        return sum(y) + max(y);
      },
      a, a, 3);
}

TEST(Fusion, SumsOfGradientsReadTheirLoops) {
  const Tensor x = normal({200, 300});
  const Tensor bias = normal({300});
  const auto step = [](const Tensor& input, const Tensor& b) {
    GradientTape tape;
    tape.watch(b);
    const Tensor loss = sum(tanh(input + b));
    return tape.gradient(loss, b);
  };
  const auto f = function(step);
  expect_same_bits(f(x, bias), step(x, bias));
  EXPECT_LT(f.plan(spec({200, 300}), spec({300})).peak, 2 * 200 * 300 * 4);
}

TEST(Fusion, ManyInputsAreLeftToLoopsOfTheirOwn) {
  std::vector<Tensor> parts;
  for (int i = 0; i < 20; ++i) parts.push_back(normal({50, 60}));
  const auto total = [](const std::vector<Tensor>& t) {
    Tensor y = t[0];
    for (std::size_t i = 1; i < t.size(); ++i) y = y + t[i] * t[i];
    return sum(y, {0});
  };
  expect_same_bits(function(total)(parts), total(parts));
}

}  // namespace
}  // namespace tenure
