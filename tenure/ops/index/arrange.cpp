#include "tenure/ops/index/arrange.h"

#include <fmt/format.h>

#include <algorithm>

#include "tenure/ops/core/define.h"
#include "tenure/ops/core/reference.h"
#include "tenure/ops/core/types.h"
#include "tenure/ops/index/attributes.h"
#include "tenure/ops/index/gradients.h"
#include "tenure/ops/index/operands.h"
#include "tenure/ops/index_ops.h"

namespace tenure::ops {
namespace {

struct ArrangeOp {
  static constexpr auto family = "arrangement";
  static constexpr auto memory = allocates();
  static constexpr auto types = kAllTypes;
};

/// Throws ShapeError if a dimension of a result overflows.
std::int64_t times(std::int64_t a, std::int64_t b, const char* op) {
  std::int64_t product = 0;
  if (__builtin_mul_overflow(a, b, &product)) throw ShapeError(op, "a dimension overflows");
  return product;
}
std::int64_t plus(std::int64_t a, std::int64_t b, const char* op) {
  std::int64_t sum = 0;
  if (__builtin_add_overflow(a, b, &sum)) throw ShapeError(op, "a dimension overflows");
  return sum;
}

/// i modulo n, never negative.
std::int64_t wrapped(std::int64_t i, std::int64_t n) { return (i % n + n) % n; }

struct Pad : ArrangeOp {
  static constexpr bool may_fail = true;
  static constexpr auto name = "pad";
  static constexpr GradientRule gradient = reads_nothing(gradients::pad);
  static constexpr auto signature = "pad(x, widths, mode = constant, value = 0)";
  static constexpr auto doc =
      "with new elements before and after each axis: constant, edge, reflect, symmetric or wrap";
  static Shape padded(const Shape& x, const Attributes& a) {
    const Dims& before = a.dims(PadAttributes::before);
    const Dims& after = a.dims(PadAttributes::after);
    if (before.size() != x.size()) {
      throw ShapeError(name,
                       fmt::format("{} pairs of widths for shape {}", before.size(), to_string(x)),
                       {x.to_vector()});
    }
    Shape shape = x;
    for (int i = 0; i < x.size(); ++i) {
      shape[i] = plus(plus(x[i], before[i], name), after[i], name);
      // Cuts may not overlap, nor reach into the other end's new elements.
      if (shape[i] < 0 || x[i] + std::min<std::int64_t>(before[i], 0) < 0 ||
          x[i] + std::min<std::int64_t>(after[i], 0) < 0) {
        throw ShapeError(name,
                         fmt::format("widths {} and {} cut off more than axis {} of shape {} has",
                                     before[i], after[i], i, to_string(x)),
                         {x.to_vector()});
      }
    }
    const auto empty = std::find(x.begin(), x.end(), 0);
    const bool repeats = static_cast<PadMode>(a.integer(PadAttributes::mode)) != PadMode::constant;
    if (repeats && empty != x.end() && count(shape) != 0) {
      throw ValueError(fmt::format(
          "pad: axis {} is empty, so it can only be extended by a constant", empty - x.begin()));
    }
    return shape;
  }
  static Specs infer(const Kernel& k) {
    const DType dtype = k.in[0].dtype;
    const Scalar value = to_scalar(k.attributes[PadAttributes::value]);
    check_kind(value, dtype, name);
    alignas(8) std::byte element[8];
    store_scalar(value, dtype, element, name);  // throws if the type does not hold it
    return {{dtype, padded(k.in[0].shape, k.attributes)}};
  }
  /// The element of x that stands at i, counted from the beginning of x; -1 if none does.
  static std::int64_t source(std::int64_t i, std::int64_t n, PadMode mode) {
    if (i >= 0 && i < n) return i;
    switch (mode) {
      case PadMode::constant:
        return -1;
      case PadMode::edge:
        return i < 0 ? 0 : n - 1;
      case PadMode::wrap:
        return wrapped(i, n);
      case PadMode::symmetric:
        i = wrapped(i, 2 * n);
        return i < n ? i : 2 * n - 1 - i;
      case PadMode::reflect:
        break;
    }
    if (n == 1) return 0;
    i = wrapped(i, 2 * n - 2);
    return i < n ? i : 2 * n - 2 - i;
  }
  static std::vector<Reference> reference(const std::vector<Reference>& in, const Attributes& a) {
    return {make_reference(padded(in[0].shape, a), [&](Dims place) -> long double {
      for (int i = 0; i < place.size(); ++i) {
        place[i] = source(place[i] - a.dims(PadAttributes::before)[i], in[0].shape[i],
                          static_cast<PadMode>(a.integer(PadAttributes::mode)));
        if (place[i] < 0) return to_scalar(a[PadAttributes::value]).floating;
      }
      return at(in[0], place);
    })};
  }
  static std::vector<Sample> samples() {
    const auto sample = [](const Shape& shape, const Dims& before, const Dims& after, PadMode mode,
                           const Attribute& value) {
      return Sample{
          .inputs = {{.shape = shape}},
          .attributes = Attributes(before, after, static_cast<std::int64_t>(mode), value)};
    };
    const Attribute zero = std::int64_t{0};
    return {sample({3, 40}, {1, 2}, {0, 3}, PadMode::constant, true),
            sample({3, 4}, {2, -1}, {-1, 3}, PadMode::constant, zero),
            sample({3, 4}, {2, 5}, {4, 1}, PadMode::edge, zero),
            sample({3, 4}, {2, 7}, {4, 1}, PadMode::reflect, zero),
            sample({3, 4}, {2, 9}, {4, 1}, PadMode::symmetric, zero),
            sample({3, 4}, {2, 5}, {4, 1}, PadMode::wrap, zero),
            sample({}, {}, {}, PadMode::constant, zero),
            sample({0, 2}, {1, 0}, {1, 1}, PadMode::constant, true)};
  }
};

struct Tile : ArrangeOp {
  static constexpr auto name = "tile";
  static constexpr GradientRule gradient = reads_nothing(gradients::tile);
  static constexpr auto signature = "tile(x, times)";
  static constexpr auto doc = "the whole of x several times along each axis";
  static Specs infer(const Kernel& k) {
    const Dims& given = k.attributes.dims(TileAttributes::times);
    const int rank = std::max(k.in[0].shape.size(), given.size());
    Shape shape = with_leading_ones(k.in[0].shape, rank);
    const Dims repeats = with_leading_ones(given, rank);
    for (int i = 0; i < rank; ++i) {
      if (repeats[i] < 0)
        throw ValueError(fmt::format("tile: {} is no number of times", repeats[i]));
      shape[i] = times(shape[i], repeats[i], name);
    }
    return {{k.in[0].dtype, shape}};
  }
  static std::vector<Reference> reference(const std::vector<Reference>& in, const Attributes& a) {
    const int rank = std::max(in[0].shape.size(), a.dims(TileAttributes::times).size());
    const Reference x{.shape = with_leading_ones(in[0].shape, rank), .values = in[0].values};
    const Dims repeats = with_leading_ones(a.dims(TileAttributes::times), rank);
    Shape shape = x.shape;
    for (int i = 0; i < rank; ++i) shape[i] *= repeats[i];
    return {make_reference(shape, [&](Dims place) {
      for (int i = 0; i < rank; ++i) place[i] %= x.shape[i];
      return at(x, place);
    })};
  }
  static std::vector<Sample> samples() {
    const auto sample = [](const Shape& shape, const Dims& times) {
      return Sample{.inputs = {{.shape = shape}}, .attributes = Attributes(times)};
    };
    return {sample({3, 20}, {2, 3}), sample({3}, {2, 1, 2}), sample({2, 3, 2}, {2}),
            sample({}, {5}), sample({4}, {0})};
  }
};

struct Repeat : ArrangeOp {
  static constexpr auto name = "repeat";
  static constexpr GradientRule gradient = reads_nothing(gradients::repeat);
  static constexpr auto signature = "repeat(x, times, axis)";
  static constexpr auto doc = "every element several times in a row along an axis";
  static Specs infer(const Kernel& k) {
    const int axis =
        normalize_axis(k.attributes.integer(RepeatAttributes::axis), k.in[0].shape.size(), name);
    const std::int64_t n = k.attributes.integer(RepeatAttributes::times);
    if (n < 0) throw ValueError(fmt::format("repeat: {} is no number of times", n));
    Shape shape = k.in[0].shape;
    shape[axis] = times(shape[axis], n, name);
    return {{k.in[0].dtype, shape}};
  }
  static std::vector<Reference> reference(const std::vector<Reference>& in, const Attributes& a) {
    const int axis = normalize_axis(a.integer(RepeatAttributes::axis), in[0].shape.size(), name);
    Shape shape = in[0].shape;
    shape[axis] *= a.integer(RepeatAttributes::times);
    return {make_reference(shape, [&](Dims place) {
      place[axis] /= a.integer(RepeatAttributes::times);
      return at(in[0], place);
    })};
  }
  static std::vector<Sample> samples() {
    const auto sample = [](const Shape& shape, std::int64_t times, std::int64_t axis) {
      return Sample{.inputs = {{.shape = shape}}, .attributes = Attributes(times, axis)};
    };
    return {sample({2, 30}, 3, 1), sample({2, 30}, 2, -2), sample({3}, 0, 0), sample({0}, 4, 0)};
  }
};

struct Roll : ArrangeOp {
  static constexpr auto name = "roll";
  static constexpr GradientRule gradient = reads_nothing(gradients::roll);
  static constexpr auto signature = "roll(x, shifts, axes)";
  static constexpr auto doc = "moved along axes; what leaves at one end enters at the other";
  static Specs infer(const Kernel& k) {
    shifts_of_axes(k.in[0].shape, k.attributes);
    return {{k.in[0].dtype, k.in[0].shape}};
  }
  static std::vector<Reference> reference(const std::vector<Reference>& in, const Attributes& a) {
    return {make_reference(in[0].shape, [&](Dims place) {
      for (int i = 0; i < a.dims(RollAttributes::axes).size(); ++i) {
        const int axis = normalize_axis(a.dims(RollAttributes::axes)[i], place.size(), name);
        place[axis] = wrapped(place[axis] - a.dims(RollAttributes::shifts)[i], in[0].shape[axis]);
      }
      return at(in[0], place);
    })};
  }
  static std::vector<Sample> samples() {
    const auto sample = [](const Shape& shape, const Dims& shifts, const Axes& axes) {
      return Sample{.inputs = {{.shape = shape}}, .attributes = Attributes(shifts, axes)};
    };
    return {sample({3, 40}, {1, -7}, {0, 1}), sample({5}, {23}, {-1}), sample({5}, {2, 1}, {0, 0}),
            sample({}, {}, {}), sample({0, 3}, {1}, {0})};
  }
};

template <class Op>
struct TriangleOp : ArrangeOp {
  static constexpr auto memory = reuses(1);
  static Specs infer(const Kernel& k) {
    if (k.in[0].shape.size() < 2) {
      throw ShapeError(k.op, fmt::format("shape {} has no matrices", to_string(k.in[0].shape)),
                       {k.in[0].shape.to_vector()});
    }
    return {{k.in[0].dtype, k.in[0].shape}};
  }
  static std::vector<Reference> reference(const std::vector<Reference>& in, const Attributes& a) {
    return {make_reference(in[0].shape, [&](const Dims& place) -> long double {
      const std::int64_t diagonal = place.back() - place[place.size() - 2];
      return Op::keeps(diagonal, a.integer(TriangleAttributes::diagonal)) ? at(in[0], place) : 0;
    })};
  }
  static std::vector<Sample> samples() {
    const auto sample = [](const Shape& shape, std::int64_t k) {
      return Sample{.inputs = {{.shape = shape}}, .attributes = Attributes(k)};
    };
    return {sample({5, 40}, 0), sample({2, 4, 3}, 1), sample({4, 4}, -2), sample({3, 3}, 9),
            sample({0, 3}, 0)};
  }
};

struct Tril : TriangleOp<Tril> {
  static constexpr auto name = "tril";
  static constexpr GradientRule gradient = reads_nothing(gradients::tril);
  static constexpr auto signature = "tril(x, k = 0)";
  static constexpr auto doc = "matrices with zeros above the k-th diagonal";
  static bool keeps(std::int64_t diagonal, std::int64_t k) { return diagonal <= k; }
};

struct Triu : TriangleOp<Triu> {
  static constexpr auto name = "triu";
  static constexpr GradientRule gradient = reads_nothing(gradients::triu);
  static constexpr auto signature = "triu(x, k = 0)";
  static constexpr auto doc = "matrices with zeros below the k-th diagonal";
  static bool keeps(std::int64_t diagonal, std::int64_t k) { return diagonal >= k; }
};

}  // namespace

Dims shifts_of_axes(const Shape& x, const Attributes& a) {
  if (a.dims(RollAttributes::shifts).size() != a.dims(RollAttributes::axes).size()) {
    throw ValueError(fmt::format("roll: {} shifts for {} axes",
                                 a.dims(RollAttributes::shifts).size(),
                                 a.dims(RollAttributes::axes).size()));
  }
  Dims shifts = Dims::filled(x.size(), 0);
  for (int i = 0; i < a.dims(RollAttributes::axes).size(); ++i) {
    const int axis = normalize_axis(a.dims(RollAttributes::axes)[i], x.size(), "roll");
    if (x[axis] > 0)
      shifts[axis] = (shifts[axis] + a.dims(RollAttributes::shifts)[i] % x[axis]) % x[axis];
  }
  return shifts;
}

std::vector<const OpRecord*> arrange_ops() {
  return {&record<Pad>(),  &record<Tile>(), &record<Repeat>(),
          &record<Roll>(), &record<Tril>(), &record<Triu>()};
}

}  // namespace tenure::ops

