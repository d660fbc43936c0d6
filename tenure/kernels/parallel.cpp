#include "tenure/kernels/parallel.h"

#include <algorithm>
#include <atomic>
#include <charconv>
#include <limits>
#include <string_view>
#include <utility>

#include "tenure/base/cpus.h"
#include "tenure/base/environment.h"
#include "tenure/kernels/instruction_set.h"
#include "tenure/kernels/thread_limit.h"
#include "tenure/kernels/threads/workers.h"

namespace tenure {
namespace {

/// The number that a variable of the environment begins with ("4", "4,2"), or 0.
int number_of(const char* variable) {
  const char* const value = environment(variable);
  if (value == nullptr) return 0;
  const std::string_view text = value;
  int number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return std::max(number, 0);
}

int threads_at_start() {
  for (const char* variable : {"TENURE_NUM_THREADS", "OMP_NUM_THREADS"}) {
    if (const int number = number_of(variable)) return number;
  }
  return available_cpus();
}

/// 0 until somebody asks. Not a static of a function: its guard could be held when another thread
/// forks, and would be for good in the child.
constinit std::atomic<int> setting{0};

int thread_setting() {
  int seen = setting.load(std::memory_order_relaxed);
  if (seen != 0) return seen;
  const int at_start = threads_at_start();
  return setting.compare_exchange_strong(seen, at_start, std::memory_order_relaxed) ? at_start
                                                                                    : seen;
}

/// Whatever has kernels has the bound of their instruction set linked.
[[maybe_unused, gnu::used]] constexpr auto kLinked = &kernels::limit_instruction_set;

constinit thread_local int thread_limit = std::numeric_limits<int>::max();

}  // namespace

ThreadLimit::ThreadLimit(int threads) noexcept
    : outer_(std::exchange(thread_limit, std::clamp(threads, 1, thread_limit))) {}

ThreadLimit::~ThreadLimit() { thread_limit = outer_; }

int num_threads() { return std::min(thread_limit, thread_setting()); }

void set_num_threads(int threads) {
  setting.store(std::max(threads, 1), std::memory_order_relaxed);
}

}  // namespace tenure

namespace tenure::kernels {

void parallel_for(std::int64_t n, std::int64_t grain, RangeFunction f) {
  if (n <= 0) return;
  const std::int64_t grains = (n - 1) / grain + 1;
  const std::int64_t shares = std::min<std::int64_t>({num_threads(), grains, kMaxShares});
  if (shares > 1 && !is_in_loop()) {
    run_on_workers({.body = f,
                    .size = n,
                    .grain = grain,
                    .shares = static_cast<int>(shares),
                    .parts_of_share = static_cast<int>(
                        std::min<std::int64_t>(grains / shares, kMaxPartsOfShare))});
  } else {
    f(0, n);
  }
}

}  // namespace tenure::kernels
