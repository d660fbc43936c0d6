#include "tenure/nn/schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "tenure/base/error.h"
#include "tenure/memory/threads/arguments.h"
#include "tenure/memory/threads/call.h"

namespace tenure::nn::schedule {
namespace {

/// How much of `length` steps is done, 0 to 1.
double part(std::int64_t step, std::int64_t length) {
  return std::min(1.0, static_cast<double>(step) / static_cast<double>(length));
}

/// Of schedules from one rate to another.
void require_fall(const char* name, double rate, std::int64_t length, double last, Site site) {
  mem::require_least(name, {{"length", length}}, site);
  mem::require_in(mem::kNotNegative, name, {{"rate", rate}, {"last", last}}, site);
}

}  // namespace

Schedule constant(double rate, Site site) {
  mem::require_in(mem::kNotNegative, "schedule::constant", {{"rate", rate}}, site);
  return [rate](std::int64_t) { return rate; };
}

Schedule steps(double rate, std::int64_t every, double factor, Site site) {
  constexpr auto kName = "schedule::steps";
  mem::require_least(kName, {{"every", every}}, site);
  mem::require_in(mem::kNotNegative, kName, {{"rate", rate}, {"factor", factor}}, site);
  return
      [=](std::int64_t step) { return rate * std::pow(factor, static_cast<double>(step / every)); };
}

Schedule exponential(double rate, double factor_per_step, Site site) {
  mem::require_in(mem::kNotNegative, "schedule::exponential",
                  {{"rate", rate}, {"factor_per_step", factor_per_step}}, site);
  return [=](std::int64_t step) {
    return rate * std::pow(factor_per_step, static_cast<double>(step));
  };
}

Schedule cosine(double rate, std::int64_t length, double last, Site site) {
  require_fall("schedule::cosine", rate, length, last, site);
  return [=](std::int64_t step) {
    const double height = (1 + std::cos(std::numbers::pi * part(step, length))) / 2;
    return last + (rate - last) * height;
  };
}

Schedule linear(double rate, std::int64_t length, double last, Site site) {
  require_fall("schedule::linear", rate, length, last, site);
  return [=](std::int64_t step) { return rate + (last - rate) * part(step, length); };
}

Schedule one_cycle(double most, std::int64_t length, const OneCycleOptions& options, Site site) {
  constexpr auto kName = "schedule::one_cycle";
  mem::in_call(kName, site, [&] {
    if (length < 2) throw ValueError("schedule::one_cycle: it takes at least 2 steps");
  });
  mem::require_in(mem::kNotNegative, kName, {{"most", most}}, site);
  mem::require_in(mem::kWithinOne, kName, {{"rising", options.rising}}, site);
  mem::require_in(mem::kAboveZero, kName,
                  {{"start_divisor", options.start_divisor}, {"end_divisor", options.end_divisor}},
                  site);
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
  mem::require_least("schedule::warm_up", {{"length", length}}, site);
  mem::in_call("schedule::warm_up", site, [&] {
    if (then == nullptr) throw ValueError("schedule::warm_up: there is no schedule to go on with");
  });
  return [length, then = std::move(then)](std::int64_t step) {
    if (step >= length) return then(step - length);
    return then(0) * static_cast<double>(step + 1) / static_cast<double>(length);
  };
}

}  // namespace tenure::nn::schedule
