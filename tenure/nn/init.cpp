#include "tenure/nn/init.h"

#include <fmt/format.h>

#include <cmath>

#include "tenure/base/error.h"
#include "tenure/memory/threads/arguments.h"
#include "tenure/memory/threads/call.h"
#include "tenure/nn/initial.h"
#include "tenure/ops/creation.h"
#include "tenure/ops/random_ops.h"

namespace tenure::nn {

Tensor initial_of(const char* name, const Initializer& initializer, const Shape& shape,
                  const Fans& fans, DType dtype, Site site) {
  if (initializer == nullptr) throw ValueError(fmt::format("{} is an empty function", name));
  return initializer(shape, fans, dtype, site);
}

namespace init {
namespace {

/// Random numbers of a variance that depends on the fans.
Initializer scaled_normal(double (*variance)(Fans)) {
  return [variance](const Shape& shape, Fans fans, DType dtype, Site site) {
    return tenure::normal(shape, 0, std::sqrt(variance(fans)), dtype, nullptr, site);
  };
}
Initializer scaled_uniform(double (*variance)(Fans)) {
  return [variance](const Shape& shape, Fans fans, DType dtype, Site site) {
    const double limit = std::sqrt(3 * variance(fans));
    return tenure::uniform(shape, -limit, limit, dtype, nullptr, site);
  };
}

double glorot(Fans fans) { return 2 / static_cast<double>(fans.in + fans.out); }
double he(Fans fans) { return 2 / static_cast<double>(fans.in); }
double lecun(Fans fans) { return 1 / static_cast<double>(fans.in); }

}  // namespace

Initializer constant(double value, Site site) {
  mem::require_in(mem::kFinite, "init::constant", {{"value", value}}, site);
  return [value](const Shape& shape, Fans, DType dtype, Site site) {
    return full(shape, value, dtype, site);
  };
}
Initializer zeros() { return constant(0); }
Initializer ones() { return constant(1); }
Initializer normal(double deviation, Site site) {
  mem::require_in(mem::kNotNegative, "init::normal", {{"deviation", deviation}}, site);
  return [deviation](const Shape& shape, Fans, DType dtype, Site site) {
    return tenure::normal(shape, 0, deviation, dtype, nullptr, site);
  };
}
Initializer uniform(double low, double high, Site site) {
  mem::require_in(mem::kFinite, "init::uniform", {{"low", low}, {"high", high}}, site);
  mem::in_call("init::uniform", site, [&] {
    if (low <= high) return;
    throw ValueError(fmt::format("init::uniform: low is {}; it is at most high, {}", low, high));
  });
  return [low, high](const Shape& shape, Fans, DType dtype, Site site) {
    return tenure::uniform(shape, low, high, dtype, nullptr, site);
  };
}
Initializer glorot_uniform() { return scaled_uniform(glorot); }
Initializer glorot_normal() { return scaled_normal(glorot); }
Initializer he_uniform() { return scaled_uniform(he); }
Initializer he_normal() { return scaled_normal(he); }
Initializer lecun_normal() { return scaled_normal(lecun); }

}  // namespace init

}  // namespace tenure::nn
