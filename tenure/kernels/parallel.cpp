#include "tenure/kernels/parallel.h"

#include <algorithm>
#include <atomic>
#include <limits>
#include <utility>

#include "tenure/base/object_mutex.h"
#include "tenure/kernels/instruction_set.h"
#include "tenure/kernels/thread_limit.h"

#ifdef TENURE_OPENMP
#include <omp.h>
#endif

namespace tenure {
namespace {

#ifdef TENURE_OPENMP
class ThreadSetting {
 public:
  /// In a child of fork, libgomp would wait for threads that only the parent has.
  int get() const { return fork_generation() > 0 ? 1 : threads_.load(std::memory_order_relaxed); }
  void set(int threads) { threads_.store(threads, std::memory_order_relaxed); }

  static ThreadSetting& setting() {
    static ThreadSetting instance;
    return instance;
  }

 private:
  std::atomic<int> threads_{omp_get_max_threads()};
};
#else
class ThreadSetting {
 public:
  static constexpr int get() { return 1; }
  static void set(int /*threads*/) {}
  static ThreadSetting setting() { return {}; }
};
#endif

/// Whatever has kernels has the bound of their instruction set linked.
[[maybe_unused, gnu::used]] constexpr auto kLinked = &kernels::limit_instruction_set;

constinit thread_local int thread_limit = std::numeric_limits<int>::max();

}  // namespace

ThreadLimit::ThreadLimit(int threads) noexcept
    : outer_(std::exchange(thread_limit, std::clamp(threads, 1, thread_limit))) {}

ThreadLimit::~ThreadLimit() { thread_limit = outer_; }

int num_threads() { return std::min(thread_limit, ThreadSetting::setting().get()); }

void set_num_threads(int threads) { ThreadSetting::setting().set(std::max(threads, 1)); }

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
