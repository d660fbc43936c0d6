#include "tenure/ops/linalg/einsum.h"

#include <algorithm>
#include <map>

#include "tenure/ops/core/define.h"
#include "tenure/ops/core/named.h"
#include "tenure/ops/core/reference.h"
#include "tenure/ops/linalg_ops.h"
#include "tenure/ops/reduce_ops.h"
#include "tenure/ops/shape_ops.h"

namespace tenure::ops {
namespace {

bool has(const std::string& letters, char c) { return letters.find(c) != std::string::npos; }

/// A tensor whose dimensions have letters. Steps of the computation are ops at the caller's line.
struct Labelled {
  Tensor tensor;
  std::string letters;
  Site site;

  Operand take() { return {std::move(tensor), site}; }
  int axis(char c) const { return static_cast<int>(letters.find(c)); }
  std::int64_t size(char c) const { return tensor.shape()[axis(c)]; }

  /// A letter that occurs twice stands for the diagonal.
  void take_diagonals() {
    for (std::size_t i = 0; i < letters.size(); ++i) {
      const std::size_t again = letters.find(letters[i], i + 1);
      if (again == std::string::npos) continue;
      const char c = letters[i];
      tensor = diagonal(take(), static_cast<int>(i), static_cast<int>(again));
      letters.erase(again, 1);
      letters.erase(i, 1);
      letters += c;
      i = static_cast<std::size_t>(-1);
    }
  }

  /// Adds up the dimensions whose letters are not in `wanted`.
  void sum_others(const std::string& wanted) {
    Axes axes;
    std::string left;
    for (std::size_t i = 0; i < letters.size(); ++i) {
      if (has(wanted, letters[i])) {
        left += letters[i];
      } else {
        axes.push_back(static_cast<std::int64_t>(i));
      }
    }
    if (axes.empty()) return;
    const DType dtype = tensor.dtype();
    tensor = sum(take(), axes);
    if (tensor.dtype() != dtype) tensor = cast(take(), dtype);
    letters = left;
  }

  /// The dimensions in this order; letters that it lacks become dimensions of size 1.
  void arrange(const std::string& order) {
    for (const char c : order) {
      if (has(letters, c)) continue;
      tensor = expand_dims(take(), 0);
      letters.insert(letters.begin(), c);
    }
    Axes axes;
    for (const char c : order) axes.push_back(axis(c));
    tensor = permute(take(), axes);
    letters = order;
  }
};

std::int64_t product_of_sizes(const Labelled& x, const std::string& letters) {
  std::int64_t product = 1;
  for (const char c : letters) product *= x.size(c);
  return product;
}

/// The product of two, summed over the letters that nobody needs any more, as one matmul.
Labelled contract(Labelled a, Labelled b, const std::string& wanted) {
  a.sum_others(wanted + b.letters);
  b.sum_others(wanted + a.letters);
  std::string batch;
  std::string summed;
  std::string only_a;
  std::string only_b;
  for (const char c : a.letters)
    (!has(b.letters, c) ? only_a : has(wanted, c) ? batch : summed) += c;
  for (const char c : b.letters) {
    if (!has(a.letters, c)) only_b += c;
  }
  a.arrange(batch + only_a + summed);
  b.arrange(batch + summed + only_b);
  Shape shape;
  for (const char c : batch) shape.push_back(std::max(a.size(c), b.size(c)));
  for (const char c : only_a) shape.push_back(a.size(c));
  for (const char c : only_b) shape.push_back(b.size(c));

  const auto matrices = [&batch](Labelled& x, std::int64_t rows, std::int64_t columns) {
    Shape to;
    for (const char c : batch) to.push_back(x.size(c));
    to.push_back(rows);
    to.push_back(columns);
    return reshape(x.take(), to);
  };
  const std::int64_t inner = product_of_sizes(a, summed);
  const std::int64_t rows = product_of_sizes(a, only_a);
  const std::int64_t columns = product_of_sizes(b, only_b);
  Tensor left = matrices(a, rows, inner);
  Tensor right = matrices(b, inner, columns);
  Tensor product = matmul(Operand(std::move(left), a.site), Operand(std::move(right), a.site));
  return {reshape(Operand(std::move(product), a.site), shape), batch + only_a + only_b, a.site};
}

struct Einsum {
  static constexpr int kEquation = 0;  // the place of its attribute
  static constexpr auto family = "linear algebra";
  static constexpr auto name = "einsum";
  static constexpr auto signature = "einsum(equation, tensors)";
  static constexpr auto doc = "sums of products in Einstein's notation, by matmul";
  static constexpr auto memory = allocates().with_workspace();
  static constexpr auto types = kNumberTypes;
  static constexpr double ulp = 32;

