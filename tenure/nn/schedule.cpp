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
