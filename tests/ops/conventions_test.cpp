#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "tenure/tenure.h"
#include "tests/support/expect.h"

// Where libraries differ, or have corners, these ops do as NumPy 1.24 does: the numbers here are
// what it gives.

namespace tenure {
namespace {

using test::expect_elements;
using test::expect_throws;
using Ints = std::vector<std::int64_t>;
using Doubles = std::vector<double>;

Tensor two_rows() { return tensor(Doubles{3, 1, 4, 1.5, 9, 2, 6, 5.25}, {2, 4}); }

void expect_near(const Tensor& got, const Doubles& expected) {
  const Doubles values = got.to_vector<double>();
  ASSERT_EQ(values.size(), expected.size());
  for (std::size_t i = 0; i < values.size(); ++i) EXPECT_NEAR(values[i], expected[i], 1e-14);
}

TEST(Conventions, MediansAreMeansOfTheTwoInTheMiddle) {
  const Tensor x = two_rows();
  expect_elements<double>(median(x), {}, {3.5});
  expect_elements<double>(median(x, 0), {4}, {6, 1.5, 5, 3.375});
  expect_elements<double>(median(x, 1, true), {2, 1}, {2.25, 5.625});
  expect_elements<double>(median(tensor(Doubles{1, NAN, 2})), {}, {NAN});
  EXPECT_THROW(median(zeros({0})), ShapeError);
  EXPECT_THROW(median(zeros({2}, int64)), DTypeError);
}

TEST(Conventions, QuantilesAreLinearBetweenElements) {
  const Tensor x = two_rows();
  expect_elements<double>(quantile(x, 0, 1), {2}, {1, 2});
  expect_near(quantile(x, 0.1, 1), {1.15, 2.975});
  expect_near(quantile(x, 0.25, 1), {1.375, 4.4375});
  expect_near(quantile(x, 0.9), {6.8999999999999995});
  expect_elements<double>(quantile(x, 1), {}, {9});
  expect_throws<ValueError>([&] { quantile(x, 1.5); }, {"quantile", "1.5", "[0, 1]"});
  EXPECT_THROW(quantile(x, NAN), ValueError);
}

TEST(Conventions, HistogramsCountTheUpperEndInTheLastRange) {
  const Tensor x = tensor(Doubles{0, 0.5, 1, 1, 1.5, 2, 3, 4});
  const Histogram whole = histogram(x, 4);
  expect_elements<std::int64_t>(whole.counts, {4}, {2, 3, 1, 2});
  expect_elements<double>(whole.edges, {5}, {0, 1, 2, 3, 4});
  const Histogram part = histogram(x, 3, 0.5, 2);
  expect_elements<std::int64_t>(part.counts, {3}, {1, 2, 2});
  expect_elements<double>(part.edges, {4}, {0.5, 1, 1.5, 2});
  const Histogram one = histogram(tensor(Doubles{2, 2}), 2);
  expect_elements<std::int64_t>(one.counts, {2}, {0, 2});
  expect_elements<double>(one.edges, {3}, {1.5, 2, 2.5});
  expect_elements<std::int64_t>(histogram(zeros({0}), 3).counts, {3}, {0, 0, 0});
  expect_elements<std::int64_t>(histogram(tensor({1, 2, 9}), 2).counts, {2}, {2, 1});
  EXPECT_THROW(histogram(x, 0), ValueError);
  EXPECT_THROW(histogram(x, 3, 2, 1), ValueError);
  EXPECT_THROW(histogram(x, 3, -INFINITY, 1), ValueError);
}

TEST(Conventions, SearchesFindTheFirstOrTheLastOfEqualElements) {
  const Tensor sorted = tensor(Doubles{1, 2, 2, 3});
  const Tensor values = tensor(Doubles{0, 2, 2.5, 3, 4});
  expect_elements<std::int64_t>(searchsorted(sorted, values), {5}, {0, 1, 3, 3, 4});
  expect_elements<std::int64_t>(searchsorted(sorted, values, true), {5}, {0, 3, 3, 4, 4});
  expect_elements<std::int64_t>(searchsorted(sorted, 2), {}, {1});
  expect_elements<std::int64_t>(searchsorted(tensor(Doubles{1, NAN}), tensor(Doubles{NAN, 2, 0})),
                                {3}, {1, 1, 0});
  EXPECT_THROW(searchsorted(sorted, tensor({1, 2})), DTypeError);
  EXPECT_THROW(searchsorted(zeros({2, 3}), zeros({3, 3})), ShapeError);
  EXPECT_THROW(searchsorted(zeros({}), zeros({3})), ShapeError);
}

TEST(Conventions, CountsAreOfNumbersInRange) {
  expect_elements<std::int64_t>(bincount(tensor({0, 1, 1, 3}), 5), {5}, {1, 2, 0, 1, 0});
  expect_elements<double>(bincount(tensor({0, 1, 1}), tensor(Doubles{0.5, 1, 2}), 2), {2},
                          {0.5, 3});
  EXPECT_THROW(bincount(tensor({0, 5}), 5), IndexError);
  expect_throws<IndexError>(
      [] {
        bincount(tensor({0, -1}), 5);
      },
      {"bincount: -1 at [1] is not in [0, 4]"});  // never from the end
  EXPECT_THROW(bincount(tensor({0, 1}), -1), ValueError);
  EXPECT_THROW(bincount(tensor({0, 1}), ones({3}), 2), ShapeError);
}

TEST(Conventions, Products) {
  const Tensor a = tensor({{1, 2}, {3, 4}});
  expect_elements<std::int64_t>(kron(a, tensor({{0, 5}, {6, 7}})), {4, 4},
                                {0, 5, 0, 10, 6, 7, 12, 14, 0, 15, 0, 20, 18, 21, 24, 28});
  const Tensor rows = tensor({{1, 2, 3}, {0, 1, 0}});
  expect_elements<std::int64_t>(cross(rows, tensor({4, 5, 6})), {2, 3}, {-3, 6, -3, 6, 0, -4});
  expect_elements<std::int64_t>(trace(reshape(arange(12), {3, 4}), 0, 1, 1), {}, {18});
  expect_elements<std::int64_t>(diagonal(reshape(arange(24), {2, 3, 4}), 2, 0, 1), {3, 1},
                                {12, 16, 20});
  expect_elements<std::int64_t>(dot(tensor({1, 2, 3}), tensor({4, 5, 6})), {}, {32});
  expect_elements<std::int64_t>(outer(tensor({1, 2}), tensor({3, 4})), {2, 2}, {3, 4, 6, 8});
  expect_throws<ShapeError>([&] { dot(a, a); }, {"dot", "[2, 2]", "matmul"});
  expect_throws<ShapeError>([&] { cross(a, a); }, {"cross", "size 3"});
  EXPECT_THROW(kron(zeros({1, 1, 1, 1, 1}), a), ShapeError);
}

TEST(Conventions, IntegerMatmul) {
  const Tensor large = full({2, 300}, -128, int8);
  expect_elements<std::int32_t>(integer_matmul(large, transpose(large)), {2, 2},
                                {4915200, 4915200, 4915200, 4915200});
  expect_elements<std::int8_t>(matmul(full({1, 3}, 100, int8), full({3, 1}, 3, int8)), {1, 1},
                               {-124});
  expect_throws<DTypeError>(
      [&] {
        integer_matmul(large, ones({300, 2}));
      },
      {"integer_matmul", "int8 or uint8", "float32"});
  expect_throws<DTypeError>([&] { integer_matmul(ones({2, 300}), large); }, {"integer_matmul"});
  expect_throws<ShapeError>([&] { integer_matmul(large, large); },
                            {"integer_matmul", "300 columns meet 2 rows"});
  expect_throws<ShapeError>([&] { integer_matmul(large, 2); }, {"integer_matmul", "mul"});
  const Tensor twice = full({2, 2, 4}, 1, uint8);
  expect_throws<ShapeError>(
      [&] {
        integer_matmul(twice, full({3, 4, 2}, 1, int8));
      },
      {"integer_matmul"});
}

TEST(Conventions, DifferencesAndRunningExtrema) {
  expect_elements<std::int64_t>(diff(tensor({1, 4, 9, 16, 25}), 2), {3}, {2, 2, 2});
  expect_elements<double>(diff(two_rows(), 1, 0), {1, 4}, {6, 1, 2, 3.75});
  EXPECT_THROW(diff(two_rows(), -1), ValueError);
  expect_elements<double>(cummax(tensor(Doubles{1, 3, 2, NAN, 5}), 0), {5}, {1, 3, 3, NAN, NAN});
  expect_elements<std::int8_t>(cummin(tensor({5, -3, 7}, int8), 0), {3}, {5, -3, -3});
}

TEST(Conventions, RemaindersHaveTheSignOfTheFirst) {
  const Tensor a = tensor(Doubles{-7, 7, -7.5});
  const Tensor b = tensor(Doubles{3, -3, 2});
  expect_elements<double>(fmod(a, b), {3}, {-1, 1, -1.5});
  expect_elements<double>(remainder(a, b), {3}, {2, -2, 0.5});
  const std::int64_t lowest = INT64_MIN;
  expect_elements<std::int64_t>(fmod(tensor({lowest, -7}), tensor({-1, 3})), {2}, {0, -1});
  EXPECT_THROW(fmod(tensor({1}), 0), ValueError);
}

TEST(Conventions, FunctionsDoNotOverflow) {
  expect_near(logaddexp(tensor(Doubles{1000}), 1000.0), {1000.6931471805599});
  EXPECT_NEAR(hypot(tensor(Doubles{3e200}), 4e200).item<double>() / 5e200, 1, 1e-15);
}

TEST(Conventions, ElementsDoNotDependOnTheirNeighbours) {
  const Tensor x = mul(normal({1000}), 3.0);
  const Tensor is_far = less(uniform(x.shape()), 0.1);
  const std::vector<bool> far = is_far.to_vector<bool>();
  using Function = Tensor (*)(const Operand&);
  for (const Function f : {Function(exp), Function(exp2), Function(tanh), Function(sigmoid),
                           Function(silu), Function(gelu), Function(mish), Function(erf)}) {
    const std::vector<float> alone = f(x).to_vector<float>();
    for (const double other : {-1e9, -120.0, -88.0, 88.0, 120.0, 1e9, std::nan("")}) {
      const std::vector<float> beside = f(where(is_far, other, x)).to_vector<float>();
      for (std::size_t i = 0; i < alone.size(); ++i) {
        if (far[i]) continue;
        ASSERT_EQ(alone[i], beside[i]) << other << " at " << i;
      }
    }
  }
}

TEST(Conventions, TanhIsOddToTheBitAndAtMostOne) {
  const Tensor x = concat({linspace(0, 12, 3001), tensor({1e-40F, 1e-20F, 1e-6F, 1e9F, INFINITY})});
  const std::vector<float> above = tanh(x).to_vector<float>();
  const std::vector<float> below = tanh(neg(x)).to_vector<float>();
  for (std::size_t i = 0; i < above.size(); ++i) {
    EXPECT_EQ(above[i], -below[i]) << i;
    EXPECT_NE(std::signbit(above[i]), std::signbit(below[i])) << i;
    EXPECT_LE(above[i], 1) << i;
  }
  EXPECT_EQ(above[3001], 1e-40F);
  EXPECT_EQ(above.back(), 1);
}

TEST(Conventions, Closeness) {
  const Tensor a = tensor(Doubles{1e10, 1e-7});
  const Tensor b = tensor(Doubles{1.00001e10, 1e-8});
  expect_elements<bool>(isclose(a, b), {2}, {true, false});
  expect_elements<bool>(allclose(a, b), {}, {false});
  expect_elements<bool>(isclose(1.0, a), {2}, {false, false});
  EXPECT_TRUE(allclose(tensor({1, 2}), tensor({1, 2})).item<bool>());
  EXPECT_TRUE(allclose(tensor(Doubles{NAN}), NAN, 0, 0, true).item<bool>());
  EXPECT_FALSE(isclose(tensor({INT64_MIN}), tensor({INT64_MAX})).item<bool>()) << "no wrap";
  EXPECT_FALSE(array_equal(ones({2, 1}), ones({2})).item<bool>()) << "shapes count";
  EXPECT_TRUE(array_equal(ones({2}), tensor({1, 1})).item<bool>()) << "types do not";
}

TEST(Conventions, NumbersInPlaceOfWhatIsNone) {
  const Tensor x = tensor(std::vector<float>{NAN, INFINITY, -INFINITY});
  constexpr float kMax = 3.4028235e38F;
  expect_elements<float>(nan_to_num(x), {3}, {0, kMax, -kMax});
  expect_elements<float>(nan_to_num(x, 1, 2, 3), {3}, {1, 2, 3});
  expect_elements<std::int64_t>(nan_to_num(tensor({1, 2})), {2}, {1, 2});
  const Tensor half = cast(x, float16);
  EXPECT_EQ(nan_to_num(half).dtype(), float16);
  EXPECT_EQ(nan_to_num(half).to_vector<float>()[1], 65504);
}

TEST(Conventions, MasksBroadcastToWhatTheyFill) {
  const Tensor x = tensor({{1, 2}, {3, 4}});
  const Tensor mask = tensor({true, false});
  expect_elements<std::int64_t>(masked_fill(x, mask, 9), {2, 2}, {9, 2, 9, 4});
  EXPECT_THROW(masked_fill(x, mask, 2.5), DTypeError) << "an integer does not hold it";
  EXPECT_THROW(masked_fill(x, tensor({1, 0}), 9), DTypeError);
  expect_throws<ShapeError>(
      [&] {
        masked_fill(tensor({1, 2}), ones({2, 2}, boolean), 9);
      },
      {"masked_fill", "[2, 2]", "[2]"});
  EXPECT_THROW(masked_fill(x, mask, tensor({1, 2})), ShapeError);
}

TEST(Conventions, SpacesAndGrids) {
  expect_near(logspace(0, 2, 5, 10, float64), {1, 3.1622776601683795, 10, 31.622776601683793, 100});
  EXPECT_THROW(logspace(0, 2, 5, -1), ValueError);
  EXPECT_THROW(logspace(0, 2, -5), ValueError);
  EXPECT_THROW(logspace(0, 2, 5, 10, int32), DTypeError);
  const Tensor a = tensor({1, 2, 3});
  const Tensor b = tensor({4, 5});
  const std::vector<Tensor> grid = meshgrid({a, b});
  expect_elements<std::int64_t>(grid[0], {3, 2}, {1, 1, 2, 2, 3, 3});
  expect_elements<std::int64_t>(grid[1], {3, 2}, {4, 5, 4, 5, 4, 5});
  const std::vector<Tensor> picture = meshgrid({a, b}, "xy");
  expect_elements<std::int64_t>(picture[0], {2, 3}, {1, 2, 3, 1, 2, 3});
  expect_elements<std::int64_t>(picture[1], {2, 3}, {4, 4, 4, 5, 5, 5});
  EXPECT_THROW(meshgrid({a, b}, "ji"), ValueError);
  EXPECT_THROW(meshgrid({a, ones({2, 2})}), ShapeError);
  EXPECT_THROW(meshgrid({}), ValueError);
}

}  // namespace
}  // namespace tenure
