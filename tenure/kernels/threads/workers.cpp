#include "tenure/kernels/threads/workers.h"

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <memory>
#include <new>

#include "tenure/base/cpus.h"
#include "tenure/kernels/threads/futex.h"
#include "tenure/kernels/threads/loop_slot.h"
#include "tenure/kernels/threads/worker_place.h"
#include "tenure/kernels/threads/worker_thread.h"

namespace tenure::kernels {
namespace {

using Clock = std::chrono::steady_clock;

/// Loops of different threads that workers take parts of at a time; others run on their own thread.
constexpr int kSlots = 8;
/// How long a thread looks out before it sleeps: longer than from one step of a program to the
/// next, shorter than the system takes to wake a thread.
constexpr auto kLookOut = std::chrono::microseconds(30);
/// Who was stopped for so long while it was looking out has lost its core to somebody.
constexpr auto kStopped = std::chrono::microseconds(200);
/// How long nobody looks out after that.
constexpr auto kCrowded = std::chrono::milliseconds(20);

constinit thread_local bool in_loop = false;
constinit std::atomic<bool> may_exceed_cpus{false};

void pause() noexcept {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("isb" ::: "memory");
#endif
}

class Workers {
 public:
  void run(const Loop& loop) noexcept {
    const int helpers = helpers_of(loop);
    LoopSlot* const slot = helpers > 0 ? take_slot() : nullptr;
    if (slot == nullptr) {
      for (int part = 0; part < loop.parts(); ++part) loop.run(part);
      return;
    }
    if (started_.load(std::memory_order_relaxed) < helpers) start(helpers);
    callers_.fetch_add(1, std::memory_order_relaxed);
    const int wanted = wanted_.fetch_add(helpers, std::memory_order_relaxed) + helpers;
    slot->publish(loop);
    const int cpu = sched_getcpu();
    caller_cpu_.store(cpu, std::memory_order_relaxed);
    published_.fetch_add(1, std::memory_order_seq_cst);
    const int missing = wanted - awake();
    if (missing > 0) {
      if (are_moved_.load(std::memory_order_relaxed)) lead_away(cpu);
      wake(published_, std::min(missing, helpers));
    }
    slot->help(0);
    wait_for_parts(*slot);
    wanted_.fetch_sub(helpers, std::memory_order_relaxed);
    callers_.fetch_sub(1, std::memory_order_relaxed);
    slot->withdraw();
    slot->give_back();
  }

 private:
  /// One for each share, but no more than there are cores for: parts wait for nobody, so that more
  /// threads would only take the cores from each other.
  int helpers_of(const Loop& loop) const noexcept {
    const bool is_bounded = !may_exceed_cpus.load(std::memory_order_relaxed);
    return (is_bounded ? std::min(loop.shares, cpus_) : loop.shares) - 1;
  }

  LoopSlot* take_slot() noexcept {
    for (LoopSlot& slot : slots_) {
      if (slot.take()) return &slot;
    }
    return nullptr;
  }

  /// As many workers as that, or as the system gives; then it is asked again after some loops.
  void start(int wanted) noexcept {
    constexpr int kLoopsToWait = 1000;
    if (is_starting_.exchange(true, std::memory_order_acquire)) return;
    if (loops_to_wait_ > 0) {
      --loops_to_wait_;
    } else if (is_favoured_less() || !start_up_to(std::min(wanted, kMaxShares - 1))) {
      loops_to_wait_ = kLoopsToWait;
    }
    is_starting_.store(false, std::memory_order_release);
  }

  struct Birth {
    Workers* workers;
    int index;
  };
  static void* live(void* given) noexcept {
    const Birth born = *std::unique_ptr<Birth>(static_cast<Birth*>(given));
    born.workers->work(born.index);
  }

  bool start_up_to(int wanted) noexcept {
    for (int i = started_.load(std::memory_order_relaxed); i < wanted; ++i) {
      auto birth = std::unique_ptr<Birth>(new (std::nothrow) Birth{this, i + 1});
      if (birth == nullptr || !start_worker_thread(live, birth.get())) return false;
      static_cast<void>(birth.release());
      started_.store(i + 1, std::memory_order_relaxed);
    }
    return true;
  }

  [[noreturn]] void work(int index) noexcept {
    pthread_setname_np(pthread_self(), "tenure worker");
    in_loop = true;
    WorkerPlace& place = places_[static_cast<std::size_t>(index)];
    place.begin();
    for (;;) {
      const std::uint32_t seen = published_.load(std::memory_order_seq_cst);
      bool has_helped = false;
      for (LoopSlot& slot : slots_) has_helped |= slot.help(index);
      make_room(place, has_helped);
      wait_for_loops(seen);
    }
  }

  /// After a loop: a worker that is on the core of its caller moves to another one. If it cannot,
  /// or finds that somebody else wants the other one, there are more threads than cores.
  void make_room(WorkerPlace& place, bool has_helped) noexcept {
    const int cpu = sched_getcpu();
    if (cpu == caller_cpu_.load(std::memory_order_relaxed)) {
      const Clock::time_point now = Clock::now();
      if (!is_crowded(now) && place.leave(cpu)) {
        are_moved_.store(true, std::memory_order_relaxed);
      } else if (has_helped) {
        note_crowd(now);
      }
    } else if (has_helped && place.was_pushed_aside()) {
      place.go_back();
      note_crowd(Clock::now());
    }
  }

