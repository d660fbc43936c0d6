#pragma once

namespace tenure::planner {

/// Seconds since some moment, the same one for all calls. Whatever in the planner has a deadline
/// asks here, and looks again before it has done much.
double seconds_now() noexcept;

/// From now on seconds_now() asks `clock`, on any thread; nullptr: the system. For tests, which
/// count work where the system counts time.
void set_clock(double (*clock)()) noexcept;

}  // namespace tenure::planner
