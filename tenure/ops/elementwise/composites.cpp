#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "tenure/ops/core/composite.h"
#include "tenure/ops/core/compute_type.h"
#include "tenure/ops/core/reference.h"
#include "tenure/ops/creation.h"
#include "tenure/ops/elementwise.h"
#include "tenure/ops/index/operands.h"
#include "tenure/ops/reduce_ops.h"
#include "tenure/ops/shape_ops.h"

namespace tenure::ops {
namespace {

using Elements = std::vector<long double>;

struct Trigamma : CompositeOp {
  static constexpr auto family = "special functions";
  static constexpr auto name = "trigamma";
  static constexpr auto signature = "trigamma(x)";
  static constexpr auto doc = "the derivative of digamma";
  static constexpr auto types = kFloatTypes;
  static constexpr double ulp = 16;
  static constexpr int kSteps = 10;

  static std::vector<Tensor> expand(std::span<const Operand> operands, const Attributes&) {
    const Expansion at(operands);
    const TensorBody& body = body_of(operands[0], name);
    const DType dtype = body.dtype;
    const DType wide = widened_type(dtype);
    const Tensor x = cast(at(reshape(at[0], {count(body.shape), 1})), wide);
    // The recurrence leads to where the asymptotic series is exact; below 1/2 the reflection does.
    const Tensor is_low = less(at(x), 0.5);
    const Tensor start = where(at(is_low), at(sub(at(1.0), at(x))), at(x));
    const Tensor steps = add(at(start), at(arange(kSteps, wide, at.site())));
    Tensor total = sum(at(reciprocal(at(square(at(steps))))), 1, true);
    total = add(at(std::move(total)), at(far(at, add(at(start), kSteps))));
    constexpr double kPi = 3.14159265358979323846;
    Tensor reflected = square(at(div(at(kPi), at(sin(at(mul(at(x), kPi)))))));
    reflected = sub(at(std::move(reflected)), at(total));
    Tensor y = where(at(is_low), at(reflected), at(total));
    if (wide != dtype) y = cast(at(std::move(y)), dtype);
    return {reshape(at(std::move(y)), body.shape)};
  }
  /// From kSteps on: 1/x + 1/(2 x^2) + the sum of B(2k) / x^(2k + 1).
  static Tensor far(const Expansion& at, const Tensor& x) {
    constexpr double kBernoulli[] = {1.0 / 6,  -1.0 / 30,     1.0 / 42, -1.0 / 30,
                                     5.0 / 66, -691.0 / 2730, 7.0 / 6,  -3617.0 / 510};
    const Tensor inverse = reciprocal(at(x));
    const Tensor s = square(at(inverse));
    Tensor series = mul(at(s), kBernoulli[7]);
    for (int k = 6; k >= 0; --k) {
      series = mul(at(add(at(std::move(series)), kBernoulli[k])), at(s));
    }
    series = add(at(std::move(series)), at(mul(at(inverse), 0.5)));
    return mul(at(add(at(std::move(series)), 1.0)), at(inverse));
  }
  static long double value(long double x) {
    constexpr long double kPi = 3.14159265358979323846264338327950288L;
    if (x < 0.5L) {
      const long double s = kPi / std::sin(kPi * x);
      return s * s - value(1 - x);
    }
    long double sum = 0;
    for (; x < 200; x += 1) sum += 1 / (x * x);
    const long double s = 1 / (x * x);
    return sum + 1 / x + s / 2 + s / x * (1.0L / 6 - s * (1.0L / 30 - s * (1.0L / 42 - s / 30)));
  }
  static std::vector<Reference> reference(const std::vector<Reference>& in, const Attributes&) {
    return {broadcast_reference(name, in, [](const Elements& e) { return value(e[0]); })};
  }
  static std::vector<Sample> samples() {
    return {{.inputs = {{.shape = {3, 5}, .low = 0.6, .high = 9}}},
            {.inputs = {{.shape = {7}, .low = -0.4, .high = -0.2}}},
            {.inputs = {{.shape = {}, .low = 0.2, .high = 0.4}}},
            {.inputs = {{.shape = {0, 2}}}}};
  }
};

struct Lerp : CompositeOp {
  static constexpr auto family = "arithmetic";
  static constexpr auto name = "lerp";
  static constexpr auto signature = "lerp(a, b, weight)";
  static constexpr auto doc = "a + weight (b - a): a for a weight of 0, b for 1";
  static constexpr auto types = kFloatTypes;
  static constexpr double ulp_of_largest = 4;

