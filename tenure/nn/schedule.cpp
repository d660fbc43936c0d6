#include "tenure/nn/schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "tenure/base/error.h"
#include "tenure/memory/threads/call.h"
#include "tenure/nn/sizes.h"

namespace tenure::nn::schedule {
namespace {

/// How much of `length` steps is done, 0 to 1.
double part(std::int64_t step, std::int64_t length) {
  return std::min(1.0, static_cast<double>(step) / static_cast<double>(length));
}

}  // namespace

Schedule constant(double rate) {
  return [rate](std::int64_t) { return rate; };
}

Schedule steps(double rate, std::int64_t every, double factor, Site site) {
  require_positive("schedule::steps", {every}, site);
  return
      [=](std::int64_t step) { return rate * std::pow(factor, static_cast<double>(step / every)); };
}

Schedule exponential(double rate, double factor_per_step) {
  return [=](std::int64_t step) {
    return rate * std::pow(factor_per_step, static_cast<double>(step));
  };
}

Schedule cosine(double rate, std::int64_t length, double last, Site site) {
  require_positive("schedule::cosine", {length}, site);
  return [=](std::int64_t step) {
    const double height = (1 + std::cos(std::numbers::pi * part(step, length))) / 2;
    return last + (rate - last) * height;
  };
}

Schedule linear(double rate, std::int64_t length, double last, Site site) {
  require_positive("schedule::linear", {length}, site);
  return [=](std::int64_t step) { return rate + (last - rate) * part(step, length); };
}

Schedule one_cycle(double most, std::int64_t length, const OneCycleOptions& options, Site site) {
  mem::in_call("schedule::one_cycle", site, [&] {
    if (length < 2) throw ValueError("schedule::one_cycle: it takes at least 2 steps");
    if (!(options.rising > 0 && options.rising < 1)) {
      throw ValueError("schedule::one_cycle: the rising share is above 0 and below 1");
    }
    if (!(options.start_divisor > 0 && options.end_divisor > 0)) {
      throw ValueError("schedule::one_cycle: divisors are above 0");
    }
  });
  const double first = most / options.start_divisor;
  const double last = first / options.end_divisor;
  // The first step is 0, so that a part of n steps ends at n - 1; it may end between two steps.
  const double end = static_cast<double>(length - 1);
  const double peak = std::max(options.rising * static_cast<double>(length) - 1, 0.0);
  const auto between = [](double from, double to, double share) {
    return to + (from - to) * (1 + std::cos(std::numbers::pi * share)) / 2;
  };
  return [=](std::int64_t step) {
    const auto at = static_cast<double>(step);
    if (at < peak) return between(first, most, at / peak);
    return between(most, last, std::min((at - peak) / (end - peak), 1.0));
  };
}

Schedule warm_up(std::int64_t length, Schedule then, Site site) {
  require_positive("schedule::warm_up", {length}, site);
  mem::in_call("schedule::warm_up", site, [&] {
    if (then == nullptr) throw ValueError("schedule::warm_up: there is no schedule to go on with");
  });
  return [length, then = std::move(then)](std::int64_t step) {
    if (step >= length) return then(step - length);
    return then(0) * static_cast<double>(step + 1) / static_cast<double>(length);
  };
}

}  // namespace tenure::nn::schedule
