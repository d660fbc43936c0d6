#include <algorithm>
#include <limits>

#include "tenure/memory/threads/arguments.h"
#include "tenure/ops/core/define.h"
#include "tenure/ops/core/named.h"
#include "tenure/ops/core/reference.h"
#include "tenure/ops/creation.h"
#include "tenure/ops/elementwise.h"
#include "tenure/ops/linalg/plain_matrix.h"
#include "tenure/ops/linalg/rules.h"
#include "tenure/ops/linalg/solving.h"
#include "tenure/ops/linalg_ops.h"
#include "tenure/ops/reduce_ops.h"
#include "tenure/ops/shape_ops.h"

// Linear algebra that is written in other ops.

namespace tenure::ops {
namespace {

struct SolvingComposite {
  static constexpr auto family = "linear algebra";
  static constexpr auto memory = allocates().with_workspace();
  static constexpr auto types = kSolvedTypes;
  static constexpr double ulp_of_largest = 128;
};

/// Type and shape of an operand, which a number has not.
Spec spec_of(const Operand& operand, const char* op) {
  if (operand.is_scalar()) throw ShapeError(op, "takes matrices, not numbers");
  const TensorBody& body = operand.tensor().body(op, operand.site());
  return {body.dtype, body.shape};
}

/// A^T A x = A^T b of a reference.
PlainMatrix least_squares(const PlainMatrix& a, const PlainMatrix& b) {
  const PlainMatrix turned = transposed(a);
  if (a.rows >= a.columns) return solved(product(turned, a), product(turned, b));
  return product(turned, solved(product(a, turned), b));
}

struct Lstsq : SolvingComposite {
  static constexpr auto name = "lstsq";
  static constexpr auto signature = "lstsq(a, b)";
  static constexpr auto doc =
      "x for which a x - b is shortest, or of those the shortest x, by qr; a has full rank";
  static std::vector<Tensor> expand(std::span<const Operand> operands, const Attributes&) {
    const Operand a(operands[0].tensor(), operands[0].site());
    const Site site = a.site();
    const Spec left = spec_of(a, name);
    const Spec right = spec_of(operands[1], name);
    require_matrices(left.shape, name);
    const bool is_vector = right.shape.size() == 1;
    const std::int64_t rows = left.shape[left.shape.size() - 2];
    const bool fits = !right.shape.empty() &&
                      (is_vector ? right.shape[0] : right.shape[right.shape.size() - 2]) == rows;
    if (!fits) {
      throw ShapeError(name, "the right side has not as many rows as the matrix",
                       {left.shape.to_vector(), right.shape.to_vector()});
    }
    const auto at = [&](const Tensor& x) { return Operand(x, site); };
    const Tensor b = is_vector ? expand_dims(at(operands[1].tensor()), -1) : operands[1].tensor();
    Tensor x;
    if (left.shape.back() <= rows) {
      const Qr parts = qr(a);
      const Tensor along = matmul(at(transpose(at(parts.q))), at(b));
      x = solve_triangular(at(parts.r), at(along), {.upper = true});
    } else {
      const Qr parts = qr(at(transpose(a)));
      const Tensor along =
          solve_triangular(at(parts.r), at(b), {.upper = true, .transposed = true});
      x = matmul(at(parts.q), at(along));
    }
    return {is_vector ? squeeze(Operand(std::move(x), site), -1) : x};
  }
  static std::vector<Reference> reference(const std::vector<Reference>& in, const Attributes&) {
    Reference b = in[1];
    const bool is_vector = b.shape.size() == 1;
    if (is_vector) b.shape.push_back(1);
    const Shape batch = solved_batch(in[0].shape, b.shape, name);
    Shape shape = with_matrix(batch, in[0].shape.back(), b.shape.back());
    if (is_vector) shape.erase(shape.size() - 1);
    return join_matrices(batch, {shape}, [&](const Dims& index) {
      return std::vector{least_squares(matrix_at(in[0], index), matrix_at(b, index))};
    });
  }
  static std::vector<Sample> samples() {
    const auto sample = [](const Shape& a, const Shape& b) {
      Sample::Input right{.shape = b};
      for (std::int64_t i = 0; i < count(b); ++i) {
        right.values.push_back(static_cast<double>(i * 29 % 23) / 8 - 1);
      }
      return Sample{.inputs = {MatrixSample{.shape = a}.input(), right}};
    };
    return {sample({5, 3}, {5, 2}), sample({5, 3}, {5}),          sample({2, 4}, {2, 3}),
            sample({2, 4}, {2}),    sample({2, 4, 2}, {2, 4, 3}), sample({2, 4, 2}, {4}),
            sample({3, 3}, {3, 1})};
  }
};

struct Pinv : SolvingComposite {
  static constexpr auto name = "pinv";
  static constexpr auto signature = "pinv(a, rcond = -1)";
  static constexpr auto doc =
      "the pseudoinverse, by svd; singular values up to rcond times the largest count as zero, "
      "below "
      "0 up to max(rows, columns) times the rounding of the type";
  static constexpr GradientRule gradient{.needs = {{input_data(0) | output_data(0)}},
                                         .run = rules::pinv};
  static std::vector<Tensor> expand(std::span<const Operand> operands, const Attributes& a) {
    const Spec spec = spec_of(operands[0], name);
    require_matrices(spec.shape, name);
    const Site site = operands[0].site();
    const auto at = [&](const Tensor& x) { return Operand(x, site); };
    const std::int64_t rows = spec.shape[spec.shape.size() - 2];
    const std::int64_t columns = spec.shape.back();
    if (rows == 0 || columns == 0) {
      return {zeros(with_matrix(leading(spec.shape), columns, rows), spec.dtype, site)};
    }
    double rcond = a.number(PinvAttributes::rcond);
    if (!(rcond >= 0)) {
      const double rounding = spec.dtype == DType::float64
                                  ? std::numeric_limits<double>::epsilon()
                                  : static_cast<double>(std::numeric_limits<float>::epsilon());
      rcond = rounding * static_cast<double>(std::max(rows, columns));
    }
    const Svd parts = svd(at(operands[0].tensor()));
    const Tensor limit = mul(at(max(at(parts.s), {-1}, true)), {rcond, site});
    const Tensor inverse =
        where(at(greater(at(parts.s), at(limit))), at(reciprocal(at(parts.s))), {0.0, site});
    const Tensor scaled = mul(at(transpose(at(parts.vh))), at(expand_dims(at(inverse), -2)));
    return {matmul(at(scaled), at(transpose(at(parts.u))))};
  }
  static std::vector<Reference> reference(const std::vector<Reference>& in, const Attributes&) {
    const Shape batch = leading(in[0].shape);
    const std::int64_t rows = in[0].shape[in[0].shape.size() - 2];
    const Shape shape = with_matrix(batch, in[0].shape.back(), rows);
    return join_matrices(batch, {shape}, [&](const Dims& index) {
      return std::vector{least_squares(matrix_at(in[0], index), identity_matrix(rows))};
    });
  }
  static std::vector<Sample> samples() {
    const auto sample = [](const Shape& shape, double rcond) {
      return Sample{.inputs = {MatrixSample{.shape = shape}.input()},
                    .attributes = Attributes(rcond)};
    };
    return {sample({3, 3}, -1.0), sample({2, 5, 3}, 1e-6), sample({2, 4}, 0.0),
            sample({0, 3}, -1.0)};
  }
};

struct MatrixPower : SolvingComposite {
  static constexpr auto name = "matrix_power";
  static constexpr auto signature = "matrix_power(a, n)";
  static constexpr auto doc =
      "the product of n equal square matrices; of -n inverses if n is negative";
  static std::vector<Tensor> expand(std::span<const Operand> operands, const Attributes& a) {
    const Spec spec = spec_of(operands[0], name);
    require_square(spec.shape, name);
    const Site site = operands[0].site();
    const auto at = [&](const Tensor& x) { return Operand(x, site); };
    const std::int64_t power = a.integer(MatrixPowerAttributes::power);
    Tensor factor = operands[0].tensor();
    if (power == 0) {
      const Tensor one = eye(spec.shape.back(), std::nullopt, 0, spec.dtype, site);
      return {clone(at(broadcast_to(at(one), spec.shape)))};
    }
    if (power < 0) factor = inv(at(factor));
    std::uint64_t left =
        power < 0 ? -static_cast<std::uint64_t>(power) : static_cast<std::uint64_t>(power);
    Tensor result;
    for (; left != 0; left >>= 1) {
      if ((left & 1) != 0) result = result.defined() ? matmul(at(result), at(factor)) : factor;
      if (left > 1) factor = matmul(at(factor), at(factor));
    }
    // A result of its own, of an operand that was left as it is.
    return {power == 1 ? clone(at(result)) : result};
  }
  static std::vector<Reference> reference(const std::vector<Reference>& in, const Attributes& a) {
    const Shape batch = leading(in[0].shape);
    const std::int64_t power = a.integer(MatrixPowerAttributes::power);
    return join_matrices(batch, {in[0].shape}, [&](const Dims& index) {
      const PlainMatrix matrix = matrix_at(in[0], index);
      const PlainMatrix factor = power < 0 ? solved(matrix, identity_matrix(matrix.rows)) : matrix;
      PlainMatrix result = identity_matrix(matrix.rows);
      for (std::int64_t i = 0; i < std::abs(power); ++i) result = product(result, factor);
      return std::vector{result};
    });
  }
  static std::vector<Sample> samples() {
    const auto sample = [](const Shape& shape, std::int64_t power) {
      return Sample{.inputs = {MatrixSample{.shape = shape, .first = 1, .step = 0.25}.input()},
                    .attributes = Attributes(power)};
    };
    return {sample({3, 3}, 2), sample({2, 3, 3}, 5), sample({3, 3}, 1),
            sample({3, 3}, 0), sample({3, 3}, -3),   sample({0, 0}, 3)};
  }
};

}  // namespace

std::vector<const OpRecord*> solving_composites() {
  return {&record<Lstsq>(), &record<Pinv>(), &record<MatrixPower>()};
}

}  // namespace tenure::ops

namespace tenure {

using ops::Attributes;
using ops::call;
using ops::record;

Tensor lstsq(const Operand& a, const Operand& b) { return call(record<ops::Lstsq>(), a, b); }
Tensor pinv(const Operand& a, double rcond) {
  mem::require_in(mem::kFinite, "pinv", {{"rcond", rcond}}, a.site());
  return call(record<ops::Pinv>(), a, Attributes(rcond));
}
Tensor matrix_power(const Operand& a, std::int64_t n) {
  return call(record<ops::MatrixPower>(), a, Attributes(n));
}

}  // namespace tenure
