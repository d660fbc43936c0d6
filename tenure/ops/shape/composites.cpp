#include <fmt/format.h>

#include <algorithm>

#include "tenure/ops/core/composite.h"
#include "tenure/ops/core/reference.h"
#include "tenure/ops/creation.h"
#include "tenure/ops/elementwise.h"
#include "tenure/ops/index/operands.h"
#include "tenure/ops/index_ops.h"
#include "tenure/ops/shape/attributes.h"
#include "tenure/ops/shape_ops.h"

namespace tenure::ops {
namespace {

struct Diag : CompositeOp {
  static constexpr auto family = "arrangement";
  static constexpr auto name = "diag";
  static constexpr auto signature = "diag(x, k = 0)";
  static constexpr auto doc = "a matrix with x on its k-th diagonal; of a matrix that diagonal";
  static constexpr auto types = kAllTypes;

  static std::vector<Tensor> expand(std::span<const Operand> operands, const Attributes& a) {
    const Expansion at(operands);
    const TensorBody& x = body_of(operands[0], name);
    const std::int64_t k = a.integer(DiagAttributes::k);
    if (x.shape.size() == 2) return {clone(at(diagonal(at[0], 0, 1, k)))};
    if (x.shape.size() != 1) {
      throw ShapeError(name, "takes vectors and matrices, not " + to_string(x.shape),
                       {x.shape.to_vector()});
    }
    const std::int64_t more = k < 0 ? -k : k;
    const std::int64_t size = x.shape[0] + more;
    // x as a column or as a row, repeated, and hidden where there is no diagonal.
    const Tensor padded = pad(at[0], {{0, more}});
    const Tensor beside = expand_dims(at(padded), k < 0 ? 0 : 1);
    const Tensor is_diagonal = eye(size, size, k, DType::boolean, at.site());
    const Tensor zero = zeros({}, x.dtype, at.site());
    return {where(at(is_diagonal), at(beside), at(zero))};
  }
  static std::vector<Reference> reference(const std::vector<Reference>& in, const Attributes& a) {
    const Reference& x = in[0];
    const std::int64_t k = a.integer(DiagAttributes::k);
    const std::int64_t row = std::max<std::int64_t>(-k, 0);
    const std::int64_t column = std::max<std::int64_t>(k, 0);
    if (x.shape.size() == 2) {
      Reference diagonal{.shape = {0}};
      for (std::int64_t i = 0; row + i < x.shape[0] && column + i < x.shape[1]; ++i) {
        diagonal.values.push_back(ops::at(x, {row + i, column + i}));
      }
      diagonal.shape[0] = static_cast<std::int64_t>(diagonal.values.size());
      return {diagonal};
    }
    const std::int64_t size = x.shape[0] + row + column;
    return {make_reference({size, size}, [&](const Dims& index) -> long double {
      return index[1] - index[0] == k ? ops::at(x, {index[0] - row}) : 0;
    })};
  }
  static std::vector<Sample> samples() {
    const auto sample = [](const Shape& shape, std::int64_t k) {
      return Sample{.inputs = {{.shape = shape}}, .attributes = Attributes(k)};
    };
    return {sample({4}, 0),    sample({3}, 2),     sample({3}, -1),  sample({0}, 1),
            sample({3, 5}, 1), sample({4, 3}, -2), sample({2, 2}, 7)};
  }
};

struct Diff : CompositeOp {
  static constexpr auto family = "arithmetic";
  static constexpr auto name = "diff";
  static constexpr auto signature = "diff(x, n = 1, axis = -1)";
  static constexpr auto doc = "differences of neighbours along an axis, n times";
  static constexpr auto types = kNumberTypes;
  static constexpr double ulp_of_largest = 4;

