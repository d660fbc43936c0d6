#pragma once

#include <atomic>
#include <cstdint>

namespace tenure::mem {

inline std::atomic<std::uint64_t> shared_ids{1};
inline std::atomic<std::uint64_t> shared_serials{1};

/// Hands one thread numbers that are unique in the process, taken from a shared counter in blocks.
/// It also knows how many it has given: tensors and storages need their numbers anyway, so that
/// counting them costs nothing more.
template <std::atomic<std::uint64_t>* shared>
class Numbers {
 public:
  std::uint64_t next() noexcept {
    std::uint64_t number = upcoming_.load(std::memory_order_relaxed);
    if (number == end_) [[unlikely]]
      number = refill();
    upcoming_.store(number + 1, std::memory_order_relaxed);
    return number;
  }

  /// Numbers from now on are at least this; from any thread.
  std::uint64_t upcoming() const noexcept { return upcoming_.load(std::memory_order_acquire); }

  /// From any thread.
  std::int64_t given() const noexcept {
    for (;;) {
      const std::uint32_t before = refills_.load(std::memory_order_acquire);
      const std::uint64_t upcoming = upcoming_.load(std::memory_order_acquire);
      const std::uint64_t skipped = skipped_.load(std::memory_order_acquire);
      if ((before & 1) == 0 && refills_.load(std::memory_order_relaxed) == before) {
        return static_cast<std::int64_t>(upcoming - skipped);
      }
    }
  }

 private:
  static constexpr std::uint64_t kBlock = 4096;

  /// refills_ is odd meanwhile: who reads then tries again.
  [[gnu::noinline]] std::uint64_t refill() noexcept {
    const std::uint64_t begin = shared->fetch_add(kBlock, std::memory_order_relaxed);
    const std::uint64_t skipped = skipped_.load(std::memory_order_relaxed) + begin - end_;
    refills_.fetch_add(1, std::memory_order_acq_rel);
    skipped_.store(skipped, std::memory_order_release);
    upcoming_.store(begin, std::memory_order_release);
    refills_.fetch_add(1, std::memory_order_release);
    end_ = begin + kBlock;
    return begin;
  }

  std::atomic<std::uint64_t> upcoming_{0};
  std::uint64_t end_ = 0;
  std::atomic<std::uint64_t> skipped_{0};  // numbers below upcoming_ that went to others
  std::atomic<std::uint32_t> refills_{0};
};

}  // namespace tenure::mem
