#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <random>

#include "tenure/ops/core/dispatch.h"
#include "tenure/ops/core/record.h"
#include "tenure/tenure.h"

// Gradients where formulas have corners: zeros, flat ops, numbers beside float64.

namespace tenure {
namespace {

using Gradients = std::vector<std::vector<double>>;

template <class F>
std::vector<double> gradient_of(const F& f, const Tensor& x) {
  GradientTape tape;
  tape.watch(x);
  return tape.gradient(sum(f(x)), x).template to_vector<double>();
}

TEST(Corner, FlatOpsHaveASlopeOfZeroAndNoGap) {
  const Tensor x = tensor({-1.5, 0.25, 2.75});
  const std::vector<double> zero{0, 0, 0};
  for (const auto f :
       {+[](const Tensor& t) { return round(t); }, +[](const Tensor& t) { return floor(t); },
        +[](const Tensor& t) { return ceil(t); }, +[](const Tensor& t) { return trunc(t); },
        +[](const Tensor& t) { return sign(t); },
        +[](const Tensor& t) { return floor_divide(t, 2.0); },
        +[](const Tensor& t) { return exp(round(t) * 3); }}) {
    EXPECT_EQ(gradient_of(f, x), zero);
    const auto traced = function([&](const Tensor& t) {
      GradientTape tape;
      tape.watch(t);
      return tape.gradient(sum(f(t)), t);
    });
    EXPECT_EQ(traced(x).to_vector<double>(), zero);
  }
  // The other way is as it was, and so is a flat result as a source.
  EXPECT_EQ(gradient_of([](const Tensor& t) { return t * floor(t); }, x),
            (std::vector<double>{-2, 0, 2}));
  GradientTape tape;
  tape.watch(x);
  const Tensor rounded = round(x);
  const Tensor y = sum(square(rounded));
  EXPECT_EQ(tape.gradient(y, rounded).to_vector<double>(), (std::vector<double>{-4, 0, 6}));
}

TEST(Corner, StoppedGradientsAreNoConnection) {
  const Tensor x = tensor({1.0, 2.0});
  const auto ask = [&](Unconnected unconnected) {
    GradientTape tape;
    tape.watch(x);
    return tape.gradient(sum(stop_gradient(x)), x, {.unconnected = unconnected});
  };
  EXPECT_THROW(ask(Unconnected::error), GradientError);
  EXPECT_EQ(ask(Unconnected::zero).to_vector<double>(), (std::vector<double>{0, 0}));
  EXPECT_FALSE(ask(Unconnected::none).defined());
}

TEST(Corner, NoneLeavesOutOnlyWhatIsNotConnected) {
  const Tensor x = tensor({1.5});
  const Tensor other = tensor({1.0});
  GradientTape tape;
  tape.watch({x, other});
  const auto found = tape.gradient(sum(round(x)), std::vector{x, other, tensor({3.0})},
                                   {.unconnected = Unconnected::none});
  EXPECT_EQ(found[0].item<double>(), 0);
  EXPECT_FALSE(found[1].defined());
  EXPECT_FALSE(found[2].defined());
}

/// By taking away and putting in each element, which is exact: products are linear in each.
template <class F>
std::vector<double> by_differences(const F& f, const std::vector<double>& x, const Shape& shape) {
  std::vector<double> slopes;
  const auto at = [&](std::size_t i, double value) {
    std::vector<double> moved = x;
    moved[i] = value;
    return f(reshape(tensor(moved), shape)).template item<double>();
  };
  for (std::size_t i = 0; i < x.size(); ++i) slopes.push_back((at(i, 1) - at(i, -1)) / 2);
  return slopes;
}

TEST(Corner, ProductsWithZerosAreExact) {
  std::mt19937 engine(1);
  for (int round = 0; round < 200; ++round) {
    const Shape shape{static_cast<std::int64_t>(engine() % 4 + 1),
                      static_cast<std::int64_t>(engine() % 5 + 1)};
    std::vector<double> values;
    for (std::int64_t i = 0; i < count(shape); ++i) {
      values.push_back(engine() % 3 == 0 ? 0.0 : static_cast<int>(engine() % 5) - 2);
    }
    const int axis = static_cast<int>(engine() % 2);
    const Tensor weights = cast(randint(-3, 4, shape), DType::float64);
    const Tensor places = randint(0, shape[axis], shape);
    const Tensor onto = cast(randint(-1, 2, shape), DType::float64);
    const auto running = [&](const Tensor& x) { return sum(cumprod(x, axis) * weights); };
    const auto scattered = [&](const Tensor& x) {
      return sum(scatter(onto, axis, places, x, ScatterMode::multiply) * weights);
    };
    const Tensor x = reshape(tensor(values), shape);
    EXPECT_EQ(gradient_of(running, x), by_differences(running, values, shape)) << round;
    EXPECT_EQ(gradient_of(scattered, x), by_differences(scattered, values, shape)) << round;
    // And gradients of gradients, which are linear in each element too.
    const Tensor again = cast(randint(-3, 4, shape), DType::float64);
    const auto slopes_of = [&](const auto& f) {
      return [&](const Tensor& at) {
        GradientTape tape;
        tape.watch(at);
        const Tensor y = f(at);
        return sum(tape.gradient(y, at) * again);
      };
    };
    const auto whole = [&](const Tensor& at) { return sum(prod(at, axis)); };
    const auto of_running = slopes_of(running);
    const auto of_whole = slopes_of(whole);
    EXPECT_EQ(gradient_of(of_running, x), by_differences(of_running, values, shape)) << round;
    EXPECT_EQ(gradient_of(of_whole, x), by_differences(of_whole, values, shape)) << round;
    EXPECT_EQ(gradient_of(function(of_running), x), by_differences(of_running, values, shape));
  }
}

TEST(Corner, NumbersBesideFloat64AreNotRounded) {
  int tried = 0;
  const Tensor x = tensor(std::vector<double>{0.3, 1.7, 2.9});
  constexpr double kNumber = 1.3;  // not a float32
  for (const ops::OpRecord* const op : ops::all_ops()) {
    if (op->elementwise == nullptr || op->elementwise->arity != 2 || op->gradient == nullptr ||
        !op->takes(DType::float64)) {
      continue;
    }
    for (const int place : {0, 1}) {
      const auto slope = [&](const Operand& other) {
        SCOPED_TRACE(op->name);
        GradientTape tape;
        tape.watch(x);
        const Tensor y = place == 0 ? ops::call(*op, other, x) : ops::call(*op, x, other);
        return tape.gradient(sum(y), x, {.unconnected = Unconnected::zero}).to_vector<double>();
      };
      const Tensor whole = full({3}, kNumber, DType::float64);
      const std::vector<double> expected = slope(whole);
      const std::vector<double> found = slope(kNumber);
      for (std::size_t i = 0; i < found.size(); ++i) {
        EXPECT_NEAR(found[i], expected[i], 1e-13 * std::max(1.0, std::abs(expected[i])))
            << op->name << " with a number as operand " << place;
      }
      ++tried;
    }
  }
  EXPECT_GT(tried, 10);
}

TEST(Corner, NumbersAreThemselvesInGradientsAndBranches) {
  const Tensor x = tensor({2.0, 3.0});
  const auto expect_product = [&x](auto number) {
    const auto value = static_cast<double>(number);
    const auto times = [number](const Tensor& t) { return t * number; };
    EXPECT_EQ(gradient_of(times, x), (std::vector<double>{value, value}));
    const auto in_branch = function([&times](const Tensor& t) {
      return cond(
          sum(t) > 0, [&] { return times(t); }, [&] { return t; });
    });
    const Tensor product = in_branch(x);
    EXPECT_EQ(product.to_vector<double>(), (std::vector<double>{2 * value, 3 * value}));
    EXPECT_EQ(gradient_of(in_branch, x), (std::vector<double>{value, value}));
  };
  expect_product(true);
  expect_product(-1);
  expect_product(0.5);
  expect_product(std::uint64_t{1} << 63);
  expect_product(~std::uint64_t{0});
}

}  // namespace
}  // namespace tenure
