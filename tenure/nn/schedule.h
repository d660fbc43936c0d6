#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "tenure/base/site.h"

namespace tenure::nn {

/// The learning rate of a step; the first step is 0.
using Schedule = std::function<double(std::int64_t step)>;

// Those with a count of steps throw ValueError unless it is positive.
namespace schedule {

Schedule constant(double rate);
/// Times `factor` after every `every` steps.
Schedule steps(double rate, std::int64_t every, double factor, Site site = Site::current());
Schedule exponential(double rate, double factor_per_step);
/// From `rate` to `last` along half a cosine in `length` steps, then `last`.
Schedule cosine(double rate, std::int64_t length, double last = 0, Site site = Site::current());
/// From `rate` to `last` in a straight line in `length` steps, then `last`.
Schedule linear(double rate, std::int64_t length, double last = 0, Site site = Site::current());
/// Grows from nothing to what `then` begins with in `length` steps.
Schedule warm_up(std::int64_t length, Schedule then, Site site = Site::current());

}  // namespace schedule

}  // namespace tenure::nn
