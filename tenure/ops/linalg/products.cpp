#include <fmt/format.h>

#include <algorithm>

#include "tenure/ops/core/composite.h"
#include "tenure/ops/core/reference.h"
#include "tenure/ops/elementwise.h"
#include "tenure/ops/index/arrange.h"
#include "tenure/ops/index/operands.h"
#include "tenure/ops/index_ops.h"
#include "tenure/ops/linalg_ops.h"
#include "tenure/ops/reduce_ops.h"
#include "tenure/ops/shape/attributes.h"
#include "tenure/ops/shape_ops.h"

namespace tenure::ops {
namespace {

struct ProductOp : CompositeOp {
  static constexpr auto family = "linear algebra";
  static constexpr auto types = kNumberTypes;

  static Sample sample(const Shape& a, const Shape& b) {
    return {.inputs = {{.shape = a, .low = 0}, {.shape = b, .low = 0}}};
  }
};

struct Outer : ProductOp {
  static constexpr auto name = "outer";
  static constexpr auto signature = "outer(a, b)";
  static constexpr auto doc = "products of all elements of a with all of b, as a matrix";

  static std::vector<Tensor> expand(std::span<const Operand> operands, const Attributes&) {
    const Expansion at(operands);
    const Tensor column = reshape(at[0], {count(body_of(operands[0], name).shape), 1});
    const Tensor row = reshape(at[1], {1, count(body_of(operands[1], name).shape)});
    return {mul(at(column), at(row))};
  }
  static std::vector<Reference> reference(const std::vector<Reference>& in, const Attributes&) {
    return {make_reference({count(in[0].shape), count(in[1].shape)}, [&](const Dims& i) {
      return in[0].values[static_cast<std::size_t>(i[0])] *
             in[1].values[static_cast<std::size_t>(i[1])];
    })};
  }
  static std::vector<Sample> samples() {
    return {sample({3}, {5}), sample({2, 2}, {3}), sample({}, {4}), sample({0}, {2})};
  }
};

struct Dot : ProductOp {
  static constexpr auto name = "dot";
  static constexpr auto signature = "dot(a, b)";
  static constexpr auto doc = "the inner product of two vectors";
  static constexpr double ulp = 32;

  static std::vector<Tensor> expand(std::span<const Operand> operands, const Attributes&) {
    const Expansion at(operands);
    for (const Operand& operand : operands) {
      const Shape shape = body_of(operand, name).shape;
      if (shape.size() == 1) continue;
      throw ShapeError(
          name, fmt::format("takes vectors, not {}; matmul() is of matrices", to_string(shape)),
          {shape.to_vector()});
    }
    return {matmul(at[0], at[1])};
  }
  static std::vector<Reference> reference(const std::vector<Reference>& in, const Attributes&) {
    long double sum = 0;
    for (std::size_t i = 0; i < in[0].values.size(); ++i) sum += in[0].values[i] * in[1].values[i];
    return {{.shape = {}, .values = {sum}}};
  }
  static std::vector<Sample> samples() {
    return {sample({5}, {5}), sample({1}, {1}), sample({0}, {0})};
  }
};

struct Kron : ProductOp {
  static constexpr auto name = "kron";
  static constexpr auto signature = "kron(a, b)";
  static constexpr auto doc = "Kronecker's product: every element of a times the whole of b";

  static std::vector<Tensor> expand(std::span<const Operand> operands, const Attributes&) {
    const Expansion at(operands);
    const Shape given_a = body_of(operands[0], name).shape;
    const Shape given_b = body_of(operands[1], name).shape;
    const int rank = std::max(given_a.size(), given_b.size());
    if (2 * rank > kMaxRank) {
      throw ShapeError(name, fmt::format("takes up to {} axes", kMaxRank / 2),
                       {given_a.to_vector(), given_b.to_vector()});
    }
    const Shape a = with_leading_ones(given_a, rank);
    const Shape b = with_leading_ones(given_b, rank);
    Shape wide_a;
    Shape wide_b;
    Shape shape;
    for (int i = 0; i < rank; ++i) {
      for (const std::int64_t size : {a[i], std::int64_t{1}}) wide_a.push_back(size);
      for (const std::int64_t size : {std::int64_t{1}, b[i]}) wide_b.push_back(size);
      shape.push_back(a[i] * b[i]);
    }
    const Tensor left = reshape(at[0], wide_a);
    Tensor product = mul(at(left), at(reshape(at[1], wide_b)));
    return {reshape(at(std::move(product)), shape)};
  }
  static std::vector<Reference> reference(const std::vector<Reference>& in, const Attributes&) {
    const int rank = std::max(in[0].shape.size(), in[1].shape.size());
    const Reference a{with_leading_ones(in[0].shape, rank), in[0].values};
    const Reference b{with_leading_ones(in[1].shape, rank), in[1].values};
    Shape shape = a.shape;
    for (int i = 0; i < rank; ++i) shape[i] *= b.shape[i];
    return {make_reference(shape, [&](const Dims& index) {
      Dims of_a = index;
      Dims of_b = index;
      for (int i = 0; i < rank; ++i) {
        of_a[i] /= b.shape[i];
        of_b[i] %= b.shape[i];
      }
      return at(a, of_a) * at(b, of_b);
    })};
  }
  static std::vector<Sample> samples() {
    return {sample({2, 3}, {3, 2}), sample({3}, {2, 2}), sample({}, {3}), sample({2, 0}, {2, 2})};
  }
};

struct CrossAttributes {
  enum : int { axis };
};

struct Cross : ProductOp {
  static constexpr auto name = "cross";
  static constexpr auto signature = "cross(a, b, axis = -1)";
  static constexpr auto doc = "the vector product along an axis of size 3";
  static constexpr double ulp_of_largest = 8;