  static std::vector<Tensor> expand(std::span<const Operand> operands,
                                    const Attributes& attributes) {
    std::vector<Shape> shapes;
    for (const Operand& operand : operands) {
      if (operand.is_scalar()) throw ValueError("einsum: takes tensors, not numbers");
      shapes.push_back(operand.tensor().body(name, operand.site()).shape);
    }
    const Equation equation = parse_equation(attributes.text(kEquation), shapes);
    const Site site = operands[0].site();
    std::vector<Labelled> parts;
    for (std::size_t i = 0; i < operands.size(); ++i) {
      // A view of its own: the steps may use it up, the operand stays.
      Tensor input =
          permute(Operand(operands[i].tensor(), operands[i].site()), identity(shapes[i]));
      parts.push_back({std::move(input), equation.operands[i], site});
      parts.back().take_diagonals();
    }
    Labelled result = std::move(parts[0]);
    for (std::size_t i = 1; i < parts.size(); ++i) {
      std::string wanted = equation.result;
      for (std::size_t j = i + 1; j < parts.size(); ++j) wanted += parts[j].letters;
      result = contract(std::move(result), std::move(parts[i]), wanted);
    }
    result.sum_others(equation.result);
    result.arrange(equation.result);
    // A view of an operand would break the promise of a result of its own.
    return {operands.size() == 1 ? clone(result.take()) : contiguous(result.take())};
  }

  static Axes identity(const Shape& shape) {
    Axes order;
    for (int i = 0; i < shape.size(); ++i) order.push_back(i);
    return order;
  }

  static std::vector<Reference> reference(const std::vector<Reference>& in, const Attributes& a) {
    std::vector<Shape> shapes;
    for (const Reference& r : in) shapes.push_back(r.shape);
    const Equation equation = parse_equation(a.text(kEquation), shapes);
    std::map<char, std::int64_t> sizes;
    for (std::size_t o = 0; o < in.size(); ++o) {
      for (int i = 0; i < shapes[o].size(); ++i) {
        std::int64_t& size = sizes[equation.operands[o][static_cast<std::size_t>(i)]];
        size = std::max(size, shapes[o][i]);
      }
    }
    Shape shape;
    for (const char c : equation.result) shape.push_back(sizes[c]);
    std::string summed;
    Shape summed_shape;
    for (const auto& [letter, size] : sizes) {
      if (has(equation.result, letter)) continue;
      summed += letter;
      summed_shape.push_back(size);
    }
    return {make_reference(shape, [&](const Dims& index) {
      long double total = 0;
      for_each_index(summed_shape, [&](const Dims& inner) {
        long double product = 1;
        for (std::size_t o = 0; o < in.size(); ++o) {
          Dims place = shapes[o];
          for (int i = 0; i < place.size(); ++i) {
            const char c = equation.operands[o][static_cast<std::size_t>(i)];
            const std::size_t kept = equation.result.find(c);
            const std::int64_t at = kept != std::string::npos
                                        ? index[static_cast<int>(kept)]
                                        : inner[static_cast<int>(summed.find(c))];
            place[i] = shapes[o][i] == 1 ? 0 : at;
          }
          product *= at(in[o], place);
        }
        total += product;
      });
      return total;
    })};
  }

  static Sample sample(const std::string& equation, const std::vector<Shape>& shapes) {
    Sample sample;
    for (const Shape& shape : shapes) {
      sample.inputs.push_back({.shape = shape, .low = 0, .high = 1});
    }
    sample.attributes = Attributes(equation);
    return sample;
  }
  static std::vector<Sample> samples() {
    return {sample("ij,jk->ik", {{3, 4}, {4, 5}}),
            sample("ij,jk", {{3, 4}, {4, 5}}),
            sample("bij,bjk->bik", {{2, 3, 4}, {2, 4, 5}}),
            sample("ii->i", {{4, 4}}),
            sample("ii", {{4, 4}}),
            sample("ij->ji", {{3, 4}}),
            sample("ij->", {{3, 4}}),
            sample("i,j->ij", {{3}, {4}}),
            sample("...ij,...jk->...ik", {{2, 1, 3, 4}, {5, 4, 2}}),
            sample("ij,jk,kl->il", {{3, 4}, {4, 5}, {5, 2}}),
            sample("bhqd,bhkd->bhqk", {{2, 2, 3, 4}, {2, 2, 5, 4}}),
            sample("ij,ij->i", {{0, 3}, {0, 3}})};
  }
};

}  // namespace

const OpRecord& einsum_record() { return record<Einsum>(); }

}  // namespace tenure::ops

namespace tenure {

Tensor einsum(const std::string& equation, const OperandList& tensors) {
  ops::require_some(tensors, "einsum");
  return ops::call(ops::einsum_record(), tensors.operands(), ops::Attributes(equation));
}

}  // namespace tenure
