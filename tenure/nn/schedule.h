#pragma once

#include <cstdint>
#include <functional>
#include <vector>

namespace tenure::nn {

/// The learning rate of a step; the first step is 0.
using Schedule = std::function<double(std::int64_t step)>;

namespace schedule {

Schedule constant(double rate);
/// Times `factor` after every `every` steps.
Schedule steps(double rate, std::int64_t every, double factor);
Schedule exponential(double rate, double factor_per_step);
/// From `rate` to `last` along half a cosine in `length` steps, then `last`.
Schedule cosine(double rate, std::int64_t length, double last = 0);
/// From `rate` to `last` in a straight line in `length` steps, then `last`.
Schedule linear(double rate, std::int64_t length, double last = 0);
/// Grows from nothing to what `then` begins with in `length` steps.
Schedule warm_up(std::int64_t length, Schedule then);

}  // namespace schedule

}  // namespace tenure::nn