  static std::vector<Tensor> expand(std::span<const Operand> operands, const Attributes& a) {
    const Expansion at(operands);
    const Shape shape =
        broadcast(body_of(operands[0], name).shape, body_of(operands[1], name).shape, name);
    const int axis = normalize_axis(a.integer(CrossAttributes::axis), shape.size(), name);
    if (shape[axis] != 3) {
      throw ShapeError(
          name, fmt::format("axis {} of shape {} does not have size 3", axis, to_string(shape)),
          {shape.to_vector()});
    }
    const Tensor left = broadcast_to(at[0], shape);
    const Tensor right = broadcast_to(at[1], shape);
    const auto product = [&](int by_left, int by_right) {
      const Tensor moved = roll(at(left), by_left, axis);
      return mul(at(moved), at(roll(at(right), by_right, axis)));
    };
    Tensor first = product(-1, -2);
    return {sub(at(std::move(first)), at(product(-2, -1)))};
  }
  static std::vector<Reference> reference(const std::vector<Reference>& in, const Attributes& a) {
    const Reference left = broadcast_reference(
        name, {in[0], in[1]}, [](const std::vector<long double>& e) { return e[0]; });
    const Reference right = broadcast_reference(
        name, {in[0], in[1]}, [](const std::vector<long double>& e) { return e[1]; });
    const int axis = normalize_axis(a.integer(CrossAttributes::axis), left.shape.size(), name);
    return {make_reference(left.shape, [&](const Dims& index) {
      Dims one = index;
      Dims two = index;
      one[axis] = (index[axis] + 1) % 3;
      two[axis] = (index[axis] + 2) % 3;
      return at(left, one) * at(right, two) - at(left, two) * at(right, one);
    })};
  }
  static std::vector<Sample> samples() {
    const auto sample = [](const Shape& a, const Shape& b, std::int64_t axis) {
      return Sample{.inputs = {{.shape = a}, {.shape = b}}, .attributes = Attributes(axis)};
    };
    return {sample({3}, {3}, -1), sample({3, 4}, {3, 1}, 0), sample({2, 3}, {3}, 1),
            sample({0, 3}, {0, 3}, -1)};
  }
};

struct Trace : ProductOp {
  static constexpr auto name = "trace";
  static constexpr auto signature = "trace(x, a = -2, b = -1, k = 0)";
  static constexpr auto doc = "the sum of the k-th diagonal; of integers int64";
  static constexpr double ulp = 8;

  static std::vector<Tensor> expand(std::span<const Operand> operands, const Attributes& a) {
    const Expansion at(operands);
    body_of(operands[0], name);
    const Tensor values = diagonal(at[0], static_cast<int>(a.integer(DiagonalAttributes::axis_a)),
                                   static_cast<int>(a.integer(DiagonalAttributes::axis_b)),
                                   a.integer(DiagonalAttributes::k));
    return {sum(at(values), -1)};
  }
  static std::vector<Reference> reference(const std::vector<Reference>& in, const Attributes& a) {
    const int rank = in[0].shape.size();
    const int rows = normalize_axis(a.integer(DiagonalAttributes::axis_a), rank, name);
    const int columns = normalize_axis(a.integer(DiagonalAttributes::axis_b), rank, name);
    Shape shape;
    for (int i = 0; i < rank; ++i) {
      if (i != rows && i != columns) shape.push_back(in[0].shape[i]);
    }
    return {make_reference(shape, [&](const Dims& index) {
      long double sum = 0;
      for_each_index(in[0].shape, [&](const Dims& full) {
        Dims rest;
        for (int i = 0; i < rank; ++i) {
          if (i != rows && i != columns) rest.push_back(full[i]);
        }
        const bool counts = full[columns] - full[rows] == a.integer(DiagonalAttributes::k);
        if (counts && rest == index) sum += at(in[0], full);
      });
      return sum;
    })};
  }
  static std::vector<Sample> samples() {
    const auto sample = [](const Shape& shape, std::int64_t a, std::int64_t b, std::int64_t k) {
      return Sample{.inputs = {{.shape = shape, .low = 0}}, .attributes = Attributes(a, b, k)};
    };
    return {sample({4, 4}, -2, -1, 0), sample({2, 3, 5}, 2, 1, -1), sample({3, 4, 2}, 0, 1, 1),
            sample({0, 2}, 0, 1, 0)};
  }
};

}  // namespace

std::vector<const OpRecord*> product_ops() {
  return {&record<Outer>(), &record<Dot>(), &record<Kron>(), &record<Cross>(), &record<Trace>()};
}

}  // namespace tenure::ops

namespace tenure {

using ops::Attributes;
using ops::call;
using ops::record;

Tensor outer(const Operand& a, const Operand& b) { return call(record<ops::Outer>(), {a, b}); }
Tensor dot(const Operand& a, const Operand& b) { return call(record<ops::Dot>(), {a, b}); }
Tensor kron(const Operand& a, const Operand& b) { return call(record<ops::Kron>(), {a, b}); }
Tensor cross(const Operand& a, const Operand& b, int axis) {
  return call(record<ops::Cross>(), {a, b}, Attributes(std::int64_t{axis}));
}
Tensor trace(const Operand& x, int a, int b, std::int64_t k) {
  return call(record<ops::Trace>(), x, Attributes(std::int64_t{a}, std::int64_t{b}, k));
}

}  // namespace tenure
