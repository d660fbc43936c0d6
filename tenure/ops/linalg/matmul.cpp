#include <fmt/format.h>

#include "tenure/ops/core/define.h"
#include "tenure/ops/core/gradient.h"
#include "tenure/ops/core/named.h"
#include "tenure/ops/core/reference.h"
#include "tenure/ops/core/types.h"
#include "tenure/ops/linalg/einsum.h"
#include "tenure/ops/linalg/matrices.h"
#include "tenure/ops/linalg_ops.h"
#include "tenure/ops/shape_ops.h"

namespace tenure::ops {
namespace {

/// The result without the dimensions that vectors brought.
Shape result_shape(const Shape& a, const Shape& b, std::string_view op = "matmul") {
  if (a.size() == 2 && b.size() == 2) return {a[0], b[1]};
  const auto matrix = [](Shape shape, int missing) {
    if (shape.size() == 1) shape.insert(missing, 1);
    return shape;
  };
  Shape shape = matrix_shape(matrix(a, 0), matrix(b, 1), op);
  if (b.size() == 1) shape.erase(shape.size() - 1);
  if (a.size() == 1) shape.erase(shape.size() - (b.size() == 1 ? 1 : 2));
  return shape;
}

/// The same, or an error if there is no such product.
Shape checked_shape(const Shape& a, const Shape& b, const char* op) {
  if (a.empty() || b.empty()) {
    throw ShapeError(op, "a number has no product with a matrix; use mul",
                     {a.to_vector(), b.to_vector()});
  }
  const std::int64_t inner = b.size() == 1 ? b[0] : b[b.size() - 2];
  if (a.back() != inner) {
    throw ShapeError(op,
                     fmt::format("shapes {} and {} do not fit: {} columns meet {} rows",
                                 to_string(a), to_string(b), a.back(), inner),
                     {a.to_vector(), b.to_vector()});
  }
  return result_shape(a, b, op);
}

/// Vectors count as the matrices that they stand for.
void matmul_gradient(Backward& b) {
  const bool vector_a = b.specs[0].shape.size() == 1;
  const bool vector_b = b.specs[1].shape.size() == 1;
  Tensor gradient = std::move(b.gradients[0]);
  if (vector_a) gradient = expand_dims(b.at(std::move(gradient)), vector_b ? 0 : -2);
  if (vector_b) gradient = expand_dims(b.at(std::move(gradient)), -1);
  const Operand g(gradient, b.site);
  if (b.wants(0)) {
    const Tensor back = vector_b ? expand_dims(b.input(1), 0) : transpose(b.input(1));
    Tensor result = matmul(g, Operand(back, b.site));
    if (vector_a) result = squeeze(b.at(std::move(result)), -2);
    b.results[0] = to_input(b, 0, std::move(result));
  }
  if (!b.wants(1)) return;
  const int rank_b = b.specs[1].shape.size();
  if (rank_b <= 2 && gradient.rank() > 2) {
    // One product of all rows: no product for each matrix of the batch, to be summed.
    const Tensor rows = flatten(b.input(0), 0, -2);
    const Tensor columns = flatten(g, 0, -2);
    Tensor result = matmul(b.at(transpose(Operand(rows, b.site))), Operand(columns, b.site));
    b.results[1] = vector_b ? squeeze(b.at(std::move(result)), -1) : std::move(result);
    return;
  }
  const Tensor back = vector_a ? expand_dims(b.input(0), -1) : transpose(b.input(0));
  Tensor result = matmul(Operand(back, b.site), g);
  if (vector_b) result = squeeze(b.at(std::move(result)), -1);
  b.results[1] = to_input(b, 1, std::move(result));
}

/// What products have in common.
struct MatrixProduct {
  static constexpr auto family = "linear algebra";

  static double flops(const Kernel& k) {
    return 2.0 * static_cast<double>(k.out[0].count()) * static_cast<double>(k.in[0].shape.back());
  }
  static std::optional<Parts> parts(const Kernel& k) {
    const Shape& a = k.in[0].shape;
    const Shape& b = k.in[1].shape;
    if (a.size() < 2 || b.size() > a.size()) return std::nullopt;
    // Some of the rows of one matrix; one row alone would be summed in another order.
    if (a.size() == 2) return Parts{.in = 1, .least = 2};
    // Some of the matrices. Rows of several that meet one b are those of one tall matrix.
    const bool is_whole = b.size() < a.size() || b[0] == 1;
    if (!is_whole && b[0] != a[0]) return std::nullopt;
    return Parts{.in = is_whole ? 1u : 3u, .least = 2};
  }

  static std::vector<Reference> reference(const std::vector<Reference>& in, const Attributes&) {
    Reference a = in[0];
    Reference b = in[1];
    const Shape shape = result_shape(a.shape, b.shape);
    if (a.shape.size() == 1) a.shape.insert(0, 1);
    if (b.shape.size() == 1) b.shape.insert(1, 1);
    const Shape full = matrix_shape(a.shape, b.shape);
    // Where an element lies of the matrix that an index of the product is made of; an operand may
    // lack dimensions of the batch or repeat them.
    const auto place = [](const Reference& x, const Dims& index, std::int64_t row,
                          std::int64_t column) {
      Dims own = x.shape;
      const int batch = x.shape.size() - 2;
      for (int i = 0; i < batch; ++i) {
        own[i] = x.shape[i] == 1 ? 0 : index[index.size() - 2 - batch + i];
      }
      own[batch] = row;
      own[batch + 1] = column;
      return flat(x.shape, own);
    };
    const std::int64_t depth = a.shape.back();
    const auto width = static_cast<std::size_t>(b.shape.back());
    Reference product = make_reference(full, [&](const Dims& index) {
      const int rank = index.size();
      std::size_t in_a = place(a, index, index[rank - 2], 0);
      std::size_t in_b = place(b, index, 0, index[rank - 1]);
      long double sum = 0;
      for (std::int64_t k = 0; k < depth; ++k, ++in_a, in_b += width) {
        sum += a.values[in_a] * b.values[in_b];
      }
      return sum;
    });
    product.shape = shape;
    return {product};
  }
};

struct Matmul : MatrixProduct {
  static constexpr auto name = "matmul";
  static constexpr GradientRule gradient{.needs = {{input_data(1), input_data(0)}},
                                         .run = matmul_gradient};
  static constexpr auto signature = "matmul(a, b)";
  static constexpr auto doc =
      "the product of matrices; leading dimensions are a batch and broadcast";
  static constexpr auto memory = allocates().with_workspace();
  static constexpr Precision precision = Precision::narrow;
  static constexpr auto types = kNumberTypes;
  static constexpr double ulp = 32;

