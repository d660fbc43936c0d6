#include "tenure/kernels/workers.h"

#include <linux/futex.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <memory>
#include <new>
#include <system_error>
#include <thread>

#include "tenure/kernels/cpus.h"

namespace tenure::kernels {
namespace {

using Clock = std::chrono::steady_clock;
using Word = std::atomic<std::uint32_t>;

constexpr std::size_t kCacheLine = 64;
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

void pause() noexcept {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#else
  std::this_thread::yield();
#endif
}

void sleep_while(const Word& word, std::uint32_t value) noexcept {
  syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, value, nullptr, nullptr, 0);
}

void wake(const Word& word, int threads) noexcept {
  syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, threads, nullptr, nullptr, 0);
}

/// One thread's loop, for workers to find.
class Slot {
 public:
  bool take() noexcept {
    return !is_taken_.load(std::memory_order_relaxed) &&
           !is_taken_.exchange(true, std::memory_order_acquire);
  }
  void give_back() noexcept { is_taken_.store(false, std::memory_order_release); }

  void publish(const Loop& loop) noexcept {
    loop_.store(&loop, std::memory_order_relaxed);
    unfinished_.store(static_cast<std::uint32_t>(loop.parts), std::memory_order_relaxed);
    number_and_parts_.store(++number_ * kPartsRange + static_cast<std::uint64_t>(loop.parts),
                            std::memory_order_release);
  }

  /// Takes parts, the first of them `first` if it is free, until none is left to take.
  void help(int first) noexcept {
    const std::uint64_t seen = number_and_parts_.load(std::memory_order_acquire);
    const auto parts = static_cast<int>(seen % kPartsRange);
    for (int i = 0; i < parts; ++i) {
      const int part = (first + i) % parts;
      if (claim(seen / kPartsRange, part)) {
        loop_.load(std::memory_order_relaxed)->run(part);
        finish();
      }
    }
  }

  Word& unfinished() noexcept { return unfinished_; }
  /// In `unfinished`, beside the number of parts: the caller sleeps.
  static constexpr std::uint32_t kCallerSleeps = 1u << 31;

 private:
  static constexpr std::uint64_t kPartsRange = 1024;
  static_assert(kMaxParts < kPartsRange);

  struct alignas(kCacheLine) Part {
    /// The last loop of which somebody has taken this part.
    std::atomic<std::uint64_t> number{0};
  };

  bool claim(std::uint64_t number, int part) noexcept {
    std::atomic<std::uint64_t>& taken = parts_[static_cast<std::size_t>(part)].number;
    std::uint64_t last = taken.load(std::memory_order_relaxed);
    return last < number && taken.compare_exchange_strong(last, number, std::memory_order_relaxed);
  }

  void finish() noexcept {
    if (unfinished_.fetch_sub(1, std::memory_order_acq_rel) == (kCallerSleeps | 1)) {
      wake(unfinished_, 1);
    }
  }

  alignas(kCacheLine) std::atomic<bool> is_taken_{false};
  std::uint64_t number_ = 0;  ///< of the last loop; whoever has taken the slot counts
  alignas(kCacheLine) std::atomic<std::uint64_t> number_and_parts_{0};
  std::atomic<const Loop*> loop_{nullptr};
  alignas(kCacheLine) Word unfinished_{0};
  std::array<Part, kMaxParts> parts_;
};

class Workers {
 public:
  void run(const Loop& loop) noexcept {
    Slot* const slot = take_slot();
    if (slot == nullptr) {
      for (int part = 0; part < loop.parts; ++part) loop.run(part);
      return;
    }
    if (started_.load(std::memory_order_relaxed) < loop.parts - 1) start(loop.parts - 1);
    const int helpers = loop.parts - 1;
    callers_.fetch_add(1, std::memory_order_relaxed);
    const int wanted = wanted_.fetch_add(helpers, std::memory_order_relaxed) + helpers;
    slot->publish(loop);
    published_.fetch_add(1, std::memory_order_seq_cst);
    const int missing = wanted - awake();
    if (missing > 0) wake(published_, std::min(missing, helpers));
    slot->help(0);
    wait_for_parts(*slot);
    wanted_.fetch_sub(helpers, std::memory_order_relaxed);
    callers_.fetch_sub(1, std::memory_order_relaxed);
    slot->give_back();
  }

 private:
  Slot* take_slot() noexcept {
    for (Slot& slot : slots_) {
      if (slot.take()) return &slot;
    }
    return nullptr;
  }

