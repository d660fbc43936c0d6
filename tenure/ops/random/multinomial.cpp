#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "tenure/memory/default_device.h"
#include "tenure/ops/core/composite.h"
#include "tenure/ops/core/named.h"
#include "tenure/ops/core/reference.h"
#include "tenure/ops/elementwise.h"
#include "tenure/ops/index/operands.h"
#include "tenure/ops/index/within.h"
#include "tenure/ops/random/attributes.h"
#include "tenure/ops/random_ops.h"
#include "tenure/ops/reduce_ops.h"
#include "tenure/ops/shape_ops.h"
#include "tenure/ops/sort_ops.h"

namespace tenure::ops {
namespace {

/// What it draws with is an operand, so that a call can be repeated from its record.
struct Multinomial : CompositeOp {
  static constexpr auto family = "random";
  static constexpr auto name = "multinomial";
  static constexpr auto signature = "multinomial(weights, uniform, n, replacement = false)";
  static constexpr auto doc = "n places along the last axis, drawn in proportion to their weights";
  static constexpr auto types = kFloatTypes;
  static constexpr double ulp = 0;

  /// The shape of the numbers, in [0, 1), that a call draws with.
  static Shape drawn(const Shape& weights, DType dtype, std::int64_t n, bool replacement) {
    if (!is_floating(dtype)) {
      throw DTypeError(name, fmt::format("weights are floats, not {}; use cast()", name_of(dtype)));
    }
    if (weights.empty()) throw ShapeError(name, "weights have an axis", {{}});
    const int last = weights.size() - 1;
    const std::int64_t places = weights[last];
    if (n < 0 || (n > 0 && places == 0) || (!replacement && n > places)) {
      throw ValueError(fmt::format("{}: {} of {} places{}", name, n, places,
                                   replacement ? "" : "; with replacement there may be more"));
    }
    Shape shape = weights;
    if (replacement) shape[last] = n;
    return shape;
  }
  static std::vector<Tensor> expand(std::span<const Operand> operands, const Attributes& a) {
    const Expansion at(operands);
    const TensorBody& weights = body_of(operands[0], name);
    const TensorBody& uniform = body_of(operands[1], name);
    const std::int64_t n = a.integer(MultinomialAttributes::count);
    const bool replacement = a.flag(MultinomialAttributes::replacement);
    const Shape expected = drawn(weights.shape, weights.dtype, n, replacement);
    if (uniform.dtype != DType::float64 || uniform.shape != expected) {
      throw ShapeError(name,
                       fmt::format("draws with float64{}, not {}{}", to_string(expected),
                                   name_of(uniform.dtype), to_string(uniform.shape)),
                       {weights.shape.to_vector(), uniform.shape.to_vector()});
    }
    const int last = expected.size() - 1;
    const std::int64_t places = weights.shape[last];
    // In float64 no number below 1 times the sum comes to the sum.
    Tensor wide = within(at(cast(at[0], DType::float64)), 0, std::numeric_limits<double>::max(),
                         {.op = name, .subject = "weight "});
    if (n > 0) {
      // As many as are drawn must be above 0; with replacement, one. The factor is 1 then.
      const Tensor above = count_nonzero(at(wide), {last}, true);
      const Tensor enough =
          within(at(above), replacement ? 1 : static_cast<double>(n), static_cast<double>(places),
                 {.op = name, .subject = "the number of weights above 0 in a row, "});
      const Tensor one = cast(at(minimum(at(enough), 1)), DType::float64);
      wide = mul(at(std::move(wide)), at(one));
    }
    if (!replacement) {
      // The first n of exponential waiting times, at rates that are the weights.
      Tensor wait = neg(at(log1p(at(neg(at[1])))));
      wait = maximum(at(std::move(wait)), 1e-300);
      return {topk(at(div(at(wide), at(std::move(wait)))), n, last).indices};
    }
    const Tensor sums = cumsum(at(wide), last);
    const Tensor total = slice(at(sums), last, std::max<std::int64_t>(places - 1, 0));
    Tensor reached = n > 0 ? mul(at[1], at(total)) : clone(at[1]);
    Tensor result = searchsorted(at(sums), at(std::move(reached)), true);
    // A sum that is so large that it is infinite has no place for some numbers.
    return {minimum(at(std::move(result)), std::max<std::int64_t>(places - 1, 0))};
  }
  static std::vector<Reference> reference(const std::vector<Reference>& in, const Attributes& a) {
    const auto n = static_cast<std::size_t>(a.integer(MultinomialAttributes::count));
    const auto places = static_cast<std::size_t>(in[0].shape.back());
    const bool replacement = a.flag(MultinomialAttributes::replacement);
    Reference result{.shape = in[0].shape};
    result.shape[result.shape.size() - 1] = static_cast<std::int64_t>(n);
    const std::size_t rows = places == 0 ? 0 : in[0].values.size() / places;
    for (std::size_t row = 0; row < rows; ++row) {
      const long double* const weights = in[0].values.data() + row * places;
      const long double* const uniform = in[1].values.data() + row * (replacement ? n : places);
      if (replacement) {
        for (std::size_t i = 0; i < n; ++i) {
          const long double reached = uniform[i] * std::accumulate(weights, weights + places, 0.0L);
          std::size_t place = 0;
          for (long double sum = weights[0]; sum <= reached && place + 1 < places;) {
            sum += weights[++place];
          }
          result.values.push_back(static_cast<long double>(place));
        }
        continue;
      }
      std::vector<std::size_t> order(places);
      std::iota(order.begin(), order.end(), std::size_t{0});
      std::stable_sort(order.begin(), order.end(), [&](std::size_t x, std::size_t y) {
        return weights[x] / -std::log1p(-uniform[x]) > weights[y] / -std::log1p(-uniform[y]);
      });
      result.values.insert(result.values.end(), order.begin(),
                           order.begin() + static_cast<std::ptrdiff_t>(n));
    }
    return {result};
  }
  static std::vector<Sample> samples() {
    const auto sample = [](const Shape& weights, std::int64_t n, bool replacement) {
      Shape uniform = weights;
      if (replacement) uniform[uniform.size() - 1] = n;
      return Sample{.inputs = {{.shape = weights, .low = 0.1, .high = 4},
                               {.shape = uniform, .low = 0, .high = 1, .dtype = DType::float64}},
                    .attributes = Attributes(n, replacement)};
    };
    return {sample({5}, 9, true),  sample({3, 4}, 2, false), sample({2, 3, 4}, 5, true),
            sample({4}, 0, false), sample({0, 3}, 2, true),  sample({2, 0}, 0, false)};
  }
};

}  // namespace

std::vector<const OpRecord*> multinomial_ops() { return {&record<Multinomial>()}; }

}  // namespace tenure::ops

namespace tenure {

Tensor multinomial(const Operand& weights, std::int64_t n, bool replacement, Generator* generator) {
  const auto& op = ops::record<ops::Multinomial>();
  const Site site = weights.site();
  return ops::in_call(op.name, site, [&] {
    if (weights.is_scalar()) throw ShapeError(op.name, "a number is no list of weights");
    const TensorBody& body = weights.tensor().body(op.name, site);
    const Shape shape = ops::Multinomial::drawn(body.shape, body.dtype, n, replacement);
    const DeviceScope device(body.device());
    Tensor drawn = ops::in_name_of(
        op.name, site, [&] { return uniform(shape, 0, 1, DType::float64, generator, site); });
    return ops::call(op, {weights, Operand(std::move(drawn), site)},
                     ops::Attributes(n, replacement));
  });
}

}  // namespace tenure
