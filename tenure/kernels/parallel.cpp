#include "tenure/kernels/parallel.h"

#include <algorithm>
#include <atomic>
#include <latch>
#include <limits>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

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

#ifdef TENURE_OPENMP
// Note: threads that the system does not have
//
// libgomp starts threads when a loop wants more of them, and ends the process where the system has
// none: a limit of processes, or of address space, is reached. So before the first such loop as
// many are started here, and end at once. Where there are fewer, loops of this thread use so many,
// and it is looked again later.

/// How many threads loops of this thread are known to get, with itself.
constinit thread_local int known_threads = 1;
/// Loops until it is looked again whether there are more; 0: it was not refused.
constinit thread_local int loops_to_wait = 0;

/// Threads that can be started beside this one, up to `wanted`.
int startable(int wanted) noexcept {
  std::vector<std::thread> started;
  std::latch all_are_there(1);
  try {
    started.reserve(static_cast<std::size_t>(wanted));
    for (int i = 0; i < wanted; ++i) started.emplace_back([&] { all_are_there.wait(); });
  } catch (const std::system_error&) {
  } catch (const std::bad_alloc&) {
  }
  all_are_there.count_down();
  for (std::thread& thread : started) thread.join();
  return static_cast<int>(started.size());
}

/// At most `threads`, and no more than the system gives.
int available(int threads) noexcept {
  constexpr int kLoopsToWait = 1000;
  if (threads <= known_threads) return threads;
  if (loops_to_wait > 0 && --loops_to_wait > 0) return known_threads;
  known_threads = std::max(known_threads, startable(threads - 1) + 1);
  if (known_threads < threads) loops_to_wait = kLoopsToWait;
  return std::min(threads, known_threads);
}
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
  const int used = threads > 1 && !omp_in_parallel() ? available(threads) : 1;
  if (used > 1) {
#pragma omp parallel num_threads(used)
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
