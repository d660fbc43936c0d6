#include "tenure/ops/derivatives.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tenure/tenure.h"

namespace tenure {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

using Derivative = Tensor (*)(const Operand&, const Operand&);
struct Gate {
  const char* name;
  Derivative gradient;
  long double (*slope)(long double);
};

long double sigmoid_of(long double x) { return 1 / (1 + std::exp(-x)); }

const std::vector<Gate>& gates() {
  static const std::vector<Gate> all{
      {"silu", silu_gradient,
       [](long double x) { return sigmoid_of(x) + x * sigmoid_of(x) * sigmoid_of(-x); }},
      {"gelu", gelu_gradient,
       [](long double x) {
         return std::erfc(-x / std::sqrt(2.0L)) / 2 +
                x * std::exp(-x * x / 2) / std::sqrt(2 * std::acos(-1.0L));
       }},
      {"gelu_tanh", gelu_tanh_gradient, [](long double x) {
         const long double linear = std::sqrt(8 / std::acos(-1.0L));
         const long double s = sigmoid_of(linear * (x + 0.044715L * x * x * x));
         return s + x * s * (1 - s) * linear * (1 + 3 * 0.044715L * x * x);
       }}};
  return all;
}

TEST(Derivatives, OfGatesHoldFarOut) {
  for (const Gate& gate : gates()) {
    SCOPED_TRACE(gate.name);
    std::vector<double> at;
    for (double x = -30; x <= 30; x += 0.0625) at.push_back(x);
    const auto wide = gate.gradient(1.0, tensor(at)).to_vector<double>();
    const auto narrow = gate.gradient(1.0, cast(tensor(at), DType::float32)).to_vector<float>();
    for (std::size_t i = 0; i < at.size(); ++i) {
      const auto expected = static_cast<double>(gate.slope(at[i]));
      ASSERT_NEAR(wide[i], expected, 1e-15) << at[i];
      ASSERT_NEAR(narrow[i], expected, 5e-7) << at[i];
    }
  }
}

TEST(Derivatives, OfGatesEndInZeroAndOne) {
  for (const DType dtype : {DType::float32, DType::float64, DType::float16, DType::bfloat16}) {
    for (const Gate& gate : gates()) {
      SCOPED_TRACE(gate.name);
      const Tensor x = cast(tensor({-kInf, -60000.0F, kInf, 60000.0F, kNaN}), dtype);
      const auto slopes = cast(gate.gradient(2.0, x), DType::float32).to_vector<float>();
      EXPECT_EQ(slopes[0], 0);
      EXPECT_EQ(slopes[1], 0);
      EXPECT_EQ(slopes[2], 2);
      EXPECT_EQ(slopes[3], 2);
      EXPECT_TRUE(std::isnan(slopes[4]));
    }
  }
}

/// Squares of such numbers are too large for their types.
TEST(Derivatives, OfAreaFunctionsHoldFarOut) {
  const auto expect_inverse = [](const Tensor& x, double tolerance) {
    const double expected = 1 / x.item<double>();
    for (Tensor (*const f)(const Operand&) : {asinh, acosh}) {
      GradientTape tape;
      tape.watch(x);
      EXPECT_NEAR(tape.gradient(f(x), x).item<double>(), expected, expected * tolerance);
    }
  };
  expect_inverse(tensor(1024.0, float16), 0x1p-9);
  expect_inverse(tensor(1e30, bfloat16), 0x1p-6);
  expect_inverse(tensor(1e30, float32), 0x1p-22);
  expect_inverse(tensor(1e200, float64), 0x1p-50);
}

TEST(Derivatives, OfGatesHaveNoCurvatureFarOut) {
  for (const DType dtype : {DType::float32, DType::float64, DType::float16}) {
    for (const Gate& gate : gates()) {
      SCOPED_TRACE(gate.name);
      const Tensor x = cast(tensor({-kInf, -60000.0F, -1000.0F, 1000.0F, kInf, kNaN}), dtype);
      GradientTape tape;
      tape.watch(x);
      const Tensor y = gate.gradient(ones_like(x), x);
      const auto curvature = cast(tape.gradient(y, x), DType::float32).to_vector<float>();
      for (std::size_t i = 0; i < 5; ++i) EXPECT_EQ(curvature[i], 0) << i;
      EXPECT_TRUE(std::isnan(curvature[5]));
    }
  }
}

TEST(Derivatives, OfSoftmaxWithMaskedAndNaN) {
  const Tensor x = tensor({{0.0F, -kInf, 1.0F}, {500.0F, -500.0F, 0.0F}, {kNaN, 0.0F, 0.0F}});
  const Tensor dy = tensor({{1.0F, 2.0F, 3.0F}, {1.0F, 2.0F, 3.0F}, {1.0F, 2.0F, 3.0F}});
  for (const bool log : {false, true}) {
    const Tensor y = log ? log_softmax(x) : softmax(x);
    const auto dx =
        (log ? log_softmax_gradient(dy, y, 1) : softmax_gradient(dy, y, 1)).to_vector<float>();
    const double p = 1 / (1 + std::exp(1.0));
    const std::vector<double> expected =
        log ? std::vector<double>{1 - 6 * p, 2, 3 - 6 * (1 - p), 1 - 6, 2, 3}
            : std::vector<double>{
                  p * (1 - (p + 3 * (1 - p))), 0, (1 - p) * (3 - (p + 3 * (1 - p))), 0, 0, 0};
    for (std::size_t i = 0; i < 6; ++i) EXPECT_NEAR(dx[i], expected[i], 1e-6) << log << i;
    for (std::size_t i = 6; i < 9; ++i) EXPECT_TRUE(std::isnan(dx[i])) << log << i;
  }
}

TEST(Derivatives, OfSoftmaxAlongLongAxes) {
  // The sums of a million terms of either order of axes keep their digits.
  for (const Shape& shape : {Shape{2, 1 << 19}, Shape{1 << 19, 2}}) {
    const int axis = shape[0] == 2 ? 1 : 0;
    const Tensor y = softmax(normal(shape), axis);
    const Tensor dy = uniform(shape);
    for (const bool log : {false, true}) {
      const auto gradient = [&](DType dtype) {
        const Tensor g = cast(dy, dtype);
        const Tensor at = log ? cast(tenure::log(y), dtype) : cast(y, dtype);
        return cast(log ? log_softmax_gradient(g, at, axis) : softmax_gradient(g, at, axis),
                    DType::float64);
      };
      const Tensor expected = gradient(DType::float64);
      const double off = max(abs(gradient(DType::float32) - expected)).item<double>();
      EXPECT_LE(off, 1e-6 * max(abs(expected)).item<double>()) << log;
    }
  }
}

TEST(Derivatives, TakeOnePass) {
  const Tensor x = normal({64, 64});
  const Tensor dy = normal({64, 64});
  const std::vector<Tensor (*)(const Tensor&)> functions{
      [](const Tensor& t) { return softmax(t); }, [](const Tensor& t) { return log_softmax(t); },
      [](const Tensor& t) { return gelu(t); }, [](const Tensor& t) { return gelu_tanh(t); },
      [](const Tensor& t) { return silu(t); }};
  for (std::size_t i = 0; i < functions.size(); ++i) {
    GradientTape tape({.persistent = true});
    tape.watch(x);
    const Tensor y = functions[i](x);
    const std::int64_t before = memory().allocations;
    const Tensor dx = tape.gradient(y, x, {.output_gradient = dy});
    EXPECT_EQ(memory().allocations - before, 1) << i;
  }
}

TEST(Derivatives, OfSoftmaxRejectWhatIsNoGradientOfIt) {
  EXPECT_THROW(softmax_gradient(ones({2, 3}), ones({3, 2}), 1), ShapeError);
  EXPECT_THROW(softmax_gradient(ones({2, 3}), ones({2, 3}, DType::float64), 1), DTypeError);
  EXPECT_THROW(log_softmax_gradient(ones({2, 3}), ones({2, 3}), 2), Error);
}

}  // namespace
}  // namespace tenure
