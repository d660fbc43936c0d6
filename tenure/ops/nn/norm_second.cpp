#include "tenure/ops/elementwise.h"
#include "tenure/ops/nn/norm.h"
#include "tenure/ops/operators.h"
#include "tenure/ops/reduce_ops.h"
#include "tenure/ops/shape_ops.h"

namespace tenure::ops {

// Note: the second derivative of normalization
//
// With h = (x - mean) r, r = 1 / sqrt(variance + epsilon), and P t = t - mean(t) - h mean(t h), the
// derivative of h is r P, and that of r is -r^2 mean(h .). The gradient is dx = r P g with g = dy
// weight, dweight = sum(dy h), dbias = sum(dy). P is symmetric. A change u of dx, a of dweight and
// c of dbias therefore give
//
//   for dy:      weight r P u + a h + c
//   for weight:  sum(dy r P u)
//   for x:       r P (a dy) - r^2 (h s + P (mean(g h) u + mean(u h) g)),
//                s = mean(u g) - mean(u) mean(g) - mean(u h) mean(g h)
//
// Without a mean (rms) the terms with mean(t), mean(u) and mean(g) are missing.

void norm_gradient_rule(Backward& b, const Axes& axes, bool rms, double epsilon) {
  const Tensor& dy = b.inputs[0];
  const Tensor& x = b.inputs[1];
  const bool weighted = b.specs.size() == 3;
  const Tensor& u = b.gradients[0];
  const Tensor& a = b.gradients[1];
  const auto average = [&](const Tensor& t) { return mean(t, axes, true); };

  const Tensor centred = rms ? x : x - average(x);
  const Tensor r = rsqrt(average(square(centred)) + epsilon);
  const Tensor h = centred * r;
  const auto project = [&](const Tensor& t) {
    Tensor p = t - h * average(t * h);
    return rms ? p : p - average(t);
  };
  const auto accumulate = [](Tensor& to, Tensor&& term) {
    to = to.defined() ? add(std::move(to), std::move(term)) : std::move(term);
  };
  const auto over_rows = [&](const Tensor& t) {
    Axes leading;
    for (int i = 0; i < t.shape().size() - b.specs[2].shape.size(); ++i) leading.push_back(i);
    return leading.empty() ? t : sum(t, leading);
  };

  if (u.defined()) {
    const Tensor changed = r * project(u);
    if (b.wants(0)) b.results[0] = weighted ? changed * b.inputs[2] : changed;
    if (weighted && b.wants(2)) b.results[2] = over_rows(dy * changed);
    if (b.wants(1)) {
      const Tensor g = weighted ? dy * b.inputs[2] : dy;
      const Tensor uh = average(u * h);
      const Tensor gh = average(g * h);
      Tensor s = average(u * g) - uh * gh;
      if (!rms) s = s - average(u) * average(g);
      b.results[1] = neg(square(r) * (h * s + project(gh * u + uh * g)));
    }
  }
  if (a.defined()) {
    if (b.wants(0)) accumulate(b.results[0], a * h);
    if (b.wants(1)) accumulate(b.results[1], r * project(a * dy));
  }
  if (!rms && b.gradients[2].defined() && b.wants(0)) {
    accumulate(b.results[0], contiguous(broadcast_to(b.gradients[2], b.specs[0].shape)));
  }
  for (std::size_t i = 0; i < b.specs.size(); ++i) {  // weights may be wider than what they weigh
    Tensor& result = b.results[i];
    if (result.defined() && result.dtype() != b.specs[i].dtype) {
      result = cast(std::move(result), b.specs[i].dtype);
    }
  }
}

}  // namespace tenure::ops
