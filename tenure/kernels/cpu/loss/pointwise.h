#pragma once

#include "tenure/kernels/view.h"

namespace tenure::kernels {

/// A function of a prediction x and a target t.
enum class PointwiseLoss {
  squared,               ///< (x - t)^2
  absolute,              ///< |x - t|
  huber,                 ///< (x - t)^2 / 2 up to |x - t| = p, from there on linear
  binary_cross_entropy,  ///< of the logit x and the probability t
  probability,           ///< binary cross entropy of the probabilities x and t
  divergence,            ///< t (log(t) - x); 0 where t is
};

/// out = the loss of every element, or `scale` times their sum if `out` is one element of rank 0
/// and `reduces`. x and t have one floating type and one shape, any strides. Sums do not depend on
/// the number of threads.
void pointwise_loss(PointwiseLoss kind, double p, const View& x, const View& t, bool reduces,
                    double scale, const View& out);

/// out = scale * dy * the derivative by x. dy broadcasts to x's shape. `out` may be x or t.
void pointwise_loss_gradient(PointwiseLoss kind, double p, const View& x, const View& t,
                             const View& dy, double scale, const View& out);

}  // namespace tenure::kernels
