#include "tenure/ops/nn/norm_reference.h"

#include <algorithm>
#include <cmath>

#include "tenure/ops/core/reference.h"

namespace tenure::ops {
namespace {

/// The mean of each element's group, in the shape of x.
Reference mean_over(const Reference& x, const Axes& axes) {
  Shape kept = x.shape;
  for (const std::int64_t axis : axes) kept[static_cast<int>(axis)] = 1;
  const auto group = [&](Dims index) {
    for (const std::int64_t axis : axes) index[static_cast<int>(axis)] = 0;
    return flat(kept, index);
  };
  std::vector<long double> sums(static_cast<std::size_t>(count(kept)), 0);
  std::size_t i = 0;
  for_each_index(x.shape, [&](const Dims& index) { sums[group(index)] += x.values[i++]; });
  const auto n = static_cast<long double>(count(x.shape)) / static_cast<long double>(count(kept));
  return make_reference(x.shape, [&](const Dims& index) { return sums[group(index)] / n; });
}

template <class F>
Reference map(const Reference& a, const Reference& b, F f) {
  Reference out = a;
  for (std::size_t i = 0; i < out.values.size(); ++i) out.values[i] = f(a.values[i], b.values[i]);
  return out;
}
Reference product(const Reference& a, const Reference& b) {
  return map(a, b, [](long double x, long double y) { return x * y; });
}

/// The element of `weights`, of the last dimensions, that meets element i of x.
std::size_t weight_of(std::size_t i, const Reference& weights) {
  return i % std::max<std::size_t>(1, weights.values.size());
}

}  // namespace

NormReference norm_reference(const std::vector<Reference>& in, const Axes& axes, bool rms,
                             double epsilon) {
  const Reference& x = in[0];
  NormReference out;
  out.mean = mean_over(x, axes);
  if (rms) std::fill(out.mean.values.begin(), out.mean.values.end(), 0);
  const Reference centred = map(x, out.mean, [](auto a, auto b) { return a - b; });
  out.variance = mean_over(product(centred, centred), axes);
  out.normal = map(centred, out.variance, [&](auto a, auto v) {
    return a / std::sqrt(v + static_cast<long double>(epsilon));
  });
  out.y = out.normal;
  for (std::size_t i = 0; i < out.y.values.size(); ++i) {
    if (in.size() > 1) out.y.values[i] *= in[1].values[weight_of(i, in[1])];
    if (in.size() > 2) out.y.values[i] += in[2].values[weight_of(i, in[2])];
  }
  return out;
}

std::vector<Reference> norm_gradient_reference(const std::vector<Reference>& in, const Axes& axes,
                                               int weight_dims, bool rms, double epsilon) {
  const NormReference forward = norm_reference({in[1]}, axes, rms, epsilon);
  const Reference& h = forward.normal;
  Reference g = in[0];
  Shape weights;
  for (int i = g.shape.size() - weight_dims; i < g.shape.size(); ++i) weights.push_back(g.shape[i]);
  Reference dweight = make_reference(weights, [](const Dims&) { return 0.0L; });
  Reference dbias = dweight;
  for (std::size_t i = 0; i < g.values.size(); ++i) {
    const std::size_t w = weight_of(i, dweight);
    dweight.values[w] += g.values[i] * h.values[i];
    dbias.values[w] += g.values[i];
    if (in.size() > 2) g.values[i] *= in[2].values[w];
  }
  const Reference mean = mean_over(g, axes);
  const Reference along = mean_over(product(g, h), axes);
  Reference dx = g;
  for (std::size_t i = 0; i < g.values.size(); ++i) {
    const long double scale =
        1 / std::sqrt(forward.variance.values[i] + static_cast<long double>(epsilon));
    dx.values[i] =
        scale * (g.values[i] - (rms ? 0 : mean.values[i]) - h.values[i] * along.values[i]);
  }
  if (rms) return {dx, dweight};
  return {dx, dweight, dbias};
}

std::vector<Sample> norm_samples(int inputs, bool gradient) {
  std::vector<Sample> samples;
  const auto add = [&](const Shape& x, int dims, bool weighted) {
    Sample s{.attributes = Attributes(std::int64_t{dims}, 0.125)};
    if (gradient) s.inputs.push_back({.shape = x, .low = -0.5});
    s.inputs.push_back({.shape = x});
    Shape weights;
    for (int i = x.size() - dims; i < x.size(); ++i) weights.push_back(x[i]);
    while (weighted && static_cast<int>(s.inputs.size()) < inputs) {
      s.inputs.push_back({.shape = weights, .low = 0.5});
    }
    samples.push_back(std::move(s));
  };
  add({4, 70}, 1, true);
  add({2, 3, 5, 4}, 2, true);
  add({3, 33}, 1, false);
  add({130, 7}, 1, true);
  add({17}, 1, true);
  add({0, 4}, 1, true);
  add({3, 0}, 1, true);
  return samples;
}

}  // namespace tenure::ops