  static std::vector<Tensor> expand(std::span<const Operand> operands, const Attributes&) {
    const Expansion at(operands);
    const Tensor distance = sub(at[1], at[0]);
    // Each half from its own end, so that both ends are exact.
    if (at[2].is_scalar()) {
      const double weight = at[2].scalar().floating;
      if (weight < 0.5) return {add(at(mul(at(distance), weight)), at[0])};
      return {sub(at[1], at(mul(at(distance), 1 - weight)))};
    }
    Tensor from_a = add(at(mul(at(distance), at[2])), at[0]);
    Tensor left = mul(at(distance), at(sub(at(1.0), at[2])));
    Tensor from_b = sub(at[1], at(std::move(left)));
    const Tensor is_first = less(at[2], 0.5);
    return {where(at(is_first), at(std::move(from_a)), at(std::move(from_b)))};
  }
  static std::vector<Reference> reference(const std::vector<Reference>& in, const Attributes&) {
    return {broadcast_reference(name, in,
                                [](const Elements& e) { return e[0] + e[2] * (e[1] - e[0]); })};
  }
  static std::vector<Sample> samples() {
    const auto sample = [](const Shape& a, const Shape& b, const Shape& weight) {
      return Sample{.inputs = {{.shape = a}, {.shape = b}, {.shape = weight, .low = 0, .high = 1}}};
    };
    return {sample({3, 5}, {3, 5}, {3, 5}), sample({3, 1}, {5}, {}), sample({}, {}, {}),
            sample({0, 2}, {2}, {})};
  }
};

struct MaskedFill : CompositeOp {
  static constexpr auto family = "selection";
  static constexpr auto name = "masked_fill";
  static constexpr auto signature = "masked_fill(x, mask, value)";
  static constexpr auto doc = "x with a value where the mask holds";
  static constexpr auto types = kAllTypes;
  static constexpr double ulp = 0;

  static std::vector<Tensor> expand(std::span<const Operand> operands, const Attributes&) {
    const Expansion at(operands);
    const TensorBody& x = body_of(operands[0], name);
    const TensorBody& mask = body_of(operands[1], name);
    if (broadcast(x.shape, mask.shape, name) != x.shape) {
      throw ShapeError(name,
                       fmt::format("a mask of shape {} does not broadcast to {}",
                                   to_string(mask.shape), to_string(x.shape)),
                       {x.shape.to_vector(), mask.shape.to_vector()});
    }
    const Tensor value = converted(operands[2], x, name);
    if (value.rank() != 0)
      throw ShapeError(name, "the value has axes", {value.shape().to_vector()});
    return {where(at[1], at(value), at[0])};
  }
  static std::vector<Reference> reference(const std::vector<Reference>& in, const Attributes&) {
    return {
        broadcast_reference(name, in, [](const Elements& e) { return e[1] != 0 ? e[2] : e[0]; })};
  }
  static std::vector<Sample> samples() {
    const auto sample = [](const Shape& x, const Shape& mask) {
      return Sample{
          .inputs = {{.shape = x}, {.shape = mask, .dtype = DType::boolean}, {.shape = {}}}};
    };
    return {sample({3, 5}, {3, 5}), sample({3, 5}, {5}), sample({}, {}), sample({0, 2}, {2})};
  }
};

/// The places of the attributes of nan_to_num.
struct NanToNumAttributes {
  enum : int { nan, posinf, neginf };
};

struct NanToNum : CompositeOp {
  static constexpr auto family = "selection";
  static constexpr auto name = "nan_to_num";
  static constexpr auto signature = "nan_to_num(x, nan = 0, posinf = largest, neginf = lowest)";
  static constexpr auto doc = "x with numbers in place of NaN and of the infinities";
  static constexpr auto types = kAllTypes;
  static constexpr double ulp = 0;

