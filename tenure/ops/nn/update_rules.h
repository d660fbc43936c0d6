#pragma once

#include <cmath>
#include <cstddef>

#include "tenure/ops/core/attributes.h"

namespace tenure::ops {

// Note: how an optimizer's update is written
//
// A rule changes the elements of a parameter and of its state by those of a gradient, one by one.
// It is a struct of the numbers that it computes with, here; its body is a function `change` in
// update_bodies-inl.h, generic in the kind of value as those of elementwise ops are; its record is
// in optimizer.cpp. A call has the tensors that the rule changes first, then the gradient, the rate
// and, if the rule counts them, the number of the step.
//
//   kTensors      that it changes: the parameter and its state
//   kCountsSteps  whether a call has the number of the step
//   of            the rule of a call with these attributes, rate and step, which counts from 1

struct SgdRule {
  static constexpr std::size_t kTensors = 1;
  static constexpr bool kCountsSteps = false;
  enum : int { kDecay };  // the places of the attributes

  double rate = 0;
  double decay = 0;

  static SgdRule of(const Attributes& a, double rate, double /*step*/) {
    return {.rate = rate, .decay = a.number(kDecay)};
  }
};

struct MomentumRule {
  static constexpr std::size_t kTensors = 2;
  static constexpr bool kCountsSteps = false;
  enum : int { kMomentum, kDampening, kNesterov, kDecay };

  double rate = 0;
  double momentum = 0;
  double dampening = 0;
  bool nesterov = false;
  double decay = 0;

  static MomentumRule of(const Attributes& a, double rate, double /*step*/) {
    return {.rate = rate,
            .momentum = a.number(kMomentum),
            .dampening = a.number(kDampening),
            .nesterov = a.flag(kNesterov),
            .decay = a.number(kDecay)};
  }
};

struct AdamRule {
  static constexpr std::size_t kTensors = 3;
  static constexpr bool kCountsSteps = true;
  enum : int { kBeta1, kBeta2, kEpsilon, kDecay, kDecoupled };

  double rate = 0;
  double step = 1;
  double beta1 = 0;
  double beta2 = 0;
  double epsilon = 0;
  double decay = 0;
  bool decoupled = false;  ///< the decay does not go through the gradient

  // What corrects the bias of the averages, which begin at 0.
  double unbiased_rate = 0;
  double unbiased_root = 0;

  static AdamRule of(const Attributes& a, double rate, double step) {
    const double beta1 = a.number(kBeta1);
    const double beta2 = a.number(kBeta2);
    return {.rate = rate,
            .step = step,
            .beta1 = beta1,
            .beta2 = beta2,
            .epsilon = a.number(kEpsilon),
            .decay = a.number(kDecay),
            .decoupled = a.flag(kDecoupled),
            .unbiased_rate = rate / (1 - std::pow(beta1, step)),
            .unbiased_root = 1 / std::sqrt(1 - std::pow(beta2, step))};
  }
};

struct RmspropRule {
  static constexpr std::size_t kTensors = 2;
  static constexpr bool kCountsSteps = false;
  enum : int { kAlpha, kEpsilon, kDecay };

  double rate = 0;
  double alpha = 0;
  double epsilon = 0;
  double decay = 0;

  static RmspropRule of(const Attributes& a, double rate, double /*step*/) {
    return {.rate = rate,
            .alpha = a.number(kAlpha),
            .epsilon = a.number(kEpsilon),
            .decay = a.number(kDecay)};
  }
};

struct AdagradRule {
  static constexpr std::size_t kTensors = 2;
  static constexpr bool kCountsSteps = false;
  enum : int { kEpsilon, kDecay };

  double rate = 0;
  double epsilon = 0;
  double decay = 0;

  static AdagradRule of(const Attributes& a, double rate, double /*step*/) {
    return {.rate = rate, .epsilon = a.number(kEpsilon), .decay = a.number(kDecay)};
  }
};

struct LionRule {
  static constexpr std::size_t kTensors = 2;
  static constexpr bool kCountsSteps = false;
  enum : int { kBeta1, kBeta2, kDecay };

  double rate = 0;
  double beta1 = 0;
  double beta2 = 0;
  double decay = 0;

  static LionRule of(const Attributes& a, double rate, double /*step*/) {
    return {.rate = rate,
            .beta1 = a.number(kBeta1),
            .beta2 = a.number(kBeta2),
            .decay = a.number(kDecay)};
  }
};

}  // namespace tenure::ops
