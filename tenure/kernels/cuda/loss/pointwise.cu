#pragma once

#include "tenure/kernels/cuda/loss/loss.cuh"

namespace tenure::kernels::cuda {

template <class C>
inline C bounded(C log, const PointwiseArguments& a) {
  const C least = static_cast<C>(a.least_log);
  return log < least ? least : log;
}

template <class C>
inline C loss_of(C x, C t, const PointwiseArguments& a) {
  const C difference = x - t;
  const C distance = std::abs(difference);
  const C p = static_cast<C>(a.parameter);
  switch (a.kind) {
    case kSquared:
      return difference * difference;
    case kAbsolute:
      return distance;
    case kHuber:
      return distance <= p ? C(0.5) * distance * distance : p * (distance - C(0.5) * p);
    case kLogitEntropy:
      return (x > C(0) || x != x ? x : C(0)) - x * t + std::log1p(std::exp(-std::abs(x)));
    case kProbabilityEntropy:
      return -t * bounded(std::log(x), a) - (C(1) - t) * bounded(std::log1p(-x), a);
    default:
      return t == C(0) ? C(0) : t * (std::log(t) - x);
  }
}

/// By x.
template <class C>
inline C derivative_of(C x, C t, const PointwiseArguments& a) {
  const C d = x - t;
  const C p = static_cast<C>(a.parameter);
  switch (a.kind) {
    case kSquared:
      return d + d;
    case kAbsolute:
      return d > C(0) ? C(1) : d < C(0) ? C(-1) : d;
    case kHuber:
      return d > p ? p : d < -p ? -p : d;
    case kLogitEntropy: {
      const C power = std::exp(-std::abs(x));
      return (x < C(0) ? power : C(1)) / (C(1) + power) - t;
    }
    case kProbabilityEntropy: {
      const C least = static_cast<C>(a.least_product);
      const C product = x * (C(1) - x);
      return d / (product > least ? product : least);
    }
    default:
      return -t;
  }
}

template <class T>
inline Compute<T> element_of(const FlatView& view, std::int64_t i) {
  return static_cast<Compute<T>>(static_cast<const T*>(view.data)[offset_in(view.walk, i)]);
}

template <class T>
inline void pointwise_loss(const PointwiseArguments& a) {
  double own = 0;
  for (auto i = static_cast<std::int64_t>(thread_index()); i < a.n;
       i += static_cast<std::int64_t>(thread_count())) {
    const Compute<T> loss = loss_of(element_of<T>(a.x, i), element_of<T>(a.targets, i), a);
    if (a.sum.reduces != 0) {
      own += static_cast<double>(loss);
    } else {
      static_cast<T*>(a.sum.out)[i] = convert<T>(loss);
    }
  }
  if (a.sum.reduces != 0) add_up<T>(a.sum, {own, 0});
}

template <class T>
inline void pointwise_loss_gradient(const PointwiseArguments& a) {
  using C = Compute<T>;
  const C scale = static_cast<C>(a.sum.scale);
  for (auto i = static_cast<std::int64_t>(thread_index()); i < a.n;
       i += static_cast<std::int64_t>(thread_count())) {
    const C derivative = derivative_of(element_of<T>(a.x, i), element_of<T>(a.targets, i), a);
    const C dy = element_of<T>(a.dy, i);
    static_cast<T*>(a.sum.out)[i] = convert<T>(scale * dy * derivative);
  }
}

}  // namespace tenure::kernels::cuda
