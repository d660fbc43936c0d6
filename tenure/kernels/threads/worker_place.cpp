#include "tenure/kernels/threads/worker_place.h"

#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <bit>
#include <utility>

namespace tenure::kernels {

void WorkerPlace::begin() noexcept {
  cpu_set_t cpus{};
  const bool is_known = sched_getaffinity(getpid(), sizeof cpus, &cpus) == 0;
  if (is_known) sched_setaffinity(0, sizeof cpus, &cpus);
  cpus_ = std::bit_cast<decltype(cpus_)>(cpus);
  thread_.store(is_known ? gettid() : 0, std::memory_order_release);
}

bool WorkerPlace::leave(int cpu) noexcept {
  const pid_t thread = thread_.load(std::memory_order_acquire);
  if (thread == 0) return false;
  auto others = std::bit_cast<cpu_set_t>(cpus_);
  CPU_CLR(cpu, &others);
  if (CPU_COUNT(&others) == 0 || sched_setaffinity(thread, sizeof others, &others) != 0) {
    return false;
  }
  left_.store(cpu, std::memory_order_relaxed);
  return true;
}

void WorkerPlace::go_back() noexcept {
  const auto cpus = std::bit_cast<cpu_set_t>(cpus_);
  sched_setaffinity(thread_.load(std::memory_order_relaxed), sizeof cpus, &cpus);
  left_.store(kNone, std::memory_order_relaxed);
}

bool WorkerPlace::has_lost_its_core() noexcept {
  rusage usage{};
  getrusage(RUSAGE_THREAD, &usage);
  return std::exchange(switches_, usage.ru_nivcsw) != usage.ru_nivcsw;
}

}  // namespace tenure::kernels
