#include "tenure/base/object_mutex.h"

#include <chrono>
#include <thread>

namespace tenure {
namespace {

constinit std::atomic<std::uint32_t> generation{0};
constinit std::atomic<bool> is_forking{false};
/// Threads that have locked an object, or are about to.
constinit std::atomic<std::int64_t> locking{0};
/// How many objects this thread has locked.
constinit thread_local int depth = 0;

void enter() noexcept {
  if (depth++ > 0) return;
  locking.fetch_add(1, std::memory_order_seq_cst);
  while (is_forking.load(std::memory_order_seq_cst)) {
    locking.fetch_sub(1, std::memory_order_seq_cst);
    is_forking.wait(true);
    locking.fetch_add(1, std::memory_order_seq_cst);
  }
}

void leave() noexcept {
  if (--depth == 0) locking.fetch_sub(1, std::memory_order_release);
}

std::uint32_t word_of_this_process() noexcept { return 2 * (fork_generation() + 1); }

}  // namespace

std::uint32_t fork_generation() noexcept { return generation.load(std::memory_order_relaxed); }

void ObjectMutex::lock() {
  constexpr std::uint32_t kWaits = 1;
  enter();
  const std::uint32_t free_of_waiters = word_of_this_process();
  std::uint32_t mine = free_of_waiters;
  std::uint32_t seen = 0;
  while (!word_.compare_exchange_strong(seen, mine, std::memory_order_acquire)) {
    if ((seen & ~kWaits) != free_of_waiters) {
      leave();
      throw ForkError(
          "another thread was changing this when the process was forked, and what it has become in "
          "the child is not known; make what the child uses in the child, or fork while no thread "
          "works with it");
    }
    const bool is_told =
        (seen & kWaits) != 0 ||
        word_.compare_exchange_strong(seen, seen | kWaits, std::memory_order_relaxed);
    if (is_told) word_.wait(free_of_waiters | kWaits, std::memory_order_relaxed);
    mine |= kWaits;  // there may be others
    seen = 0;
  }
}

void ObjectMutex::unlock() noexcept {
  if ((word_.exchange(0, std::memory_order_release) & 1) != 0) word_.notify_one();
  leave();
}

bool ObjectMutex::is_abandoned() const noexcept {
  const std::uint32_t word = word_.load(std::memory_order_relaxed);
  return word != 0 && (word & ~1u) != word_of_this_process();
}

void pause_object_locks() noexcept {
  constexpr int kPatience = 1000;
  is_forking.store(true, std::memory_order_seq_cst);
  const int own = depth > 0 ? 1 : 0;
  for (int i = 0; i < kPatience && locking.load(std::memory_order_seq_cst) != own; ++i) {
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
}

void resume_object_locks(bool is_child) noexcept {
  if (is_child) {
    generation.fetch_add(1, std::memory_order_relaxed);
    locking.store(depth > 0 ? 1 : 0, std::memory_order_relaxed);
  }
  is_forking.store(false, std::memory_order_seq_cst);
  is_forking.notify_all();
}

}  // namespace tenure
