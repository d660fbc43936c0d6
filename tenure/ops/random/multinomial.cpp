#include <fmt/format.h>

#include <algorithm>

#include "tenure/memory/default_device.h"
#include "tenure/ops/core/named.h"
#include "tenure/ops/creation.h"
#include "tenure/ops/elementwise.h"
#include "tenure/ops/random_ops.h"
#include "tenure/ops/reduce_ops.h"
#include "tenure/ops/shape_ops.h"
#include "tenure/ops/sort_ops.h"

namespace tenure {

Tensor multinomial(const Operand& weights, std::int64_t n, bool replacement, Generator* generator) {
  const Site site = weights.site();
  return ops::in_name_of("multinomial", site, [&] {
    if (weights.is_scalar()) throw ShapeError("multinomial", "a number is no list of weights");
    const TensorBody& body = weights.tensor().body("multinomial", site);
    if (!is_floating(body.dtype)) {
      throw DTypeError("multinomial",
                       fmt::format("weights are floats, not {}; use cast()", name_of(body.dtype)));
    }
    if (body.shape.size() == 0) throw ShapeError("multinomial", "weights have an axis", {{}});
    const int last = body.shape.size() - 1;
    const std::int64_t places = body.shape[last];
    if (n < 0 || (n > 0 && places == 0) || (!replacement && n > places)) {
      throw ValueError(fmt::format("multinomial: {} of {} places{}", n, places,
                                   replacement ? "" : "; with replacement there may be more"));
    }
    const DeviceScope device(body.device());
    const auto at = [site](Tensor&& made) { return Operand(std::move(made), site); };
    Shape shape = body.shape;
    if (replacement) shape[last] = n;
    // In float64 no number below 1 times the sum comes to the sum.
    const Tensor wide = cast(Operand(weights.tensor(), site), DType::float64);
    Tensor drawn = uniform(shape, 0, 1, DType::float64, generator, site);
    Tensor result;
    if (replacement) {
      const Tensor sums = cumsum(Operand(wide, site), last);
      const Tensor total = slice(Operand(sums, site), last, places == 0 ? 0 : places - 1);
      if (n > 0) drawn = mul(at(std::move(drawn)), Operand(total, site));
      result = searchsorted(Operand(sums, site), at(std::move(drawn)), true);
      // Where all weights are 0 there is no place for any number.
      result = minimum(at(std::move(result)), std::max<std::int64_t>(places - 1, 0));
    } else {
      // The first n of exponential waiting times, at rates that are the weights.
      Tensor wait = neg(at(log1p(at(neg(at(std::move(drawn)))))));
      wait = maximum(at(std::move(wait)), 1e-300);
      Tensor rank = div(Operand(wide, site), at(std::move(wait)));
      result = topk(at(std::move(rank)), n, last).indices;
    }
    weights.consume();
    return result;
  });
}

}  // namespace tenure
