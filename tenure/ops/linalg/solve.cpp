#include "tenure/ops/core/define.h"
#include "tenure/ops/core/gradient.h"
#include "tenure/ops/core/reference.h"
#include "tenure/ops/linalg/plain_matrix.h"
#include "tenure/ops/linalg/rules.h"
#include "tenure/ops/linalg/solving.h"
#include "tenure/ops/linalg_ops.h"

namespace tenure::ops {
namespace {

struct SolvingOp {
  static constexpr auto family = "linear algebra";
  static constexpr auto memory = allocates().with_workspace();
  static constexpr auto types = kSolvedTypes;
  static constexpr double ulp_of_largest = 64;
};

double cubed(const Shape& a) {
  const auto n = static_cast<double>(a.back());
  return static_cast<double>(count(a)) * n;
}

/// Of square matrices alone; `result` is the reference of one.
Sample square_sample(const Shape& shape, double first = 2, double step = 1) {
  return {.inputs = {MatrixSample{.shape = shape, .first = first, .step = step}.input()}};
}

struct Cholesky : SolvingOp {
  static constexpr auto name = "cholesky";
  static constexpr auto signature = "cholesky(a)";
  static constexpr auto doc =
      "lower triangular L with L L^T = a, the symmetric part of which is taken";
  static constexpr bool may_fail = true;
  static constexpr GradientRule gradient = reads_output(rules::cholesky);
  static Specs infer(const Kernel& k) {
    require_square(k.in[0].shape, k.op);
    return {{k.in[0].dtype, k.in[0].shape}};
  }
  static double flops(const Kernel& k) { return cubed(k.in[0].shape) / 3; }
  static std::vector<Reference> reference(const std::vector<Reference>& in, const Attributes&) {
    return join_matrices(leading(in[0].shape), {in[0].shape}, [&](const Dims& index) {
      const PlainMatrix a = matrix_at(in[0], index);
      PlainMatrix lower(a.rows, a.rows);
      for (std::int64_t i = 0; i < a.rows; ++i) {
        for (std::int64_t j = 0; j <= i; ++j) {
          long double rest = (a(i, j) + a(j, i)) / 2;
          for (std::int64_t k = 0; k < j; ++k) rest -= lower(i, k) * lower(j, k);
          lower(i, j) = i == j ? std::sqrt(rest) : rest / lower(j, j);
        }
      }
      return std::vector{lower};
    });
  }
  static std::vector<Sample> samples() {
    return {square_sample({3, 3}), square_sample({2, 2, 4, 4}), square_sample({24, 24}, 8),
            square_sample({1, 1}), square_sample({0, 0}),       square_sample({0, 3, 3})};
  }
};

struct SolveTriangular : SolvingOp {
  static constexpr auto name = "solve_triangular";
  static constexpr auto signature =
      "solve_triangular(a, b, upper = false, transposed = false, unit = false)";
  static constexpr auto doc = "x with a x = b, or a^T x = b, of one triangle of a";
  static constexpr bool may_fail = true;
  static constexpr GradientRule gradient{.needs = {{input_data(0) | output_data(0), input_data(0)}},
                                         .run = rules::solve_triangular};
  static Specs infer(const Kernel& k) { return {solved_spec(k)}; }
  static double flops(const Kernel& k) {
    return static_cast<double>(k.out[0].count()) * static_cast<double>(k.in[0].shape.back());
  }
  static std::vector<Reference> reference(const std::vector<Reference>& in, const Attributes& a) {
    return solved_reference(in, name, [&](PlainMatrix matrix) {
      for (std::int64_t i = 0; i < matrix.rows; ++i) {
        for (std::int64_t j = 0; j < matrix.rows; ++j) {
          const bool is_other = a.flag(TriangularAttributes::upper) ? j < i : j > i;
          if (is_other) matrix(i, j) = 0;
          if (i == j && a.flag(TriangularAttributes::unit)) matrix(i, j) = 1;
        }
      }
      return a.flag(TriangularAttributes::transposed) ? transposed(matrix) : matrix;
    });
  }
  template <class F>
  static std::vector<Reference> solved_reference(const std::vector<Reference>& in, const char* op,
                                                 const F& matrix_of) {
    Reference b = in[1];
    const bool is_vector = b.shape.size() == 1;
    if (is_vector) b.shape.push_back(1);
    const Shape batch = solved_batch(in[0].shape, b.shape, op);
    Shape shape = with_matrix(batch, b.shape[b.shape.size() - 2], b.shape.back());
    if (is_vector) shape.erase(shape.size() - 1);
    return join_matrices(batch, {shape}, [&](const Dims& index) {
      return std::vector{solved(matrix_of(matrix_at(in[0], index)), matrix_at(b, index))};
    });
  }
  static Sample sample(const Shape& a, const Shape& b, bool upper = false, bool transpose = false,
                       bool unit = false) {
    Sample::Input right{.shape = b};
    for (std::int64_t i = 0; i < count(b); ++i) {
      right.values.push_back(static_cast<double>(i * 29 % 23) / 8 - 1);
    }
    return {.inputs = {MatrixSample{.shape = a, .noise = 0.3}.input(), right},
            .attributes = Attributes(upper, transpose, unit)};
  }
  static std::vector<Sample> samples() {
    return {sample({3, 3}, {3, 2}),
            sample({4, 4}, {4}, true),
            sample({2, 3, 3}, {3, 2}, false, true),
            sample({3, 3}, {2, 3, 1}, true, true),
            sample({2, 1, 3, 3}, {2, 3, 2}, true, false, true),
            sample({24, 24}, {24, 3}, false, false, true),
            sample({24, 24}, {24, 3}, true, true),
            sample({2, 2}, {2, 0}),
            sample({0, 0}, {0, 3})};
  }
};

struct Solve : SolvingOp {
  static constexpr auto name = "solve";
  static constexpr auto signature = "solve(a, b)";
  static constexpr auto doc = "x with a x = b, by elimination with the largest pivots of columns";
  static constexpr bool may_fail = true;
  static constexpr GradientRule gradient{.needs = {{input_data(0) | output_data(0), input_data(0)}},
                                         .run = rules::solve};
  static Specs infer(const Kernel& k) { return {solved_spec(k)}; }
  static double flops(const Kernel& k) {
    return cubed(k.in[0].shape) * 2 / 3 +
           2 * static_cast<double>(k.out[0].count()) * static_cast<double>(k.in[0].shape.back());
  }
  static std::vector<Reference> reference(const std::vector<Reference>& in, const Attributes&) {
    return SolveTriangular::solved_reference(in, name, [](const PlainMatrix& a) { return a; });
  }
  static Sample sample(const Shape& a, const Shape& b) {
    Sample sample = SolveTriangular::sample(a, b);
    sample.attributes = {};
    return sample;
  }
  static std::vector<Sample> samples() {
    Sample swapped = sample({3, 3}, {3, 2});
    swapped.inputs[0].values = {0, 2, 0.5, 1, 0.25, 0, 0.5, 0, 3};
    return {sample({3, 3}, {3, 2}),
            sample({4, 4}, {4}),
            sample({2, 3, 3}, {3}),
            sample({3, 3}, {2, 3, 1}),
            sample({2, 1, 3, 3}, {2, 3, 2}),
            sample({24, 24}, {24, 3}),
            swapped,
            sample({2, 2}, {2, 0}),
            sample({0, 3, 3}, {3, 2})};
  }
};

struct Inv : SolvingOp {
  static constexpr auto name = "inv";
  static constexpr auto signature = "inv(a)";
  static constexpr auto doc = "the inverse; solve is faster and more exact where it will do";
  static constexpr bool may_fail = true;
  static constexpr GradientRule gradient = reads_output(rules::inv);
  static Specs infer(const Kernel& k) {
    require_square(k.in[0].shape, k.op);
    return {{k.in[0].dtype, k.in[0].shape}};
  }
  static double flops(const Kernel& k) { return cubed(k.in[0].shape) * 2; }
  static std::vector<Reference> reference(const std::vector<Reference>& in, const Attributes&) {
    return join_matrices(leading(in[0].shape), {in[0].shape}, [&](const Dims& index) {
      const PlainMatrix a = matrix_at(in[0], index);
      return std::vector{solved(a, identity_matrix(a.rows))};
    });
  }
  static std::vector<Sample> samples() {
    return {square_sample({3, 3}), square_sample({2, 1, 4, 4}), square_sample({24, 24}, 3),
            square_sample({1, 1}), square_sample({0, 0})};
  }
};

/// Determinants of a batch, by elimination.
struct DeterminantOp : SolvingOp {
  static double flops(const Kernel& k) { return cubed(k.in[0].shape) * 2 / 3; }
  static PlainMatrix determinant(const Reference& x, const Dims& index) {
    const PlainMatrix a = matrix_at(x, index);
    PlainMatrix result(1, 1);
    solved(a, PlainMatrix(a.rows, 0), &result(0, 0));
    return result;
  }
  static std::vector<Sample> samples() {
    Sample swapped{.inputs = {{.shape = {2, 2}, .values = {0, 2, 3, 1}}}};
    return {square_sample({3, 3}),
            square_sample({2, 2, 4, 4}, 1, 0.5),
            square_sample({20, 20}, 1, 0.05),
            swapped,
            square_sample({0, 0}),
            square_sample({0, 2, 2})};
  }
};

struct Det : DeterminantOp {
  static constexpr auto name = "det";
  static constexpr auto signature = "det(a)";
  static constexpr auto doc = "the determinant; slogdet neither overflows nor underflows";
  static constexpr GradientRule gradient{.needs = {{input_data(0) | output_data(0)}},
                                         .run = rules::det};
  static Specs infer(const Kernel& k) {
    require_square(k.in[0].shape, k.op);
    return {{k.in[0].dtype, leading(k.in[0].shape)}};
  }
  static std::vector<Reference> reference(const std::vector<Reference>& in, const Attributes&) {
    const Shape batch = leading(in[0].shape);
    return join_matrices(batch, {batch},
                         [&](const Dims& index) { return std::vector{determinant(in[0], index)}; });
  }
};

struct SlogdetOp : DeterminantOp {
  static constexpr auto name = "slogdet";
  static constexpr auto signature = "slogdet(a)";
  static constexpr auto doc =
      "the sign of the determinant and the logarithm of its size: 0 and -inf if it is zero";
  static constexpr int outputs = 2;
  static constexpr GradientRule gradient = reads_input(rules::slogdet);
  static Specs infer(const Kernel& k) {
    require_square(k.in[0].shape, k.op);
    const Spec spec{k.in[0].dtype, leading(k.in[0].shape)};
    return {spec, spec};
  }
  static std::vector<Reference> reference(const std::vector<Reference>& in, const Attributes&) {
    const Shape batch = leading(in[0].shape);
    return join_matrices(batch, {batch, batch}, [&](const Dims& index) {
      PlainMatrix sign = determinant(in[0], index);
      PlainMatrix size = sign;
      size(0, 0) = std::log(std::abs(size(0, 0)));
      sign(0, 0) = sign(0, 0) < 0 ? -1 : 1;
      return std::vector{sign, size};
    });
  }
};

}  // namespace

std::vector<const OpRecord*> solving_ops() {
  return {&record<Cholesky>(), &record<SolveTriangular>(), &record<Solve>(), &record<Inv>(),
          &record<Det>(),      &record<SlogdetOp>()};
}

}  // namespace tenure::ops

namespace tenure {

using ops::Attributes;
using ops::call;
using ops::record;

Tensor cholesky(const Operand& a) { return call(record<ops::Cholesky>(), a); }
Tensor solve_triangular(const Operand& a, const Operand& b, const TriangularOptions& options) {
  return call(record<ops::SolveTriangular>(), {a, b},
              Attributes(options.upper, options.transposed, options.unit));
}
Tensor solve(const Operand& a, const Operand& b) { return call(record<ops::Solve>(), a, b); }
Tensor inv(const Operand& a) { return call(record<ops::Inv>(), a); }
Tensor det(const Operand& a) { return call(record<ops::Det>(), a); }
Slogdet slogdet(const Operand& a) {
  std::vector<Tensor> out =
      ops::run_many_now(record<ops::SlogdetOp>(), {&a, 1}, ops::kNoAttributes, a.site());
  return {.sign = std::move(out[0]), .logarithm = std::move(out[1])};
}

}  // namespace tenure
