#include "tenure/kernels/parallel.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <charconv>
#include <chrono>
#include <limits>
#include <string_view>
#include <utility>

#include "tenure/base/cpus.h"
#include "tenure/base/environment.h"
#include "tenure/kernels/instruction_set.h"
#include "tenure/kernels/thread_limit.h"
#include "tenure/kernels/threads/call_threads.h"
#include "tenure/kernels/threads/thread_choice.h"
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
namespace {

using Clock = std::chrono::steady_clock;

void run(std::int64_t n, std::int64_t grain, std::int64_t grains, int threads, RangeFunction f) {
  if (threads == 1) return f(0, n);
  run_on_workers({.body = f,
                  .size = n,
                  .grain = grain,
                  .shares = threads,
                  .parts_of_share = static_cast<int>(
                      std::min<std::int64_t>(grains / threads, kMaxPartsOfShare))});
}

/// The same for loops of one body whose elements cost the same, and of which there are about as
/// many.
std::uint64_t kind_of(RangeFunction f, double size, double cost, int most) {
  const std::uint64_t about = std::bit_cast<std::uint64_t>(size) >> 51;  // two in each doubling
  return mixed(
      mixed(mixed(static_cast<std::uint64_t>(most), about), std::bit_cast<std::uint64_t>(cost)),
      reinterpret_cast<std::uintptr_t>(f.code()));
}

}  // namespace

void parallel_for(std::int64_t n, std::int64_t grain, RangeFunction f, double cost) {
  if (n <= 0) return;
  const std::int64_t grains = (n - 1) / grain + 1;
  const int most = static_cast<int>(std::min<std::int64_t>({num_threads(), grains, kMaxShares}));
  if (most == 1 || is_in_loop()) return f(0, n);
  if (may_workers_exceed_cpus()) return run(n, grain, grains, most, f);
  if (CallThreads* const call = CallThreads::now()) {
    return run(n, grain, grains, std::min(most, call->threads()), f);
  }

  ThreadChoice& choice = choice_of(kind_of(f, static_cast<double>(n), cost, most));
  const ThreadChoice::Turn turn = choice.next(most);
  const Clock::time_point begin = turn.is_timed ? Clock::now() : Clock::time_point();
  run(n, grain, grains, ThreadChoice::threads(most, turn.halvings), f);
  if (!turn.is_timed) return;
  const std::chrono::duration<float, std::nano> time = Clock::now() - begin;
  choice.took(turn, most, time.count() / static_cast<float>(n));
}

}  // namespace tenure::kernels