  static std::vector<Tensor> expand(std::span<const Operand> operands, const Attributes& a) {
    const Expansion at(operands);
    const int rank = body_of(operands[0], name).shape.size();
    const std::int64_t times = a.integer(DiffAttributes::times);
    if (times < 0) throw ValueError(fmt::format("diff: {} times", times));
    const int axis = normalize_axis(a.integer(DiffAttributes::axis), rank, name);
    if (times == 0) return {clone(at[0])};
    Tensor x = operands[0].tensor();
    for (std::int64_t i = 0; i < times && (i == 0 || x.dim(axis) > 0); ++i) {
      const Tensor behind = slice(at(x), axis, 1);
      x = sub(at(behind), at(slice(at(x), axis, std::nullopt, -1)));
    }
    return {std::move(x)};
  }
  static std::vector<Reference> reference(const std::vector<Reference>& in, const Attributes& a) {
    Reference x = in[0];
    const int axis = normalize_axis(a.integer(DiffAttributes::axis), x.shape.size(), name);
    for (std::int64_t i = 0; i < a.integer(DiffAttributes::times); ++i) {
      Shape shape = x.shape;
      shape[axis] = std::max<std::int64_t>(shape[axis] - 1, 0);
      x = make_reference(shape, [&](Dims index) {
        const long double before = ops::at(x, index);
        ++index[axis];
        return ops::at(x, index) - before;
      });
    }
    return {x};
  }
  static std::vector<Sample> samples() {
    const auto sample = [](const Shape& shape, std::int64_t n, std::int64_t axis) {
      return Sample{.inputs = {{.shape = shape}}, .attributes = Attributes(n, axis)};
    };
    return {sample({3, 5}, 1, -1), sample({3, 5}, 1, 0), sample({6}, 2, 0),
            sample({4}, 0, 0),     sample({2}, 5, 0),    sample({0, 3}, 1, 1)};
  }
};

/// [.., a, b, c] with its last three axes seen as [channels, height, width].
struct Shuffle : CompositeOp {
  static constexpr auto family = "arrangement";
  static constexpr auto types = kAllTypes;

  static std::int64_t factor(const Attributes& a, const Shape& shape, const char* op) {
    const std::int64_t r = a.integer(ShuffleAttributes::factor);
    if (r < 1) throw ValueError(fmt::format("{}: a factor of {}; at least 1", op, r));
    if (shape.size() < 3 || shape.size() > kMaxRank - 2) {
      throw ShapeError(op, "takes images [.., channels, height, width], not " + to_string(shape),
                       {shape.to_vector()});
    }
    return r;
  }
  static void require_multiple(std::int64_t size, std::int64_t of, const char* op,
                               const Shape& shape) {
    if (size % of == 0) return;
    throw ShapeError(op,
                     fmt::format("{} of shape {} is no multiple of {}", size, to_string(shape), of),
                     {shape.to_vector()});
  }
  /// The axes before the last three, and then those given, counted from there.
  static Axes order(int lead, std::initializer_list<int> behind) {
    Axes axes;
    for (int i = 0; i < lead; ++i) axes.push_back(i);
    for (const int i : behind) axes.push_back(lead + i);
    return axes;
  }
  static Shape with(const Shape& shape, std::initializer_list<std::int64_t> behind) {
    Shape result;
    for (int i = 0; i < shape.size() - 3; ++i) result.push_back(shape[i]);
    for (const std::int64_t size : behind) result.push_back(size);
    return result;
  }
};

struct PixelShuffle : Shuffle {
  static constexpr auto name = "pixel_shuffle";
  static constexpr auto signature = "pixel_shuffle(x, factor)";
  static constexpr auto doc =
      "images [.., channels r^2, height, width] as [.., channels, height r, width r]";

