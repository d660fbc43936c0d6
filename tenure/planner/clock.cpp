#include "tenure/planner/clock.h"

#include <atomic>
#include <chrono>

namespace tenure::planner {
namespace {

double seconds_of_system() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

std::atomic<double (*)()> clock_in_use = &seconds_of_system;

}  // namespace

double seconds_now() noexcept { return clock_in_use.load(std::memory_order_relaxed)(); }

void set_clock(double (*clock)()) noexcept {
  clock_in_use.store(clock == nullptr ? &seconds_of_system : clock, std::memory_order_relaxed);
}

}  // namespace tenure::planner