  /// Before workers wake: those that were moved would else be bound to a core that is now the
  /// caller's.
  void lead_away(int caller_cpu) noexcept {
    if (callers_.load(std::memory_order_relaxed) > 1) return;
    const int started = started_.load(std::memory_order_relaxed);
    for (int i = 1; i <= started; ++i) places_[static_cast<std::size_t>(i)].follow(caller_cpu);
  }

  void wait_for_loops(std::uint32_t seen) noexcept {
    const auto is_there = [&] { return published_.load(std::memory_order_relaxed) != seen; };
    if (look_out(is_there)) return;
    sleeping_.fetch_add(1, std::memory_order_seq_cst);
    if (published_.load(std::memory_order_seq_cst) == seen) sleep_while(published_, seen);
    sleeping_.fetch_sub(1, std::memory_order_relaxed);
  }

  void wait_for_parts(LoopSlot& slot) noexcept {
    FutexWord& unfinished = slot.unfinished();
    const auto are_over = [&] { return unfinished.load(std::memory_order_acquire) == 0; };
    if (are_over() || look_out(are_over)) return;
    std::uint32_t left = unfinished.fetch_or(LoopSlot::kCallerSleeps, std::memory_order_acq_rel);
    while ((left & ~LoopSlot::kCallerSleeps) != 0) {
      sleep_while(unfinished, left | LoopSlot::kCallerSleeps);
      left = unfinished.load(std::memory_order_acquire);
    }
  }

  /// Whether it came true before this thread had better sleep.
  template <class Condition>
  bool look_out(const Condition& condition) noexcept {
    constexpr int kLooks = 16;
    Clock::time_point last = Clock::now();
    const Clock::time_point end = last + kLookOut;
    if (is_crowded(last)) return condition();
    while (last < end) {
      for (int i = 0; i < kLooks; ++i) {
        if (condition()) return true;
        pause();
      }
      const Clock::time_point now = Clock::now();
      if (now - last > kStopped) {
        note_crowd(now);
        return condition();
      }
      last = now;
    }
    return condition();
  }

  void note_crowd(Clock::time_point now) noexcept {
    crowded_until_.store((now + kCrowded).time_since_epoch().count(), std::memory_order_relaxed);
  }

  /// Workers that compute or look out.
  int awake() const noexcept {
    return started_.load(std::memory_order_relaxed) - sleeping_.load(std::memory_order_seq_cst);
  }

  bool is_crowded(Clock::time_point now) const noexcept {
    return awake() + callers_.load(std::memory_order_relaxed) > cpus_ ||
           now.time_since_epoch().count() < crowded_until_.load(std::memory_order_relaxed);
  }

  const int cpus_ = available_cpus();
  alignas(kCacheLine) FutexWord published_{0};  ///< loops so far: what workers look out for
  alignas(kCacheLine) std::atomic<int> sleeping_{0};
  std::atomic<int> started_{0};
  alignas(kCacheLine) std::atomic<int> callers_{0};  ///< threads that have a loop
  std::atomic<int> wanted_{0};                       ///< workers that these loops have parts for
  std::atomic<int> caller_cpu_{-1};                  ///< where the last loop was begun
  std::atomic<bool> are_moved_{false};               ///< some workers have left a core to a caller
  std::atomic<Clock::rep> crowded_until_{0};
  std::atomic<bool> is_starting_{false};
  int loops_to_wait_ = 0;  ///< until the system is asked for threads again; with is_starting_
  std::array<LoopSlot, kSlots> slots_;
  std::array<WorkerPlace, kMaxShares> places_;  ///< of workers, by their index
};

/// Those of this process, once a loop wanted some.
constinit std::atomic<Workers*> current{nullptr};

/// A child of fork has none of its parent's threads, and starts its own. What it leaves behind is
/// small, and nobody knows who was in the middle of it.
void forget_workers() noexcept {
  current.store(nullptr, std::memory_order_relaxed);
  in_loop = false;
}

/// Before there are threads. False until then: loops are their caller's.
const bool is_told_of_forks = pthread_atfork(nullptr, nullptr, forget_workers) == 0;

/// nullptr if there is no memory for them, or not yet.
Workers* workers() noexcept {
  Workers* seen = current.load(std::memory_order_acquire);
  if (seen != nullptr) return seen;
  if (!is_told_of_forks) return nullptr;
  std::unique_ptr<Workers> made(new (std::nothrow) Workers);
  if (made == nullptr) return nullptr;
  if (current.compare_exchange_strong(seen, made.get(), std::memory_order_acq_rel)) {
    seen = made.release();  // for good: threads may compute while the process ends
  }
  return seen;
}

}  // namespace

void Loop::run(int part) const {
  const std::int64_t grains = (size - 1) / grain + 1;
  const std::int64_t each = grains / parts();
  const std::int64_t more = grains % parts();  // so many first parts have one more
  const std::int64_t begin = (each * part + std::min<std::int64_t>(part, more)) * grain;
  const std::int64_t end = std::min(size, begin + (each + (part < more ? 1 : 0)) * grain);
  if (begin < end) body(begin, end);
}

void run_on_workers(const Loop& loop) noexcept {
  in_loop = true;
  if (Workers* const own = workers()) {
    own->run(loop);
  } else {
    for (int part = 0; part < loop.parts(); ++part) loop.run(part);
  }
  in_loop = false;
}

bool is_in_loop() noexcept { return in_loop; }

void let_workers_exceed_cpus(bool may) noexcept {
  may_exceed_cpus.store(may, std::memory_order_relaxed);
}

bool may_workers_exceed_cpus() noexcept { return may_exceed_cpus.load(std::memory_order_relaxed); }

}  // namespace tenure::kernels