  static Specs infer(const Kernel& k) {
    return {{k.in[0].dtype, checked_shape(k.in[0].shape, k.in[1].shape, name)}};
  }
  static Sample sample(const Shape& a, const Shape& b) {
    // Positive, so that sums do not cancel and the error bound stays relative.
    return {.inputs = {{.shape = a, .low = 0, .high = 2}, {.shape = b, .low = 0, .high = 2}}};
  }
  static std::vector<Sample> samples() {
    return {
        sample({8, 8}, {8, 8}),     sample({3, 5}, {5, 40}),    sample({7}, {7, 3}),
        sample({4, 7}, {7}),        sample({9}, {9}),           sample({2, 1, 3, 4}, {5, 4, 2}),
        sample({3, 4, 6}, {6, 5}),  sample({0, 3}, {3, 2}),     sample({2, 0}, {0, 3}),
        sample({70, 65}, {65, 80}), sample({1, 300}, {300, 1}), sample({3, 80, 90}, {3, 90, 70})};
  }
};

constexpr bool is_byte(DType dtype) { return dtype == DType::int8 || dtype == DType::uint8; }

struct IntegerMatmul : MatrixProduct {
  static constexpr auto name = "integer_matmul";
  static constexpr auto signature = "integer_matmul(a, b)";
  static constexpr auto doc =
      "the product of matrices of int8 or uint8, each of either, in int32; batches as in matmul";
  static constexpr auto memory = allocates();
  static constexpr auto types = types_where(is_byte);

  static Specs infer(const Kernel& k) {
    if (!is_byte(k.in[1].dtype)) {
      throw DTypeError(name, fmt::format("takes int8 or uint8, not {}", name_of(k.in[1].dtype)));
    }
    return {{DType::int32, checked_shape(k.in[0].shape, k.in[1].shape, name)}};
  }
  static std::vector<Sample> samples() {
    const auto same = [](const Shape& a, const Shape& b) {
      return Sample{
          .inputs = {{.shape = a, .low = 0, .high = 127}, {.shape = b, .low = 0, .high = 127}}};
    };
    const Sample::Input unsigned_rows{.shape = {20, 70}, .low = 0, .high = 255, .dtype = uint8};
    const Sample::Input signed_rows{.shape = {3, 9}, .low = -128, .high = 127, .dtype = int8};
    return {
        same({3, 5}, {5, 40}),
        same({7}, {7}),
        same({2, 1, 3, 4}, {5, 4, 2}),
        same({2, 0}, {0, 3}),
        same({0, 3}, {3, 2}),
        {.inputs = {unsigned_rows, {.shape = {70, 33}, .low = -128, .high = 127, .dtype = int8}}},
        {.inputs = {signed_rows, {.shape = {9, 5}, .low = 0, .high = 255, .dtype = uint8}}}};
  }
};

}  // namespace

std::vector<const OpRecord*> linalg_ops() {
  return {&record<Matmul>(), &record<IntegerMatmul>(), &einsum_record()};
}

}  // namespace tenure::ops

namespace tenure {

namespace {

void refuse_numbers(const ops::OpRecord& op, const Operand& a, const Operand& b) {
  if (!a.is_scalar() && !b.is_scalar()) return;
  ops::in_call(op.name, a.site(), [&] {
    throw ShapeError(op.name, "a number has no product with a matrix; use mul");
  });
}

}  // namespace

Tensor matmul(const Operand& a, const Operand& b) {
  const auto& op = ops::record<ops::Matmul>();
  refuse_numbers(op, a, b);
  const DType a_type = a.tensor().body(op.name, a.site()).dtype;
  const DType b_type = b.tensor().body(op.name, b.site()).dtype;
  // Autocast rounds what is not rounded yet: nothing is widened for that.
  const auto is_cast = [](DType type) { return is_floating(type) && type != DType::float64; };
  if (a_type == b_type || (ops::is_autocast() && is_cast(a_type) && is_cast(b_type)))
    return ops::call(op, a, b);
  const DType type = promote(a_type, b_type);
  const auto converted = [&](const Operand& x) {
    return x.tensor().dtype() == type ? x.tensor() : cast(Operand(x.tensor(), x.site()), type);
  };
  Tensor product =
      ops::call(op, {Operand(converted(a), a.site()), Operand(converted(b), b.site())});
  a.consume();
  b.consume();
  return product;
}

Tensor integer_matmul(const Operand& a, const Operand& b) {
  const auto& op = ops::record<ops::IntegerMatmul>();
  refuse_numbers(op, a, b);
  return ops::call(op, a, b);
}

}  // namespace tenure
