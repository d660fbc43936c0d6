#include "tenure/kernels/parallel.h"

#include <algorithm>
#include <atomic>
#include <limits>
#include <utility>

#include "tenure/kernels/thread_limit.h"

#ifdef TENURE_OPENMP
#include <omp.h>
#endif

namespace tenure {
namespace {

std::atomic<int>& thread_setting() {
#ifdef TENURE_OPENMP
  static std::atomic<int> threads{omp_get_max_threads()};
#else
  static std::atomic<int> threads{1};
#endif
  return threads;
}

constinit thread_local int thread_limit = std::numeric_limits<int>::max();

}  // namespace

ThreadLimit::ThreadLimit(int threads) noexcept
    : outer_(std::exchange(thread_limit, std::clamp(threads, 1, thread_limit))) {}

ThreadLimit::~ThreadLimit() { thread_limit = outer_; }

int num_threads() {
  return std::min(thread_limit, thread_setting().load(std::memory_order_relaxed));
}

void set_num_threads(int threads) {
  thread_setting().store(std::max(threads, 1), std::memory_order_relaxed);
}

}  // namespace tenure

namespace tenure::kernels {

void parallel_for(std::int64_t n, std::int64_t grain, RangeFunction f) {
  if (n <= 0) return;
  const std::int64_t grains = (n + grain - 1) / grain;
  const auto threads = static_cast<int>(std::min<std::int64_t>(num_threads(), grains));
#ifdef TENURE_OPENMP
  if (threads > 1 && !omp_in_parallel()) {
#pragma omp parallel num_threads(threads)
    {
      const std::int64_t parts = omp_get_num_threads();
      const std::int64_t part = omp_get_thread_num();
      const std::int64_t begin = grains * part / parts * grain;
      const std::int64_t end = std::min(n, grains * (part + 1) / parts * grain);
      if (begin < end) f(begin, end);
    }
    return;
  }
#else
  static_cast<void>(threads);
#endif
  f(0, n);
}

}  // namespace tenure::kernels
