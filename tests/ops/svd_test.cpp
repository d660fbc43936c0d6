#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "tenure/tenure.h"
#include "tests/support/make.h"

// Singular values on both sides of each way in which they are found: leaves that rotations make
// diagonal, halves that are put together, blocks of reflections. Matrices are made of the values
// that are expected.

namespace tenure {
namespace {

using test::make;

constexpr double kEpsilon = std::numeric_limits<double>::epsilon();

/// Numbers of leaves, whole or not, of which the last is a row alone, or all but one.
constexpr std::int64_t kSvdSizes[] = {1, 2, 3, 31, 32, 33, 34, 63, 64, 65, 97, 129, 300};

double most(const Tensor& x) {
  return x.size() == 0 ? 0 : max(abs(cast(x, DType::float64))).item<double>();
}

Tensor turn_of(std::int64_t n, std::uint64_t seed) {
  Generator generator(seed);
  return qr(normal({n, n}, 0, 1, DType::float64, &generator)).q;
}

double off_unit(const Tensor& q) {
  return most(matmul(transpose(q), q) - eye(q.shape().back(), std::nullopt, 0, q.dtype()));
}

/// U and V are orthogonal and give the matrix, to a few roundings of its size for each row; values
/// descend, and none is negative.
std::vector<double> check_svd(const Tensor& a) {
  const auto [u, s, vh] = svd(a);
  const double rounding = 4 * kEpsilon * static_cast<double>(std::max(a.shape()[0], a.shape()[1]));
  std::vector<double> values = s.to_vector<double>();
  const double scale = values.empty() ? 0 : values[0];
  EXPECT_LE(off_unit(u), rounding);
  EXPECT_LE(off_unit(transpose(vh)), rounding);
  EXPECT_LE(most(matmul(u * s, vh) - a), rounding * scale);
  EXPECT_TRUE(std::is_sorted(values.rbegin(), values.rend()));
  EXPECT_TRUE(values.empty() || values.back() >= 0);
  return values;
}

struct Values {
  const char* name;
  double (*value)(std::int64_t i, std::int64_t n);
};
void PrintTo(const Values& values, std::ostream* out) { *out << values.name; }

class SvdOfValues : public testing::TestWithParam<Values> {};

double fraction(std::int64_t i, std::int64_t n) {
  return static_cast<double>(i) / static_cast<double>(n);
}

INSTANTIATE_TEST_SUITE_P(
    Svd, SvdOfValues,
    testing::Values(
        Values{"evenly_spread", [](std::int64_t i, std::int64_t n) { return 1 + fraction(i, n); }},
        Values{"equal", [](std::int64_t, std::int64_t) { return 3.0; }},
        Values{"two_values", [](std::int64_t i, std::int64_t) { return i % 2 == 0 ? 1.0 : 0.25; }},
        Values{
            "of_low_rank",
            [](std::int64_t i, std::int64_t) { return i < 5 ? 1.0 + static_cast<double>(i) : 0; }},
        Values{"half_of_them_zero",
               [](std::int64_t i, std::int64_t n) { return i % 2 == 0 ? 1 + fraction(i, n) : 0; }},
        Values{"graded",
               [](std::int64_t i, std::int64_t n) { return std::pow(10.0, -12 * fraction(i, n)); }},
        Values{"graded_beyond_rounding",
               [](std::int64_t i, std::int64_t n) { return std::pow(10.0, -40 * fraction(i, n)); }},
        Values{"three_clusters",
               [](std::int64_t i, std::int64_t) {
                 return static_cast<double>(i % 3) + 1e-13 * static_cast<double>(i);
               }},
        Values{"one_large",
               [](std::int64_t i, std::int64_t n) { return i == 0 ? 1 : 1e-9 * fraction(i, n); }},
        Values{"zero", [](std::int64_t, std::int64_t) { return 0.0; }}),
    [](const auto& info) { return info.param.name; });

TEST_P(SvdOfValues, HaveWhatTheMatrixWasMadeOf) {
  for (const std::int64_t n : kSvdSizes) {
    SCOPED_TRACE(n);
    std::vector<double> expected;
    for (std::int64_t i = 0; i < n; ++i) expected.push_back(GetParam().value(i, n));
    std::sort(expected.rbegin(), expected.rend());
    const Tensor a = matmul(turn_of(n, 1) * make<double>({1, n}, expected), turn_of(n, 2));
    const std::vector<double> values = check_svd(a);
    double error = 0;
    for (std::size_t i = 0; i < values.size(); ++i) {
      error = std::max(error, std::abs(values[i] - expected[i]));
    }
    EXPECT_LE(error, 4 * kEpsilon * static_cast<double>(n) * expected[0]);
  }
}

/// A diagonal and the numbers beside it, which reflections leave as they are.
Tensor bidiagonal(std::int64_t n, const std::function<double(std::int64_t)>& on,
                  const std::function<double(std::int64_t)>& beside) {
  std::vector<double> values(static_cast<std::size_t>(n * n));
  for (std::int64_t i = 0; i < n; ++i) {
    values[static_cast<std::size_t>(i * (n + 1))] = on(i);
    if (i + 1 < n) values[static_cast<std::size_t>(i * (n + 1) + 1)] = beside(i);
  }
  return make<double>({n, n}, values);
}

TEST(Svd, OfTwoDiagonals) {
  const auto one = [](std::int64_t) { return 1.0; };
  const auto none = [](std::int64_t) { return 0.0; };
  const auto falls = [](std::int64_t i) { return std::pow(10.0, -0.1 * static_cast<double>(i)); };
  for (const std::int64_t n : kSvdSizes) {
    SCOPED_TRACE(n);
    for (const double value : check_svd(bidiagonal(n, one, none))) EXPECT_EQ(value, 1);
    for (const double value : check_svd(bidiagonal(n, none, none))) EXPECT_EQ(value, 0);
    // 2 cos(k pi / (2 n + 1)).
    const std::vector<double> values = check_svd(bidiagonal(n, one, one));
    for (std::int64_t k = 1; k <= n; ++k) {
      const double angle =
          std::acos(-1.0) * static_cast<double>(k) / static_cast<double>(2 * n + 1);
      EXPECT_NEAR(values[static_cast<std::size_t>(k - 1)], 2 * std::cos(angle),
                  4 * kEpsilon * static_cast<double>(n));
    }
    // A shift: one value is zero, the others are 1.
    const std::vector<double> shifted = check_svd(bidiagonal(n, none, one));
    EXPECT_EQ(std::count(shifted.begin(), shifted.end(), 1.0), n - 1);
    EXPECT_LE(shifted.back(), kEpsilon);
    check_svd(bidiagonal(n, falls, falls));
    check_svd(bidiagonal(
        n, [&](std::int64_t i) { return falls(n - i); }, falls));
    check_svd(bidiagonal(n, one, [](std::int64_t) { return 1e-15; }));
    check_svd(bidiagonal(n, one, [](std::int64_t) { return -1e12; }));
    check_svd(bidiagonal(
        n, [](std::int64_t i) { return i % 32 == 31 ? 0.0 : 1.0; }, one));
    check_svd(bidiagonal(n, one, [](std::int64_t i) { return i % 32 == 31 ? 0.0 : 1.0; }));
  }
}

/// Of ((1, 1000), (0, 1)), in a leaf or where two touch: values have the product 1, and the least
/// is known to as many digits as its distance from the largest leaves, where squares would have
/// half.
TEST(Svd, KeepsDigitsOfTheLeastValue) {
  constexpr std::int64_t kSize = 100;
  for (const std::int64_t at : {10, 31, 40, 63}) {
    SCOPED_TRACE(at);
    const std::vector<double> values = check_svd(bidiagonal(
        kSize, [](std::int64_t) { return 1.0; },
        [&](std::int64_t i) { return i == at ? 1000.0 : 0.0; }));
    EXPECT_NEAR(values[0] * values.back(), 1, 1e-8);
    for (std::size_t i = 1; i + 1 < kSize; ++i) EXPECT_NEAR(values[i], 1, 1e-12);
  }
}

/// Of parts whose squares are none beside those of the others.
TEST(Svd, OfPartsOfAnyScale) {
  Generator generator(4);
  for (const double scale : {1e-90, 1e-154, 1e-170, 1e-300}) {
    SCOPED_TRACE(scale);
    for (const std::int64_t n : {33, 64, 130}) {
      SCOPED_TRACE(n);
      const auto part = [&](std::int64_t i) { return i < n / 2 ? 1 : scale; };
      const auto other = [&](std::int64_t i) { return i < n / 2 ? scale : 1; };
      check_svd(bidiagonal(n, part, part));
      check_svd(bidiagonal(n, other, other));
      std::vector<double> parts;
      for (std::int64_t i = 0; i < n; ++i) parts.push_back(part(i));
      const Tensor factors = make<double>({1, n}, parts);
      const Tensor a = normal({n, n}, 0, 1, DType::float64, &generator);
      check_svd(a * factors);
      check_svd(transpose(a * factors));
      check_svd(normal({2 * n, n}, 0, 1, DType::float64, &generator) * factors);
    }
  }
}

/// What rows map to nothing falls by a factor in each row, below the least normal number, beside a
/// row that joins two such halves.
TEST(Svd, OfHalvesThatHardlyTouch) {
  for (const double factor : {1e-9, 1.25e-10, 1e-10, 8e-11, 5e-11}) {
    SCOPED_TRACE(factor);
    for (const std::int64_t n : {96, 130, 200}) {
      const auto on = [&](std::int64_t i) { return i / 32 % 2 == 0 ? 1 : factor; };
      const auto beside = [&](std::int64_t i) { return i / 32 % 2 == 0 ? factor : 1; };
      check_svd(bidiagonal(n, on, beside));
      check_svd(bidiagonal(n, beside, on));
    }
  }
}

TEST(Svd, OfTallAndWideMatrices) {
  Generator generator(3);
  for (const auto& [rows, columns] : std::vector<std::pair<std::int64_t, std::int64_t>>{
           {300, 1}, {300, 31}, {200, 33}, {131, 130}, {500, 65}, {100, 64}}) {
    SCOPED_TRACE(rows);
    const Tensor a = normal({rows, columns}, 0, 1, DType::float64, &generator);
    check_svd(a);
    check_svd(transpose(a));
  }
}

TEST(Svd, OfANumberThatIsNotFiniteIsNan) {
  for (const double number :
       {std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()}) {
    for (const std::int64_t n : {1, 40, 130}) {
      const Tensor a = index_update(ones({n, n}, DType::float64), {n / 2, n / 3},
                                    full({}, number, DType::float64));
      const auto [u, s, vh] = svd(a);
      for (const Tensor& part : {u, s, vh}) EXPECT_TRUE(all(isnan(part)).item<bool>());
    }
  }
}

}  // namespace
}  // namespace tenure
