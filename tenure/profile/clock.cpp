#include "tenure/profile/clock.h"

#include <cstdio>
#include <cstring>
#include <memory>

namespace tenure::profile {
namespace {

#if defined(__x86_64__)
bool is_counter_trusted() noexcept {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(
      std::fopen("/sys/devices/system/clocksource/clocksource0/current_clocksource", "r"),
      std::fclose);
  char name[16] = {};
  return file != nullptr && std::fgets(name, sizeof name, file.get()) != nullptr &&
         std::strncmp(name, "tsc", 3) == 0;
}

struct Moment {
  std::chrono::steady_clock::time_point time{};
  std::uint64_t cycle = 0;
};

/// Both clocks at one moment: of several tries, the one that was interrupted least.
Moment both_clocks() noexcept {
  Moment best;
  std::uint64_t least = UINT64_MAX;
  for (int i = 0; i < 16; ++i) {
    const std::uint64_t before = __builtin_ia32_rdtsc();
    const auto time = std::chrono::steady_clock::now();
    const std::uint64_t took = __builtin_ia32_rdtsc() - before;
    if (took >= least) continue;
    least = took;
    best = {time, before + took / 2};
  }
  return best;
}
#endif

}  // namespace

void Clock::start() noexcept {
  cycle_ = 0;
#if defined(__x86_64__)
  if (is_counter_trusted()) {
    const Moment first = both_clocks();
    Moment last = first;
    while (last.time - first.time < std::chrono::milliseconds(2)) last = both_clocks();
    const std::chrono::nanoseconds passed = last.time - first.time;
    const auto cycles = static_cast<double>(last.cycle - first.cycle);
    if (cycles > 0) cycle_ = static_cast<double>(passed.count()) / cycles;
    first_cycle_ = last.cycle;
  }
#endif
  start_ = std::chrono::steady_clock::now();
}

}  // namespace tenure::profile