  /// The largest number of a floating type.
  static double largest(DType dtype) {
    const FloatFormat format = element_type(dtype).format;
    return std::ldexp(2 - std::ldexp(1.0, -format.fraction_bits), format.highest());
  }
  static std::vector<Tensor> expand(std::span<const Operand> operands, const Attributes& a) {
    const Expansion at(operands);
    const DType dtype = body_of(operands[0], name).dtype;
    if (!is_floating(dtype)) return {clone(at[0])};
    const double end = largest(dtype);
    Tensor y = where(at(isnan(at[0])), a.number(NanToNumAttributes::nan), at[0]);
    const Tensor infinite = isinf(at[0]);
    const double high = optional_number(a, NanToNumAttributes::posinf).value_or(end);
    const double low = optional_number(a, NanToNumAttributes::neginf).value_or(-end);
    const Tensor other = full({}, low, dtype, at.site());
    const Tensor ends = where(at(greater(at[0], 0)), high, at(other));
    return {where(at(infinite), at(ends), at(std::move(y)))};
  }
  static std::vector<Reference> reference(const std::vector<Reference>& in, const Attributes& a) {
    return {broadcast_reference(name, in, [&](const Elements& e) -> long double {
      if (std::isnan(e[0])) return a.number(NanToNumAttributes::nan);
      if (!std::isinf(e[0])) return e[0];
      return a.number(e[0] > 0 ? NanToNumAttributes::posinf : NanToNumAttributes::neginf);
    })};
  }
  static std::vector<Sample> samples() {
    const double inf = INFINITY;
    const Attribute none;
    return {{.inputs = {{.shape = {2, 3}}}, .attributes = Attributes(0.0, none, none)},
            {.inputs = {{.shape = {5}, .dtype = DType::float64, .values = {1, NAN, inf, -inf, 0}}},
             .attributes = Attributes(0.5, 7.0, -8.0)},
            {.inputs = {{.shape = {2}, .dtype = DType::float16, .values = {NAN, -inf}}},
             .attributes = Attributes(0.5, 7.0, -8.0)},
            {.inputs = {{.shape = {}}}, .attributes = Attributes(0.0, 1.0, 2.0)},
            {.inputs = {{.shape = {0}}}, .attributes = Attributes(0.0, 1.0, 2.0)}};
  }
};

/// The places of the attributes of isclose and allclose.
struct CloseAttributes {
  enum : int { rtol, atol, equal_nan };
};

struct IsClose : CompositeOp {
  static constexpr auto family = "comparison";
  static constexpr auto name = "isclose";
  static constexpr auto signature = "isclose(a, b, rtol = 1e-5, atol = 1e-8, equal_nan = false)";
  static constexpr auto doc = "|a - b| <= atol + rtol |b|, or a and b are equal";
  static constexpr auto types = kAllTypes;

  /// Integers and bool as float64, in which their distances do not wrap.
  static Tensor widened(const Expansion& at, const Operand& x) {
    const bool is_float = !x.is_scalar() && is_floating(x.tensor().dtype());
    if (is_float) return x.tensor();
    if (x.is_scalar()) return full({}, x.scalar(), DType::float64, at.site());
    return cast(x, DType::float64);
  }
  /// A number takes the type of the tensor that it meets.
  static std::vector<Tensor> both(const Expansion& at) {
    std::vector<Tensor> both;
    for (const std::size_t i : {std::size_t{0}, std::size_t{1}}) both.push_back(widened(at, at[i]));
    for (const std::size_t i : {std::size_t{0}, std::size_t{1}}) {
      if (at[i].is_scalar()) both[i] = cast(at(std::move(both[i])), both[1 - i].dtype());
    }
    return both;
  }
  static std::vector<Tensor> expand(std::span<const Operand> operands, const Attributes& a) {
    const Expansion at(operands);
    const std::vector<Tensor> x = both(at);
    const Tensor off = abs(at(sub(at(x[0]), at(x[1]))));
    Tensor allowed = mul(at(abs(at(x[1]))), a.number(CloseAttributes::rtol));
    allowed = add(at(std::move(allowed)), a.number(CloseAttributes::atol));
    // Of an infinity everything finite would be infinitely far, and so allowed.
    Tensor near = less_equal(at(off), at(std::move(allowed)));
    near = logical_and(at(std::move(near)), at(isfinite(at(x[1]))));
    near = logical_or(at(std::move(near)), at(equal(at(x[0]), at(x[1]))));
    if (a.flag(CloseAttributes::equal_nan)) {
      near = logical_or(at(std::move(near)),
                        at(logical_and(at(isnan(at(x[0]))), at(isnan(at(x[1]))))));
    }
    return {std::move(near)};
  }
  static bool holds(const Elements& e, const Attributes& a) {
    if (e[0] == e[1]) return true;
    if (std::isnan(e[0]) && std::isnan(e[1])) return a.flag(CloseAttributes::equal_nan);
    return std::isfinite(e[1]) &&
           std::abs(e[0] - e[1]) <=
               static_cast<long double>(a.number(CloseAttributes::atol)) +
                   static_cast<long double>(a.number(CloseAttributes::rtol)) * std::abs(e[1]);
  }
  static std::vector<Reference> reference(const std::vector<Reference>& in, const Attributes& a) {
    return {broadcast_reference(name, in, [&](const Elements& e) { return holds(e, a); })};
  }
  static std::vector<Sample> samples() {
    const double inf = INFINITY;
    const Sample::Input a{
        .shape = {6}, .dtype = DType::float32, .values = {1, inf, inf, NAN, 2, 0}};
    const Sample::Input b{
        .shape = {6}, .dtype = DType::float32, .values = {1.25, inf, 1, NAN, inf, 0.25}};
    return {
        {.inputs = {a, b}, .attributes = Attributes(0.25, 0.0, false)},
        {.inputs = {a, b}, .attributes = Attributes(0.0, 0.5, true)},
        {.inputs = {{.shape = {3, 1}}, {.shape = {4}}}, .attributes = Attributes(0.1, 0.6, true)},
        {.inputs = {{.shape = {}}, {.shape = {}}}, .attributes = Attributes(1e-5, 1e-8, false)},
        {.inputs = {{.shape = {0, 2}}, {.shape = {2}}},
         .attributes = Attributes(1e-5, 1e-8, false)}};
  }
};

Reference truth(bool value) { return {.shape = {}, .values = {value ? 1.0L : 0.0L}}; }

struct AllClose : IsClose {
  static constexpr auto name = "allclose";
  static constexpr auto signature = "allclose(a, b, rtol = 1e-5, atol = 1e-8, equal_nan = false)";
  static constexpr auto doc =
      "whether |a - b| <= atol + rtol |b|, or a and b are equal, everywhere";

