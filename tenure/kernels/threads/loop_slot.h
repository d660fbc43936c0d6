#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "tenure/kernels/threads/futex.h"
#include "tenure/kernels/threads/workers.h"

namespace tenure::kernels {

inline constexpr std::size_t kCacheLine = 64;

/// One thread's loop, for workers to find.
class LoopSlot {
 public:
  bool take() noexcept {
    return !is_taken_.load(std::memory_order_relaxed) &&
           !is_taken_.exchange(true, std::memory_order_acquire);
  }
  void give_back() noexcept { is_taken_.store(false, std::memory_order_release); }

  void publish(const Loop& loop) noexcept {
    loop_.store(&loop, std::memory_order_relaxed);
    unfinished_.store(static_cast<std::uint32_t>(loop.parts()), std::memory_order_relaxed);
    offer_.store(Offer{++number_, loop.shares, loop.parts_of_share}.word(),
                 std::memory_order_release);
  }

  /// The loop is over: there is nothing to look for here.
  void withdraw() noexcept { offer_.store(0, std::memory_order_relaxed); }

  /// Takes parts, those of share `first` before others, until none is left to take. Whether it took
  /// any.
  bool help(int first) noexcept {
    const Offer offer(offer_.load(std::memory_order_acquire));
    std::uint32_t done = 0;
    for (int i = 0; i < offer.shares; ++i) {
      const int share = (first + i) % offer.shares;
      for (int part = claim(offer, share); part >= 0; part = claim(offer, share)) {
        loop_.load(std::memory_order_relaxed)->run(share * offer.parts + part);
        ++done;
      }
    }
    if (done > 0) finish(done);
    return done > 0;
  }

  FutexWord& unfinished() noexcept { return unfinished_; }
  /// In `unfinished`, beside the number of parts: the caller sleeps.
  static constexpr std::uint32_t kCallerSleeps = 1u << 31;

 private:
  /// A loop's number, its shares and the parts of each, in one word. None: no shares.
  struct Offer {
    std::uint64_t number;
    int shares;
    int parts;

    static constexpr int kShareBits = 8;
    static constexpr int kPartBits = 8;
    static_assert(kMaxShares < 1 << kShareBits && kMaxPartsOfShare < 1 << kPartBits);

    Offer(std::uint64_t n, int s, int p) : number(n), shares(s), parts(p) {}
    explicit Offer(std::uint64_t word)
        : number(word >> (kShareBits + kPartBits)),
          shares(static_cast<int>(word >> kPartBits) & ((1 << kShareBits) - 1)),
          parts(static_cast<int>(word) & ((1 << kPartBits) - 1)) {}
    std::uint64_t word() const {
      return (number << kShareBits | static_cast<std::uint64_t>(shares)) << kPartBits |
             static_cast<std::uint64_t>(parts);
    }
  };

  struct alignas(kCacheLine) Share {
    /// The last loop of which somebody has taken a part here, and how many parts of it are taken.
    std::atomic<std::uint64_t> taken{0};
  };

  /// The next part of a share, or -1 if none is left.
  int claim(const Offer& offer, int share) noexcept {
    constexpr std::uint64_t kRange = std::uint64_t{1} << Offer::kPartBits;
    std::atomic<std::uint64_t>& taken = shares_[static_cast<std::size_t>(share)].taken;
    std::uint64_t last = taken.load(std::memory_order_relaxed);
    for (;;) {
      if (last / kRange > offer.number) return -1;
      const std::uint64_t part = last / kRange == offer.number ? last % kRange : 0;
      if (part >= static_cast<std::uint64_t>(offer.parts)) return -1;
      if (taken.compare_exchange_weak(last, offer.number * kRange + part + 1,
                                      std::memory_order_relaxed)) {
        return static_cast<int>(part);
      }
    }
  }

  void finish(std::uint32_t parts) noexcept {
    if (unfinished_.fetch_sub(parts, std::memory_order_acq_rel) == (kCallerSleeps | parts)) {
      wake(unfinished_, 1);
    }
  }

  alignas(kCacheLine) std::atomic<bool> is_taken_{false};
  std::uint64_t number_ = 0;  ///< of the last loop; whoever has taken the slot counts
  alignas(kCacheLine) std::atomic<std::uint64_t> offer_{0};
  std::atomic<const Loop*> loop_{nullptr};
  alignas(kCacheLine) FutexWord unfinished_{0};
  std::array<Share, kMaxShares> shares_;
};

}  // namespace tenure::kernels