  /// As many workers as that, or as the system gives; then it is asked again after some loops.
  void start(int wanted) noexcept {
    constexpr int kLoopsToWait = 1000;
    wanted = std::min(wanted, kMaxParts - 1);
    if (is_starting_.exchange(true, std::memory_order_acquire)) return;
    if (loops_to_wait_ > 0) {
      --loops_to_wait_;
    } else {
      // What a program does with signals is for its own threads.
      sigset_t all;
      sigset_t before;
      sigfillset(&all);
      pthread_sigmask(SIG_SETMASK, &all, &before);
      try {
        for (int i = started_.load(std::memory_order_relaxed); i < wanted; ++i) {
          std::thread([this, i] { work(i + 1); }).detach();
          started_.store(i + 1, std::memory_order_relaxed);
        }
      } catch (const std::system_error&) {
        loops_to_wait_ = kLoopsToWait;
      } catch (const std::bad_alloc&) {
        loops_to_wait_ = kLoopsToWait;
      }
      pthread_sigmask(SIG_SETMASK, &before, nullptr);
    }
    is_starting_.store(false, std::memory_order_release);
  }

  [[noreturn]] void work(int index) noexcept {
    pthread_setname_np(pthread_self(), "tenure worker");
    in_loop = true;
    for (;;) {
      const std::uint32_t seen = published_.load(std::memory_order_seq_cst);
      for (Slot& slot : slots_) slot.help(index);
      wait_for_loops(seen);
    }
  }

  void wait_for_loops(std::uint32_t seen) noexcept {
    const auto is_there = [&] { return published_.load(std::memory_order_relaxed) != seen; };
    if (look_out(is_there)) return;
    sleeping_.fetch_add(1, std::memory_order_seq_cst);
    if (published_.load(std::memory_order_seq_cst) == seen) sleep_while(published_, seen);
    sleeping_.fetch_sub(1, std::memory_order_relaxed);
  }

  void wait_for_parts(Slot& slot) noexcept {
    Word& unfinished = slot.unfinished();
    const auto are_over = [&] { return unfinished.load(std::memory_order_acquire) == 0; };
    if (are_over() || look_out(are_over)) return;
    std::uint32_t left = unfinished.fetch_or(Slot::kCallerSleeps, std::memory_order_acq_rel);
    while ((left & ~Slot::kCallerSleeps) != 0) {
      sleep_while(unfinished, left | Slot::kCallerSleeps);
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
        crowded_until_.store((now + kCrowded).time_since_epoch().count(),
                             std::memory_order_relaxed);
        return condition();
      }
      last = now;
    }
    return condition();
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
  alignas(kCacheLine) Word published_{0};  ///< loops so far: what workers look out for
  alignas(kCacheLine) std::atomic<int> sleeping_{0};
  std::atomic<int> started_{0};
  alignas(kCacheLine) std::atomic<int> callers_{0};  ///< threads that have a loop
  std::atomic<int> wanted_{0};                       ///< workers that these loops have parts for
  std::atomic<Clock::rep> crowded_until_{0};
  std::atomic<bool> is_starting_{false};
  int loops_to_wait_ = 0;  ///< until the system is asked for threads again; with is_starting_
  std::array<Slot, kSlots> slots_;
};

/// Those of this process, once a loop wanted some.
constinit std::atomic<Workers*> current{nullptr};

/// A child of fork has none of its parent's threads, and starts its own. What it leaves behind is
/// small, and nobody knows who was in the middle of it.
void forget_workers() noexcept {
  current.store(nullptr, std::memory_order_relaxed);
  in_loop = false;
}

/// nullptr if there is no memory for them.
Workers* workers() noexcept {
  Workers* seen = current.load(std::memory_order_acquire);
  if (seen != nullptr) return seen;
  static constinit std::atomic<bool> is_told_of_forks{false};
  if (!is_told_of_forks.exchange(true) && pthread_atfork(nullptr, nullptr, forget_workers) != 0) {
    is_told_of_forks = false;
    return nullptr;
  }
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
  const std::int64_t begin = grains * part / parts * grain;
  const std::int64_t end = std::min(size, grains * (part + 1) / parts * grain);
  if (begin < end) body(begin, end);
}

void run_on_workers(const Loop& loop) noexcept {
  in_loop = true;
  if (Workers* const own = workers()) {
    own->run(loop);
  } else {
    for (int part = 0; part < loop.parts; ++part) loop.run(part);
  }
  in_loop = false;
}

bool is_in_loop() noexcept { return in_loop; }

}  // namespace tenure::kernels
