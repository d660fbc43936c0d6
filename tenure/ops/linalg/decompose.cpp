#include <algorithm>
#include <cmath>

#include "tenure/ops/core/define.h"
#include "tenure/ops/core/reference.h"
#include "tenure/ops/linalg/plain_matrix.h"
#include "tenure/ops/linalg/rules.h"
#include "tenure/ops/linalg/solving.h"
#include "tenure/ops/linalg_ops.h"

namespace tenure::ops {
namespace {

struct DecompositionOp {
  static constexpr auto family = "linear algebra";
  static constexpr auto memory = allocates().with_workspace();
  static constexpr auto types = kSolvedTypes;
  static constexpr double ulp_of_largest = 64;
};

/// Rows, columns, and the smaller of them.
struct MatrixSize {
  std::int64_t rows, columns, inner;
  explicit MatrixSize(const Shape& a)
      : rows(a[a.size() - 2]), columns(a.back()), inner(std::min(rows, columns)) {}
  double work(const Shape& a) const {
    return static_cast<double>(count(a)) * static_cast<double>(inner);
  }
};

struct QrOp : DecompositionOp {
  static constexpr auto name = "qr";
  static constexpr auto signature = "qr(a)";
  static constexpr auto doc =
      "Q with orthonormal columns and upper triangular R with Q R = a; no diagonal element of R is "
      "negative";
  static constexpr int outputs = 2;
  static constexpr GradientRule gradient{.needs = {{output_data(0, 1)}}, .run = rules::qr};
  static Specs infer(const Kernel& k) {
    const Shape& a = k.in[0].shape;
    require_matrices(a, k.op);
    const MatrixSize size(a);
    return {{k.in[0].dtype, with_matrix(leading(a), size.rows, size.inner)},
            {k.in[0].dtype, with_matrix(leading(a), size.inner, size.columns)}};
  }
  static double flops(const Kernel& k) { return 4 * MatrixSize(k.in[0].shape).work(k.in[0].shape); }
  static std::vector<Reference> reference(const std::vector<Reference>& in, const Attributes&) {
    const Shape batch = leading(in[0].shape);
    const MatrixSize size(in[0].shape);
    return join_matrices(
        batch,
        {with_matrix(batch, size.rows, size.inner), with_matrix(batch, size.inner, size.columns)},
        [&](const Dims& index) { return orthogonalized(matrix_at(in[0], index)); });
  }
  static std::vector<Sample> samples() {
    const auto sample = [](const Shape& shape) {
      return Sample{.inputs = {MatrixSample{.shape = shape}.input()}};
    };
    return {sample({3, 3}),  sample({2, 5, 3}), sample({2, 1, 2, 4}),
            sample({20, 9}), sample({4, 1}),    sample({1, 3}),
            sample({0, 3}),  sample({3, 0}),    sample({0, 3, 2})};
  }
};

struct EighOp : DecompositionOp {
  static constexpr auto name = "eigh";
  static constexpr auto signature = "eigh(a)";
  static constexpr auto doc =
      "eigenvalues in ascending order and eigenvectors, as columns, of the symmetric part of a; "
      "the "
      "element of largest size in a vector is positive";
  static constexpr int outputs = 2;
  static constexpr GradientRule gradient{.needs = {{output_data(0, 1)}}, .run = rules::eigh};
  static Specs infer(const Kernel& k) {
    const Shape& a = k.in[0].shape;
    require_square(a, k.op);
    Shape values = leading(a);
    values.push_back(a.back());
    return {{k.in[0].dtype, values}, {k.in[0].dtype, a}};
  }
  static double flops(const Kernel& k) { return 9 * MatrixSize(k.in[0].shape).work(k.in[0].shape); }
  static std::vector<Reference> reference(const std::vector<Reference>& in, const Attributes&) {
    const Shape batch = leading(in[0].shape);
    Shape values = batch;
    values.push_back(in[0].shape.back());
    return join_matrices(batch, {values, in[0].shape}, [&](const Dims& index) {
      PlainMatrix a = matrix_at(in[0], index);
      const PlainMatrix turned = transposed(a);
      for (std::size_t i = 0; i < a.values.size(); ++i) {
        a.values[i] = (a.values[i] + turned.values[i]) / 2;
      }
      return eigen_decomposed(a);
    });
  }
  static std::vector<Sample> samples() {
    const auto sample = [](const Shape& shape, bool symmetric) {
      return Sample{
          .inputs = {MatrixSample{.shape = shape, .first = -1, .noise = 0.2, .symmetric = symmetric}
                         .input()}};
    };
    return {sample({3, 3}, true),   sample({2, 2, 4, 4}, true), sample({12, 12}, true),
            sample({4, 4}, false),  sample({1, 1}, true),       sample({0, 0}, true),
            sample({0, 3, 3}, true)};
  }
};

struct SvdOp : DecompositionOp {
  static constexpr auto name = "svd";
  static constexpr auto signature = "svd(a)";
  static constexpr auto doc =
      "U, s and Vh with U diag(s) Vh = a, as thin as they can be: singular values in descending "
      "order; the element of largest size in a column of U is positive";
  static constexpr int outputs = 3;
  static constexpr GradientRule gradient{.needs = {{output_data(0, 1, 2)}}, .run = rules::svd};
  static Specs infer(const Kernel& k) {
    const Shape& a = k.in[0].shape;
    require_matrices(a, k.op);
    const MatrixSize size(a);
    Shape values = leading(a);
    values.push_back(size.inner);
    return {{k.in[0].dtype, with_matrix(leading(a), size.rows, size.inner)},
            {k.in[0].dtype, values},
            {k.in[0].dtype, with_matrix(leading(a), size.inner, size.columns)}};
  }
  static double flops(const Kernel& k) {
    return 20 * MatrixSize(k.in[0].shape).work(k.in[0].shape);
  }
  static std::vector<Reference> reference(const std::vector<Reference>& in, const Attributes&) {
    const Shape batch = leading(in[0].shape);
    const MatrixSize size(in[0].shape);
    Shape values = batch;
    values.push_back(size.inner);
    return join_matrices(
        batch,
        {with_matrix(batch, size.rows, size.inner), values,
         with_matrix(batch, size.inner, size.columns)},
        [&](const Dims& index) { return singular(matrix_at(in[0], index), size); });
  }
  /// U from the eigenvectors of a a^T, V from U.
  static std::vector<PlainMatrix> singular(const PlainMatrix& a, const MatrixSize& size) {
    const std::vector<PlainMatrix> eigen = eigen_decomposed(product(a, transposed(a)));
    PlainMatrix u(size.rows, size.inner);
    PlainMatrix s(1, size.inner);
    for (std::int64_t j = 0; j < size.inner; ++j) {
      const std::int64_t from = size.rows - 1 - j;
      s(0, j) = std::sqrt(eigen[0](0, from));
      for (std::int64_t i = 0; i < size.rows; ++i) u(i, j) = eigen[1](i, from);
    }
    PlainMatrix vh = product(transposed(u), a);
    for (std::int64_t i = 0; i < size.inner; ++i) {
      for (std::int64_t j = 0; j < size.columns; ++j) vh(i, j) /= s(0, i);
    }
    return {u, s, vh};
  }
  static std::vector<Sample> samples() {
    const auto sample = [](const Shape& shape) {
      return Sample{.inputs = {MatrixSample{.shape = shape, .first = 1, .noise = 0.2}.input()}};
    };
    return {sample({3, 3}),  sample({2, 5, 3}), sample({2, 1, 2, 4}),
            sample({12, 7}), sample({4, 1}),    sample({1, 3}),
            sample({0, 3}),  sample({3, 0}),    sample({0, 3, 2})};
  }
};

}  // namespace

std::vector<const OpRecord*> decomposition_ops() {
  return {&record<QrOp>(), &record<EighOp>(), &record<SvdOp>()};
}

}  // namespace tenure::ops

namespace tenure {

namespace {

std::vector<Tensor> decomposed(const ops::OpRecord& op, const Operand& a) {
  return ops::run_many_now(op, {&a, 1}, ops::kNoAttributes, a.site());
}

}  // namespace

Qr qr(const Operand& a) {
  std::vector<Tensor> out = decomposed(ops::record<ops::QrOp>(), a);
  return {.q = std::move(out[0]), .r = std::move(out[1])};
}
Eigh eigh(const Operand& a) {
  std::vector<Tensor> out = decomposed(ops::record<ops::EighOp>(), a);
  return {.values = std::move(out[0]), .vectors = std::move(out[1])};
}
Svd svd(const Operand& a) {
  std::vector<Tensor> out = decomposed(ops::record<ops::SvdOp>(), a);
  return {.u = std::move(out[0]), .s = std::move(out[1]), .vh = std::move(out[2])};
}

}  // namespace tenure
