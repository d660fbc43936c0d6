#include "tenure/ops/linalg/plain_matrix.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include "tenure/ops/core/reference.h"
#include "tenure/ops/linalg/solving.h"

namespace tenure::ops {

PlainMatrix matrix_at(const Reference& x, const Dims& batch_index) {
  const int batch = x.shape.size() - 2;
  Dims place = x.shape;
  for (int i = 0; i < batch; ++i) {
    place[i] = x.shape[i] == 1 ? 0 : batch_index[batch_index.size() - batch + i];
  }
  PlainMatrix matrix(x.shape[batch], x.shape[batch + 1]);
  for (std::int64_t i = 0; i < matrix.rows; ++i) {
    for (std::int64_t j = 0; j < matrix.columns; ++j) {
      place[batch] = i;
      place[batch + 1] = j;
      matrix(i, j) = at(x, place);
    }
  }
  return matrix;
}

std::vector<Reference> join_matrices(
    const Shape& batch, const std::vector<Shape>& outputs,
    const std::function<std::vector<PlainMatrix>(const Dims& index)>& results) {
  std::vector<Reference> joined;
  for (const Shape& output : outputs) joined.push_back({.shape = output});
  for_each_index(batch, [&](const Dims& index) {
    const std::vector<PlainMatrix> parts = results(index);
    for (std::size_t o = 0; o < joined.size(); ++o) {
      joined[o].values.insert(joined[o].values.end(), parts[o].values.begin(),
                              parts[o].values.end());
    }
  });
  return joined;
}

PlainMatrix transposed(const PlainMatrix& a) {
  PlainMatrix turned(a.columns, a.rows);
  for (std::int64_t i = 0; i < a.rows; ++i) {
    for (std::int64_t j = 0; j < a.columns; ++j) turned(j, i) = a(i, j);
  }
  return turned;
}

PlainMatrix product(const PlainMatrix& a, const PlainMatrix& b) {
  PlainMatrix c(a.rows, b.columns);
  for (std::int64_t i = 0; i < a.rows; ++i) {
    for (std::int64_t j = 0; j < b.columns; ++j) {
      for (std::int64_t k = 0; k < a.columns; ++k) c(i, j) += a(i, k) * b(k, j);
    }
  }
  return c;
}

PlainMatrix identity_matrix(std::int64_t n) {
  PlainMatrix one(n, n);
  for (std::int64_t i = 0; i < n; ++i) one(i, i) = 1;
  return one;
}

PlainMatrix solved(PlainMatrix a, PlainMatrix b, long double* determinant) {
  const std::int64_t n = a.rows;
  long double all = 1;
  for (std::int64_t j = 0; j < n; ++j) {
    std::int64_t pivot = j;
    for (std::int64_t i = j + 1; i < n; ++i) {
      if (std::abs(a(i, j)) > std::abs(a(pivot, j))) pivot = i;
    }
    if (pivot != j) all = -all;
    for (std::int64_t k = 0; k < n; ++k) std::swap(a(j, k), a(pivot, k));
    for (std::int64_t k = 0; k < b.columns; ++k) std::swap(b(j, k), b(pivot, k));
    all *= a(j, j);
    if (a(j, j) == 0) break;
    for (std::int64_t i = 0; i < n; ++i) {
      if (i == j) continue;
      const long double factor = a(i, j) / a(j, j);
      for (std::int64_t k = 0; k < n; ++k) a(i, k) -= factor * a(j, k);
      for (std::int64_t k = 0; k < b.columns; ++k) b(i, k) -= factor * b(j, k);
    }
  }
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::int64_t k = 0; k < b.columns; ++k) b(i, k) /= a(i, i);
  }
  if (determinant != nullptr) *determinant = all;
  return b;
}

std::vector<PlainMatrix> orthogonalized(const PlainMatrix& a) {
  const std::int64_t n = std::min(a.rows, a.columns);
  PlainMatrix q(a.rows, n);
  for (std::int64_t j = 0; j < n; ++j) {
    for (std::int64_t i = 0; i < a.rows; ++i) q(i, j) = a(i, j);
    for (int again = 0; again < 2; ++again) {
      for (std::int64_t k = 0; k < j; ++k) {
        long double along = 0;
        for (std::int64_t i = 0; i < a.rows; ++i) along += q(i, k) * q(i, j);
        for (std::int64_t i = 0; i < a.rows; ++i) q(i, j) -= along * q(i, k);
      }
    }
    long double squares = 0;
    for (std::int64_t i = 0; i < a.rows; ++i) squares += q(i, j) * q(i, j);
    for (std::int64_t i = 0; i < a.rows; ++i) q(i, j) /= std::sqrt(squares);
  }
  PlainMatrix r = product(transposed(q), a);
  for (std::int64_t i = 0; i < r.rows; ++i) {
    for (std::int64_t j = 0; j < i; ++j) r(i, j) = 0;
  }
  return {q, r};
}

std::vector<PlainMatrix> eigen_decomposed(PlainMatrix a) {
  const std::int64_t n = a.rows;
  PlainMatrix vectors = identity_matrix(n);
  for (int sweep = 0; sweep < 60; ++sweep) {
    for (std::int64_t p = 0; p < n; ++p) {
      for (std::int64_t q = p + 1; q < n; ++q) {
        if (a(p, q) == 0) continue;
        const long double angle = std::atan2(2 * a(p, q), a(q, q) - a(p, p)) / 2;
        const long double c = std::cos(angle);
        const long double s = std::sin(angle);
        const auto turn = [&](long double& x, long double& y) {
          const long double before = x;
          x = c * before - s * y;
          y = s * before + c * y;
        };
        for (std::int64_t k = 0; k < n; ++k) turn(a(k, p), a(k, q));
        for (std::int64_t k = 0; k < n; ++k) turn(a(p, k), a(q, k));
        for (std::int64_t k = 0; k < n; ++k) turn(vectors(k, p), vectors(k, q));
      }
    }
  }
  std::vector<std::int64_t> order(static_cast<std::size_t>(n));
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(),
            [&](std::int64_t x, std::int64_t y) { return a(x, x) < a(y, y); });
  PlainMatrix values(1, n);
  PlainMatrix sorted(n, n);
  for (std::int64_t j = 0; j < n; ++j) {
    const std::int64_t from = order[static_cast<std::size_t>(j)];
    values(0, j) = a(from, from);
    long double largest = 0;
    for (std::int64_t i = 0; i < n; ++i) {
      if (std::abs(vectors(i, from)) > std::abs(largest)) largest = vectors(i, from);
    }
    for (std::int64_t i = 0; i < n; ++i) sorted(i, j) = vectors(i, from) * (largest < 0 ? -1 : 1);
  }
  return {values, sorted};
}

Sample::Input MatrixSample::input() const {
  Sample::Input input{.shape = shape};
  const std::int64_t rows = shape[shape.size() - 2];
  const std::int64_t columns = shape.back();
  for (std::int64_t at = 0; at < count(shape); ++at) {
    const std::int64_t matrix = at / (rows * columns);
    std::int64_t i = at / columns % rows;
    std::int64_t j = at % columns;
    if (i == j) {
      input.values.push_back(first + step * static_cast<double>(i));
      continue;
    }
    if (symmetric && i > j) std::swap(i, j);
    const std::int64_t mixed = (matrix * 131 + i * 37 + j * 59 + i * j * 17) % 101;
    input.values.push_back(noise * (static_cast<double>(mixed) / 50 - 1));
  }
  return input;
}

}  // namespace tenure::ops
