#include <gtest/gtest.h>

#include <functional>
#include <random>

#include "tenure/tenure.h"
#include "tests/support/same_bits.h"
#include "tests/support/share.h"
#include "tests/support/without_fusing.h"

// Loops that follow a product or a convolution, rows by rows.

namespace tenure {
namespace {

using test::expect_same_bits;
using test::WithoutFusing;
using Body = std::function<Tensor(const std::vector<Tensor>&)>;

Plan plan_of(const Body& body, const std::vector<Tensor>& in) {
  const auto f = function([&](const std::vector<Tensor>& x) { return body(x); });
  return f.plan(in);
}

/// It is so many steps, gives what eager ops give, and takes what was planned, no more than if
/// nothing followed.
void expect_steps(const char* op, const Body& body, const std::vector<Tensor>& in,
                  std::size_t steps) {
  const auto f = function([&](const std::vector<Tensor>& x) { return body(x); });
  const Plan plan = f.plan(in);
  EXPECT_EQ(plan.steps.size(), steps) << plan;
  expect_same_bits(f(in), body(in));
  const MemoryRegion region;
  const Tensor again = f(in);
  EXPECT_EQ(region.peak_bytes(), plan.peak);
  const WithoutFusing none(op);
  const Plan plain = plan_of(body, in);
  EXPECT_LE(plan.peak, plain.peak) << plan << plain;
}

TEST(FusionAfter, LoopsFollowLargeProducts) {
  struct Case {
    Shape a, b;
    DType dtype = float32;
  };
  for (const Case& c : {Case{{2900, 40}, {40, 2900}},
                        {{80000, 60}, {60, 110}},  // columns stay
                        {{3, 40, 1800, 64}, {64, 40}},
                        {{24, 600, 48}, {24, 48, 600}},
                        {{160, 230, 70}, {160, 70, 240}},
                        {{1900, 300}, {300, 2400}, float64}}) {
    SCOPED_TRACE(to_string(c.a) + " by " + to_string(c.b));
    const auto make = [&](const Shape& shape) { return cast(normal(shape), c.dtype); };
    const Tensor a = make(c.a);
    const Tensor b = make(c.b);
    const Shape shape = matmul(a, b).shape();
    Shape column = shape;
    column[column.size() - 1] = 1;
    const std::vector<Tensor> in{a, b, make({shape.back()}), make(column), make(shape)};
    const auto expect = [&](const Body& body, std::size_t steps) {
      expect_steps("matmul", body, in, steps);
    };
    expect([](auto& x) { return relu((matmul(x[0], x[1]) + x[2]) * x[3] + x[4]); }, 1);
    if (c.a != Shape{2900, 40}) continue;  // what follows is the same with every product
    expect([](auto& x) { return relu(matmul(x[0], x[1]) + x[2]); }, 1);
    expect([](auto& x) { return gelu(matmul(x[0], x[1])) * 0.5f - x[4]; }, 1);
    // What else it reads is not there yet when the product begins.
    expect([](auto& x) { return matmul(x[0], x[1]) + cumsum(x[4], -1); }, 3);
    // The product is wanted for itself.
    expect(
        [](auto& x) {
          const Tensor product = matmul(x[0], x[1]);
          return tanh(product) + cumsum(product, -1);
        },
        3);
  }
}

TEST(FusionAfter, LoopsFollowLargeConvolutions) {
  struct Case {
    Shape x, weights;
    ConvOptions options{};
  };
  for (const Case& c : {Case{{4, 70, 70, 8}, {1, 1, 8, 120}},
                        {{3, 90, 80, 5}, {3, 3, 5, 120}, {.padding = 1}},
                        {{5, 150, 140, 8}, {3, 3, 4, 96}, {.stride = 2, .groups = 2}}}) {
    SCOPED_TRACE(to_string(c.x) + " by " + to_string(c.weights));
    const Tensor x = normal(c.x);
    const Tensor weights = normal(c.weights);
    const Shape shape = conv2d(x, weights, c.options).shape();
    const std::vector<Tensor> in{x, weights, normal({shape.back()}), normal(shape)};
    expect_steps(
        "conv", [&](auto& t) { return relu(conv2d(t[0], t[1], c.options) * t[2] + t[3]); }, in, 1);
  }
  // The same grids the other way round.
  const std::vector<Tensor> in{normal({4, 70, 70, 8}), normal({3, 3, 120, 8}),
                               normal({4, 72, 72, 120})};
  expect_steps(
      "conv_input_gradient", [](auto& t) { return conv_transpose2d(t[0], t[1]) * t[2] + 1.f; }, in,
      1);
}

TEST(FusionAfter, SmallResultsAreFollowedByALoopOfItsOwn) {
  expect_steps(
      "matmul", [](auto& x) { return relu(matmul(x[0], x[1]) + x[2]); },
      {normal({900, 200}), normal({200, 900}), normal({900})}, 2);
}

/// Variables that get new values keep their memory; else each of them would need it twice.
TEST(FusionAfter, WhatVariablesHoldTakesNoMoreMemory) {
  const Variable v(normal({2900, 2900}), "v");
  const Variable w(normal({2900, 3000}), "w");
  const auto body = [&](const Tensor& a, const Tensor& b, const Tensor& c) {
    v.assign(v.value() - matmul(a, b) * 0.1f);
    w.assign(w.value() + matmul(a + 1.f, c));
    return sum(a);
  };
  const auto step = function(body);
  const auto plain = function(body);
  const Tensor a = normal({2900, 40});
  const Tensor b = normal({40, 2900});
  const Tensor c = normal({40, 3000});
  const Tensor expected = v.value() - matmul(a, b) * 0.1f;
  const Plan plan = step.plan(a, b, c);
  step(a, b, c);
  expect_same_bits(v.value(), expected);
  const WithoutFusing none("matmul");
  EXPECT_LE(plan.peak, plain.plan(a, b, c).peak) << plan;
}

/// Chains of ops on products of any shape, with operands of all kinds, on any number of threads.
TEST(FusionAfter, AgreesWithoutFusingOnRandomPrograms) {
  std::mt19937 random(11);
  const auto below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  const int threads = num_threads();
  int followed = 0;
  for (int round = 0; round < test::rounds(6); ++round) {
    const std::int64_t n = 16 + below(1500);
    const std::int64_t m = 32 * 1024 * 1024 / 4 / n + 1 + below(400);
    const std::int64_t k = 65 + below(200);
    const std::vector<Tensor> in{normal({m, k}), normal({k, n}), normal({n}), normal({m, 1}),
                                 normal({m, n}), normal({n, m}), normal({})};
    std::vector<std::pair<int, int>> chain;  // ops and operands
    for (int i = 0, length = 1 + below(5); i < length; ++i) chain.emplace_back(below(6), below(6));
    const auto body = [&](const std::vector<Tensor>& x) {
      const Tensor a = relu(x[0]);
      const std::vector<Tensor> operands{
          x[2], x[3], x[4], transpose(x[5]), x[6], sum(a, {1}, KeepDims(true))};
      Tensor y = matmul(a, x[1]);
      for (const auto& [op, operand] : chain) {
        const Tensor& z = operands[static_cast<std::size_t>(operand)];
        y = op == 0   ? y + z
            : op == 1 ? y * z
            : op == 2 ? maximum(z, y)
            : op == 3 ? relu(y)
            : op == 4 ? sigmoid(y) - z
                      : cast(cast(y, int32), float32) + z;
      }
      return y;
    };
    SCOPED_TRACE(to_string(Shape{m, n, k}));
    const auto with = function([&](const std::vector<Tensor>& x) { return body(x); });
    const auto without = function([&](const std::vector<Tensor>& x) { return body(x); });
    const Plan plan = with.plan(in);
    set_num_threads(std::vector{1, 2, 3, 8}[static_cast<std::size_t>(below(4))]);
    const Tensor got = with(in);
    set_num_threads(threads);
    const WithoutFusing none("matmul");
    const Plan plain = without.plan(in);
    followed += plan.steps.size() < plain.steps.size() ? 1 : 0;
    EXPECT_LE(plan.peak, plain.peak) << plan << plain;
    expect_same_bits(got, without(in));
  }
  EXPECT_GE(followed, test::rounds(6) / 2);
}

}  // namespace
}  // namespace tenure
