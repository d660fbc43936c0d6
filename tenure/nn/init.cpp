#include "tenure/nn/init.h"

#include <cmath>

#include "tenure/ops/creation.h"
#include "tenure/ops/random_ops.h"

namespace tenure::nn::init {
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

Initializer constant(double value) {
  return [value](const Shape& shape, Fans, DType dtype, Site site) {
    return full(shape, value, dtype, site);
  };
}
Initializer zeros() { return constant(0); }
Initializer ones() { return constant(1); }
Initializer normal(double deviation) {
  return [deviation](const Shape& shape, Fans, DType dtype, Site site) {
    return tenure::normal(shape, 0, deviation, dtype, nullptr, site);
  };
}
Initializer uniform(double low, double high) {
  return [low, high](const Shape& shape, Fans, DType dtype, Site site) {
    return tenure::uniform(shape, low, high, dtype, nullptr, site);
  };
}
Initializer glorot_uniform() { return scaled_uniform(glorot); }
Initializer glorot_normal() { return scaled_normal(glorot); }
Initializer he_uniform() { return scaled_uniform(he); }
Initializer he_normal() { return scaled_normal(he); }
Initializer lecun_normal() { return scaled_normal(lecun); }

}  // namespace tenure::nn::init