  static std::vector<Tensor> expand(std::span<const Operand> operands, const Attributes& a) {
    const Expansion at(operands);
    const Shape shape = body_of(operands[0], name).shape;
    const std::int64_t r = factor(a, shape, name);
    const int lead = shape.size() - 3;
    const std::int64_t height = shape[lead + 1];
    const std::int64_t width = shape[lead + 2];
    require_multiple(shape[lead], r * r, name, shape);
    const std::int64_t channels = shape[lead] / (r * r);
    const Tensor apart = reshape(at[0], with(shape, {channels, r, r, height, width}));
    Tensor woven = clone(at(permute(at(apart), order(lead, {0, 3, 1, 4, 2}))));
    return {reshape(at(std::move(woven)), with(shape, {channels, height * r, width * r}))};
  }
  static std::vector<Reference> reference(const std::vector<Reference>& in, const Attributes& a) {
    const Shape& shape = in[0].shape;
    const std::int64_t r = a.integer(ShuffleAttributes::factor);
    const int lead = shape.size() - 3;
    const Shape to = with(shape, {shape[lead] / (r * r), shape[lead + 1] * r, shape[lead + 2] * r});
    return {make_reference(to, [&](Dims index) {
      const std::int64_t y = index[lead + 1];
      const std::int64_t x = index[lead + 2];
      index[lead] = (index[lead] * r + y % r) * r + x % r;
      index[lead + 1] = y / r;
      index[lead + 2] = x / r;
      return ops::at(in[0], index);
    })};
  }
  static std::vector<Sample> samples() {
    const auto sample = [](const Shape& shape, std::int64_t r) {
      return Sample{.inputs = {{.shape = shape}}, .attributes = Attributes(r)};
    };
    return {sample({2, 8, 2, 3}, 2), sample({9, 1, 2}, 3), sample({1, 2, 2, 2}, 1),
            sample({0, 4, 2, 3}, 2)};
  }
};

struct PixelUnshuffle : Shuffle {
  static constexpr auto name = "pixel_unshuffle";
  static constexpr auto signature = "pixel_unshuffle(x, factor)";
  static constexpr auto doc = "the reverse of pixel_shuffle";

  static std::vector<Tensor> expand(std::span<const Operand> operands, const Attributes& a) {
    const Expansion at(operands);
    const Shape shape = body_of(operands[0], name).shape;
    const std::int64_t r = factor(a, shape, name);
    const int lead = shape.size() - 3;
    require_multiple(shape[lead + 1], r, name, shape);
    require_multiple(shape[lead + 2], r, name, shape);
    const std::int64_t height = shape[lead + 1] / r;
    const std::int64_t width = shape[lead + 2] / r;
    const Tensor apart = reshape(at[0], with(shape, {shape[lead], height, r, width, r}));
    Tensor sorted = clone(at(permute(at(apart), order(lead, {0, 2, 4, 1, 3}))));
    return {reshape(at(std::move(sorted)), with(shape, {shape[lead] * r * r, height, width}))};
  }
  static std::vector<Reference> reference(const std::vector<Reference>& in, const Attributes& a) {
    const Shape& shape = in[0].shape;
    const std::int64_t r = a.integer(ShuffleAttributes::factor);
    const int lead = shape.size() - 3;
    const Shape to = with(shape, {shape[lead] * r * r, shape[lead + 1] / r, shape[lead + 2] / r});
    return {make_reference(to, [&](Dims index) {
      const std::int64_t place = index[lead] % (r * r);
      index[lead] /= r * r;
      index[lead + 1] = index[lead + 1] * r + place / r;
      index[lead + 2] = index[lead + 2] * r + place % r;
      return ops::at(in[0], index);
    })};
  }
  static std::vector<Sample> samples() {
    const auto sample = [](const Shape& shape, std::int64_t r) {
      return Sample{.inputs = {{.shape = shape}}, .attributes = Attributes(r)};
    };
    return {sample({2, 2, 4, 6}, 2), sample({1, 3, 6}, 3), sample({0, 1, 2, 4}, 2)};
  }
};

}  // namespace

std::vector<const OpRecord*> shape_composites() {
  return {&record<Diag>(), &record<Diff>(), &record<PixelShuffle>(), &record<PixelUnshuffle>()};
}

}  // namespace tenure::ops

namespace tenure {

using ops::Attributes;
using ops::call;
using ops::record;

Tensor diag(const Operand& x, std::int64_t k) {
  return call(record<ops::Diag>(), x, Attributes(k));
}
Tensor diff(const Operand& x, std::int64_t n, int axis) {
  return call(record<ops::Diff>(), x, Attributes(n, std::int64_t{axis}));
}
Tensor pixel_shuffle(const Operand& x, std::int64_t factor) {
  return call(record<ops::PixelShuffle>(), x, Attributes(factor));
}
Tensor pixel_unshuffle(const Operand& x, std::int64_t factor) {
  return call(record<ops::PixelUnshuffle>(), x, Attributes(factor));
}

}  // namespace tenure
