#include "tenure/ops/linalg_ops.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include "tenure/autograd/tape.h"
#include "tenure/graph/function.h"
#include "tenure/kernels/parallel.h"
#include "tenure/memory/region.h"
#include "tenure/tenure.h"
#include "tests/support/expect.h"
#include "tests/support/make.h"

// What linear algebra promises beyond its records: residuals of large and badly conditioned
// matrices, matrices that have no factors, and where errors leave no trace.

namespace tenure {
namespace {

using test::expect_throws;
using test::make;

/// Numbers in [-1, 1].
Tensor random_matrices(const Shape& shape, std::uint64_t seed, DType dtype = DType::float64) {
  std::mt19937_64 random(seed);
  std::vector<double> values;
  for (std::int64_t i = 0; i < count(shape); ++i) {
    values.push_back(static_cast<double>(random() % 2000001) / 1e6 - 1);
  }
  return cast(make<double>(shape, values), dtype);
}

double largest(const Tensor& x) {
  return x.size() == 0 ? 0 : max(abs(cast(x, DType::float64))).item<double>();
}
double rounding(DType dtype) {
  return dtype == DType::float64 ? std::numeric_limits<double>::epsilon()
                                 : static_cast<double>(std::numeric_limits<float>::epsilon());
}
Tensor unit(std::int64_t n, DType dtype) { return eye(n, std::nullopt, 0, dtype); }

/// The columns of q are orthonormal.
void expect_orthonormal(const Tensor& q) {
  const std::int64_t n = q.shape().back();
  const double bound = 8 * rounding(q.dtype()) * static_cast<double>(q.shape()[0]);
  EXPECT_LE(largest(matmul(transpose(q), q) - unit(n, q.dtype())), bound);
}

class LinearAlgebra : public testing::TestWithParam<DType> {};
INSTANTIATE_TEST_SUITE_P(Types, LinearAlgebra, testing::Values(DType::float32, DType::float64),
                         [](const auto& info) { return std::string(name_of(info.param)); });

/// Sizes on both sides of each way in which products are computed.
constexpr std::int64_t kSizes[] = {1, 7, 16, 17, 33, 64, 130, 300};

TEST_P(LinearAlgebra, CholeskyOfAnySize) {
  for (const std::int64_t n : kSizes) {
    const Tensor x = random_matrices({n, n}, 1, GetParam());
    const Tensor a = matmul(x, transpose(x)) + unit(n, GetParam());
    const Tensor l = cholesky(a);
    EXPECT_EQ(largest(triu(l, 1)), 0);
    EXPECT_LE(largest(matmul(l, transpose(l)) - a),
              4 * rounding(GetParam()) * static_cast<double>(n) * largest(a))
        << n;
  }
}

TEST_P(LinearAlgebra, SolveOfAnySize) {
  for (const std::int64_t n : kSizes) {
    const Tensor a = random_matrices({n, n}, 2, GetParam());
    for (const std::int64_t columns : {std::int64_t{1}, std::int64_t{40}}) {
      const Tensor b = random_matrices({n, columns}, 3, GetParam());
      const Tensor x = solve(a, b);
      // Backward stable: the residual is small beside a and x, however large x is.
      const double bound = 8 * rounding(GetParam()) * static_cast<double>(n) *
                           (largest(a) * largest(x) + largest(b));
      EXPECT_LE(largest(matmul(a, x) - b), bound) << n << ", " << columns;
    }
    const Tensor inverse = inv(a);
    EXPECT_LE(largest(matmul(inverse, a) - unit(n, GetParam())),
              16 * rounding(GetParam()) * static_cast<double>(n * n) * largest(inverse))
        << n;
  }
}

TEST_P(LinearAlgebra, TrianglesOfAnySize) {
  for (const std::int64_t n : kSizes) {
    const Tensor a =
        random_matrices({n, n}, 4, GetParam()) / static_cast<double>(n) + unit(n, GetParam());
    const Tensor b = random_matrices({n, 3}, 5, GetParam());
    for (const bool upper : {false, true}) {
      for (const bool transposed : {false, true}) {
        const Tensor x = solve_triangular(a, b, {.upper = upper, .transposed = transposed});
        const Tensor triangle = upper ? triu(a) : tril(a);
        const Tensor back = matmul(transposed ? transpose(triangle) : triangle, x);
        EXPECT_LE(largest(back - b), 16 * rounding(GetParam()) * largest(x)) << n;
      }
    }
  }
}

TEST_P(LinearAlgebra, DecompositionsOfAnyShape) {
  const std::vector<std::pair<std::int64_t, std::int64_t>> shapes = {
      {1, 1}, {5, 2}, {2, 5}, {33, 33}, {40, 40}, {65, 64}, {150, 60}, {60, 150}, {200, 200}};
  for (const auto& [rows, columns] : shapes) {
    const Tensor a = random_matrices({rows, columns}, 6, GetParam());
    const double bound = 32 * rounding(GetParam()) * static_cast<double>(rows + columns);
    const auto [q, r] = qr(a);
    expect_orthonormal(q);
    EXPECT_LE(largest(matmul(q, r) - a), bound);
    EXPECT_EQ(largest(tril(r, -1)), 0);
    EXPECT_GE(min(diagonal(r)).item<double>(), 0);
    const auto [u, s, vh] = svd(a);
    expect_orthonormal(u);
    expect_orthonormal(transpose(vh));
    EXPECT_LE(largest(matmul(u * s, vh) - a), bound);
    const std::vector<double> values = cast(s, DType::float64).to_vector<double>();
    EXPECT_TRUE(std::is_sorted(values.rbegin(), values.rend()));
    EXPECT_GE(values.back(), 0);
    const Tensor symmetric = matmul(a, transpose(a));
    const auto [w, v] = eigh(symmetric);
    expect_orthonormal(v);
    EXPECT_LE(largest(matmul(v * w, transpose(v)) - symmetric), bound * largest(symmetric));
    const std::vector<double> ascending = cast(w, DType::float64).to_vector<double>();
    EXPECT_TRUE(std::is_sorted(ascending.begin(), ascending.end()));
  }
}

/// By blocks and rotations of several threads at once: the same bits on one.
TEST_P(LinearAlgebra, DecompositionsDoNotDependOnThreads) {
  const int threads = num_threads();
  const Tensor a = random_matrices({140, 100}, 12, GetParam());
  const Tensor square = matmul(transpose(a), a);
  const auto decompose = [&] {
    const auto [q, r] = qr(a);
    const auto [u, s, vh] = svd(a);
    const auto [w, v] = eigh(square);
    return std::vector<Tensor>{q, r, u, s, vh, w, v};
  };
  std::vector<std::vector<Tensor>> results;
  for (const int n : {1, 2, 5}) {
    set_num_threads(n);
    results.push_back(decompose());
  }
  set_num_threads(threads);
  for (const std::vector<Tensor>& other : results) {
    for (std::size_t i = 0; i < other.size(); ++i) {
      EXPECT_TRUE(all(equal(other[i], results[0][i])).item<bool>()) << i;
    }
  }
}

/// Eigenvalues that are equal or zero, of matrices that are larger than a block: rotations of none,
/// reflections of none, and rows that are decoupled.
TEST_P(LinearAlgebra, EigenvaluesThatAreNotGeneral) {
  int matrix = 0;
  const auto check = [&](const Tensor& a) {
    SCOPED_TRACE(++matrix);
    const std::int64_t n = a.shape()[0];
    const auto [w, v] = eigh(a);
    expect_orthonormal(v);
    const double bound =
        16 * rounding(a.dtype()) * static_cast<double>(n) * std::max(largest(a), 1e-300);
    EXPECT_LE(largest(matmul(v * w, transpose(v)) - a), bound);
    const auto [u, s, vh] = svd(a);
    expect_orthonormal(u);
    expect_orthonormal(transpose(vh));
    EXPECT_LE(largest(matmul(u * s, vh) - a), bound);
    const auto [q, r] = qr(a);
    expect_orthonormal(q);
    EXPECT_LE(largest(matmul(q, r) - a), bound);
  };
  constexpr std::int64_t kSize = 70;
  check(zeros({kSize, kSize}, GetParam()));
  check(unit(kSize, GetParam()));
  check(ones({kSize, kSize}, GetParam()));
  const Tensor thin = random_matrices({kSize, 3}, 13, GetParam());
  check(matmul(thin, transpose(thin)));
  const Tensor some = random_matrices({kSize, kSize}, 14, GetParam());
  const Tensor symmetric = some + transpose(some);
  const Tensor blocks = symmetric * (triu(tril(ones({kSize, kSize}, GetParam()), 1), -1));
  check(blocks);
  check(symmetric * 1e-30);
  check(symmetric * 1e30);
}

/// Equal, zero, tiny and huge singular values.
TEST(Svd, OfMatricesThatAreNotGeneral) {
  const auto check = [](const Tensor& a, std::int64_t rank) {
    const auto [u, s, vh] = svd(a);
    expect_orthonormal(u);
    expect_orthonormal(transpose(vh));
    EXPECT_LE(largest(matmul(u * s, vh) - a), 1e-14 * largest(a) * static_cast<double>(a.size()));
    const std::vector<double> values = s.to_vector<double>();
    for (std::size_t i = 0; i < values.size(); ++i) {
      EXPECT_EQ(values[i] > 1e-13 * values[0], static_cast<std::int64_t>(i) < rank) << i;
    }
  };
  check(unit(6, DType::float64), 6);
  check(ones({5, 4}, DType::float64), 1);
  const Tensor thin = random_matrices({20, 3}, 7);
  check(matmul(thin, transpose(thin)), 3);
  check(random_matrices({8, 5}, 8) * 1e200, 5);
  check(random_matrices({8, 5}, 8) * 1e-200, 5);
  const Tensor bidiagonal = unit(7, DType::float64) + eye(7, std::nullopt, 1, DType::float64);
  check(bidiagonal, 7);
  check(tril(triu(ones({7, 7}, DType::float64), 1), 1), 6);
  EXPECT_EQ(largest(svd(zeros({3, 2}, DType::float64)).s), 0);
  expect_orthonormal(svd(zeros({3, 2}, DType::float64)).u);
}

TEST(Eigh, OfMatricesThatAreNotGeneral) {
  for (const Tensor& a : {unit(5, DType::float64), zeros({4, 4}, DType::float64),
                          ones({6, 6}, DType::float64), ones({6, 6}, DType::float64) * 1e-300}) {
    const auto [w, v] = eigh(a);
    expect_orthonormal(v);
    EXPECT_LE(largest(matmul(v * w, transpose(v)) - a), 1e-14 * largest(a));
  }
  // Wilkinson's matrix, whose largest eigenvalues agree in many digits.
  std::vector<double> values(21 * 21);
  for (std::size_t i = 0; i < 21; ++i) {
    values[i * 22] = std::abs(10.0 - static_cast<double>(i));
    if (i < 20) values[i * 22 + 1] = values[i * 22 + 21] = 1;
  }
  const auto [w, v] = eigh(make<double>({21, 21}, values));
  expect_orthonormal(v);
  EXPECT_NEAR(w.to_vector<double>().back(), 10.746194182903393, 1e-13);
}

/// Larger than what rotations make diagonal, so that halves are put together: eigenvalues that are
/// equal within a half, in both, or nearly; halves that are coupled by much, little and nothing.
TEST(Eigh, OfHalvesThatHaveMuchInCommon) {
  constexpr std::int64_t kSize = 130;
  const auto check = [](const char* name, const Tensor& a) {
    SCOPED_TRACE(name);
    const auto [w, v] = eigh(a);
    expect_orthonormal(v);
    EXPECT_LE(largest(matmul(v * w, transpose(v)) - a), 1e-14 * kSize * largest(a));
    const std::vector<double> values = w.to_vector<double>();
    EXPECT_TRUE(std::is_sorted(values.begin(), values.end()));
  };
  const Tensor turn = qr(random_matrices({kSize, kSize}, 15)).q;
  const auto check_values = [&](const char* name, double (*value)(std::int64_t)) {
    std::vector<double> values;
    for (std::int64_t i = 0; i < kSize; ++i) values.push_back(value(i));
    check(name, matmul(turn * make<double>({1, kSize}, values), transpose(turn)));
  };
  check_values("graded",
               [](std::int64_t i) { return std::pow(10.0, -static_cast<double>(i) / 5); });
  check_values("three clusters", [](std::int64_t i) {
    return static_cast<double>(i % 3) + 1e-13 * static_cast<double>(i);
  });
  check_values("two values", [](std::int64_t i) { return i % 2 == 0 ? 1.0 : -1.0; });
  const auto check_band = [&](const char* name, double (*on)(std::int64_t),
                              double (*beside)(std::int64_t)) {
    std::vector<double> values(kSize * kSize);
    for (std::int64_t i = 0; i < kSize; ++i) {
      values[static_cast<std::size_t>(i * (kSize + 1))] = on(i);
      if (i + 1 == kSize) break;
      values[static_cast<std::size_t>(i * (kSize + 1) + 1)] = beside(i);
      values[static_cast<std::size_t>(i * (kSize + 1) + kSize)] = beside(i);
    }
    check(name, make<double>({kSize, kSize}, values));
  };
  const auto one = [](std::int64_t) { return 1.0; };
  check_band("equal", one, one);
  check_band(
      "of both signs", [](std::int64_t) { return 0.0; },
      [](std::int64_t i) { return i % 2 == 0 ? -1.0 : 1.0; });
  check_band("nearly uncoupled", one, [](std::int64_t) { return 1e-15; });
  check_band(
      "Wilkinson's", [](std::int64_t i) { return std::abs(65.0 - static_cast<double>(i)); }, one);
  check_band(
      "Wilkinson's, glued",
      [](std::int64_t i) { return std::abs(10.0 - static_cast<double>(i % 21)); },
      [](std::int64_t i) { return i % 21 == 20 ? 1e-8 : 1.0; });
  check_band(
      "graded", [](std::int64_t i) { return std::pow(10.0, -static_cast<double>(i)); },
      [](std::int64_t i) { return -std::pow(10.0, -0.3 - static_cast<double>(i)); });
}

TEST(Eigh, OfTheSymmetricPart) {
  const auto [w, v] = eigh(make<double>({2, 2}, {2, 0, 2, 2}));
  EXPECT_NEAR(w.to_vector<double>()[0], 1, 1e-15);
  EXPECT_NEAR(w.to_vector<double>()[1], 3, 1e-15);
}

TEST(Det, OfSmallAndSingularMatrices) {
  EXPECT_NEAR(det(make<double>({2, 2}, {1, 2, 3, 4})).item<double>(), -2, 1e-15);
  EXPECT_EQ(det(make<double>({2, 2}, {1, 2, 2, 4})).item<double>(), 0);
  const auto [sign, logarithm] = slogdet(make<double>({2, 2, 2}, {1, 2, 2, 4, 0, 1, 1, 0}));
  EXPECT_EQ(sign.to_vector<double>(), (std::vector<double>{0, -1}));
  EXPECT_EQ(logarithm.to_vector<double>()[0], -std::numeric_limits<double>::infinity());
  EXPECT_EQ(logarithm.to_vector<double>()[1], 0);
  EXPECT_EQ(det(zeros({0, 0}, DType::float64)).item<double>(), 1);
}

TEST(LinearAlgebraErrors, NameTheMatrixAndThePivot) {
  const Tensor good = unit(3, DType::float32);
  Tensor bad = make<float>({3, 3}, {1, 0, 0, 0, -1, 0, 0, 0, 1});
  const Tensor both = stack({good, bad});
  try {
    cholesky(both);
    FAIL() << "it is not positive definite";
  } catch (const MatrixError& error) {
    EXPECT_EQ(error.op(), "cholesky");
    EXPECT_EQ(error.matrix(), 1);
    EXPECT_EQ(error.pivot(), 1);
  }
  const Tensor singular = make<float>({2, 2}, {1, 2, 2, 4});
  expect_throws<MatrixError>([&] { inv(singular); }, {"inv: matrix 0", "singular", "pivot 1"});
  expect_throws<MatrixError>([&] { solve(singular, ones({2})); }, {"solve", "pivot 1"});
  expect_throws<MatrixError>([&] { solve_triangular(zeros({2, 2}), ones({2})); }, {"pivot 0"});
  expect_throws<MatrixError>([&] { lstsq(zeros({3, 2}), ones({3})); }, {"lstsq"});
  EXPECT_NO_THROW(solve_triangular(zeros({2, 2}), ones({2}), {.unit = true}));
  // Deep in the recursion.
  Tensor large = unit(100, DType::float64);
  large = index_update(large, {77, 77}, zeros({}, DType::float64));
  expect_throws<MatrixError>([&] { cholesky(large); }, {"pivot 77"});
  expect_throws<MatrixError>([&] { inv(large); }, {"pivot 77"});
}

TEST(LinearAlgebraErrors, OfShapesAndTypes) {
  expect_throws<ShapeError>([] { cholesky(ones({2, 3})); }, {"2 rows and 3 columns"});
  expect_throws<ShapeError>([] { det(ones({3})); }, {"none of matrices"});
  expect_throws<ShapeError>([] { svd(ones({})); }, {"svd"});
  expect_throws<ShapeError>([] { solve(ones({2, 2}), ones({3})); }, {"do not fit"});
  expect_throws<ShapeError>([] { solve(ones({2, 2, 2}), ones({3, 2, 1})); }, {"solve"});
  expect_throws<ShapeError>([] { lstsq(ones({3, 2}), ones({2})); }, {"lstsq"});
  expect_throws<ShapeError>([] { matrix_power(ones({2, 3}), 2); }, {"matrix_power"});
  expect_throws<DTypeError>([] { inv(ones({2, 2}, DType::float16)); }, {"inv"});
  expect_throws<DTypeError>([] { solve(ones({2, 2}), ones({2}, DType::float64)); }, {"cast"});
}

/// In a function, where results may lie in what was given: a run that fails has changed nothing.
TEST(LinearAlgebraErrors, LeaveDonatedMatricesAsTheyWere) {
  const auto f = function([](const Tensor& a) { return cholesky(a + 0.0F); });
  Tensor a = make<float>({2, 2}, {1, 0, 0, -1});
  const MemoryRegion around;
  EXPECT_THROW(static_cast<void>(f(std::move(a))), MatrixError);
  EXPECT_EQ(around.left_bytes(), 0);
  ASSERT_TRUE(a.defined());
  test::expect_elements<float>(a, {2, 2}, {1, 0, 0, -1});
}

TEST(LinearAlgebra, NumbersThatAreNotFinite) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const Tensor a = make<float>({2, 2}, {1, nan, 0, 1});
  for (const Tensor& part : {svd(a).s, eigh(a).values, qr(a).r}) {
    EXPECT_TRUE(all(isnan(part)).item<bool>());
  }
  EXPECT_THROW(cholesky(a), MatrixError);
}

TEST(Pinv, OfMatricesWithoutFullRank) {
  const Tensor thin = random_matrices({6, 2}, 9);
  const Tensor a = matmul(thin, transpose(random_matrices({4, 2}, 10)));
  const Tensor p = pinv(a);
  EXPECT_LE(largest(matmul(matmul(a, p), a) - a), 1e-13);
  EXPECT_LE(largest(matmul(matmul(p, a), p) - p), 1e-13 * largest(p));
  EXPECT_EQ(largest(pinv(zeros({2, 3}, DType::float64))), 0);
}

/// Of repeated singular values, where that of svd is not defined, but pinv's is.
TEST(Pinv, HasAGradientAtTheIdentity) {
  const Tensor a = unit(3, DType::float64);
  GradientTape tape;
  tape.watch(a);
  const Tensor gradient = tape.gradient(sum(pinv(a)), a);
  EXPECT_LE(largest(gradient + 1.0), 1e-14);
}

}  // namespace
}  // namespace tenure