namespace tenure {

using ops::Attributes;
using ops::call;
using ops::record;

Tensor pad(const Operand& x, const std::vector<std::pair<std::int64_t, std::int64_t>>& widths,
           PadMode mode, const Scalar& value) {
  Dims before;
  Dims after;
  for (const auto& [first, second] : widths) {
    before.push_back(first);
    after.push_back(second);
  }
  return call(record<ops::Pad>(), x,
              Attributes(before, after, static_cast<std::int64_t>(mode), ops::to_attribute(value)));
}
Tensor tile(const Operand& x, const Dims& times) {
  return call(record<ops::Tile>(), x, Attributes(times));
}
Tensor repeat(const Operand& x, std::int64_t times, int axis) {
  return call(record<ops::Repeat>(), x, Attributes(times, std::int64_t{axis}));
}
Tensor roll(const Operand& x, std::int64_t shift, int axis) {
  return roll(x, Dims{shift}, Axes{axis});
}
Tensor roll(const Operand& x, const Dims& shifts, const Axes& axes) {
  return call(record<ops::Roll>(), x, Attributes(shifts, axes));
}
Tensor tril(const Operand& x, std::int64_t k) {
  return call(record<ops::Tril>(), x, Attributes(k));
}
Tensor triu(const Operand& x, std::int64_t k) {
  return call(record<ops::Triu>(), x, Attributes(k));
}

}  // namespace tenure
