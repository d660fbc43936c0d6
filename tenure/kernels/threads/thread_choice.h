#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstdint>

namespace tenure::kernels {

// Note: threads that help or stay away
//
// What it costs to have another thread help is other on each machine, and from one hour to the next
// where a host moves virtual cores about or somebody else computes; and how long a grain takes is a
// guess of the kernel's. So work is timed: a call of a kernel with all its loops (call_threads.h),
// or a loop that is no part of one. Of what is alike the first have all the threads that they may
// have; then some have half as many, and whichever took less is what the next ones have. From there
// half as many and twice as many are tried again, soon at first and seldom later. Results are the
// same however a loop is split, so nothing but time depends on this.

/// How many threads work of a kind has. Any thread may call anything: of two that come at the
/// same time one may undo what the other has noted, and no more.
class ThreadChoice {
 public:
  /// What it has this time: the most threads, halved so many times.
  struct Turn {
    int halvings = 0;
    bool is_timed = false;  ///< took() is to be told
  };

  /// For the next, which may have `most` threads, each time as many, 128 at most.
  Turn next(int most) noexcept;
  /// How long it took, if it was timed.
  void took(const Turn& turn, int most, float time) noexcept;
  /// It is to be for another kind.
  void forget() noexcept;

  static int threads(int most, int halvings) noexcept { return ((most - 1) >> halvings) + 1; }

  static constexpr int kHalvings = 8;

 private:
  /// Until one thread is left.
  static int halvings_of(int most) noexcept {
    return std::bit_width(static_cast<unsigned>(most - 1));
  }

  void change(int halvings) noexcept;
  float time_with(int halvings) const noexcept {
    return times_[static_cast<std::size_t>(halvings)].load(std::memory_order_relaxed);
  }

  std::atomic<std::uint32_t> turns_{0};
  std::atomic<int> changes_{0};
  std::atomic<int> halvings_{0};                       ///< what took least
  std::array<std::atomic<float>, kHalvings> times_{};  ///< by halvings; 0: not known
};

/// The process's, by whatever number those that are alike have. Few places serve all kinds: who
/// finds another one in its place begins anew.
ThreadChoice& choice_of(std::uint64_t kind) noexcept;

/// A number that any other pair of numbers is unlikely to give, for kinds.
constexpr std::uint64_t mixed(std::uint64_t number, std::uint64_t next) noexcept {
  number = (number ^ next) * 0x9e3779b97f4a7c15;
  return number ^ number >> 32;
}

}  // namespace tenure::kernels
