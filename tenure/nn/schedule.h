#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "tenure/base/site.h"

namespace tenure::nn {

/// Of schedule::one_cycle().
struct OneCycleOptions {
  double rising = 0.3;        ///< the share of the steps in which the rate rises; in (0, 1)
  double start_divisor = 25;  ///< it begins with the highest rate over this
  double end_divisor = 1e4;   ///< it ends with the first one over this
};

/// The learning rate of a step; the first step is 0.
using Schedule = std::function<double(std::int64_t step)>;

// They throw ValueError unless counts of steps are positive, and rates and factors finite and not
// negative.
namespace schedule {

Schedule constant(double rate, Site site = Site::current());
/// Times `factor` after every `every` steps.
Schedule steps(double rate, std::int64_t every, double factor, Site site = Site::current());
Schedule exponential(double rate, double factor_per_step, Site site = Site::current());
/// From `rate` to `last` along half a cosine in `length` steps, then `last`.
Schedule cosine(double rate, std::int64_t length, double last = 0, Site site = Site::current());
/// From `rate` to `last` in a straight line in `length` steps, then `last`.
Schedule linear(double rate, std::int64_t length, double last = 0, Site site = Site::current());
/// Up to `most` and down again along halves of a cosine, in `length` steps; then the last rate.
/// It takes at least 2 steps.
Schedule one_cycle(double most, std::int64_t length, const OneCycleOptions& options = {},
                   Site site = Site::current());
/// Grows from nothing to what `then` begins with in `length` steps.
Schedule warm_up(std::int64_t length, Schedule then, Site site = Site::current());

}  // namespace schedule

}  // namespace tenure::nn