  static std::vector<Tensor> expand(std::span<const Operand> operands, const Attributes& a) {
    return {all(Expansion(operands)(std::move(IsClose::expand(operands, a).front())))};
  }
  static std::vector<Reference> reference(const std::vector<Reference>& in, const Attributes& a) {
    const Reference each = IsClose::reference(in, a).front();
    return {truth(std::count(each.values.begin(), each.values.end(), 0) == 0)};
  }
};

struct ArrayEqual : CompositeOp {
  static constexpr auto family = "comparison";
  static constexpr auto name = "array_equal";
  static constexpr auto signature = "array_equal(a, b)";
  static constexpr auto doc = "whether a and b have the same shape and equal elements";
  static constexpr auto types = kAllTypes;

  static std::vector<Tensor> expand(std::span<const Operand> operands, const Attributes&) {
    const Expansion at(operands);
    const auto shape = [](const Operand& x) {
      return x.is_scalar() ? Shape{} : Shape(x.tensor().shape());
    };
    if (shape(operands[0]) != shape(operands[1])) {
      return {full({}, false, DType::boolean, at.site())};
    }
    return {all(at(equal(at[0], at[1])))};
  }
  static std::vector<Reference> reference(const std::vector<Reference>& in, const Attributes&) {
    return {truth(in[0].shape == in[1].shape && in[0].values == in[1].values)};
  }
  static std::vector<Sample> samples() {
    return {{.inputs = {{.shape = {2, 2}, .values = {1, 0, 1, 1}},
                        {.shape = {2, 2}, .values = {1, 0, 1, 1}}}},
            {.inputs = {{.shape = {2, 3}}, {.shape = {2, 3}}}},
            {.inputs = {{.shape = {2, 1}}, {.shape = {2}}}},
            {.inputs = {{.shape = {}}, {.shape = {}}}},
            {.inputs = {{.shape = {0, 2}}, {.shape = {0, 2}}}}};
  }
};

}  // namespace

std::vector<const OpRecord*> elementwise_composites() {
  return {&record<Trigamma>(), &record<Lerp>(),     &record<MaskedFill>(), &record<NanToNum>(),
          &record<IsClose>(),  &record<AllClose>(), &record<ArrayEqual>()};
}

}  // namespace tenure::ops

namespace tenure {

using ops::Attributes;
using ops::call;
using ops::record;

Tensor trigamma(const Operand& x) { return call(record<ops::Trigamma>(), x); }
Tensor lerp(const Operand& a, const Operand& b, const Operand& weight) {
  return call(record<ops::Lerp>(), {a, b, weight});
}
Tensor masked_fill(const Operand& x, const Operand& mask, const Operand& value) {
  return call(record<ops::MaskedFill>(), {x, mask, value});
}
Tensor nan_to_num(const Operand& x, double nan, std::optional<double> posinf,
                  std::optional<double> neginf) {
  return call(record<ops::NanToNum>(), x,
              Attributes(nan, ops::to_attribute(posinf), ops::to_attribute(neginf)));
}
Tensor isclose(const Operand& a, const Operand& b, double rtol, double atol, bool equal_nan) {
  return call(record<ops::IsClose>(), {a, b}, Attributes(rtol, atol, equal_nan));
}
Tensor allclose(const Operand& a, const Operand& b, double rtol, double atol, bool equal_nan) {
  return call(record<ops::AllClose>(), {a, b}, Attributes(rtol, atol, equal_nan));
}
Tensor array_equal(const Operand& a, const Operand& b) {
  return call(record<ops::ArrayEqual>(), {a, b});
}

}  // namespace tenure
