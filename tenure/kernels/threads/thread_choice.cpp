#include "tenure/kernels/threads/thread_choice.h"

#include <algorithm>
#include <bit>
#include <cstddef>

namespace tenure::kernels {
namespace {

/// Turns from one trial to the next: of the first ones, and of those after a change; then more and
/// more.
constexpr std::uint32_t kSoon = 16;
constexpr std::uint32_t kFirst = 64;
constexpr std::uint32_t kSeldom = 256;
/// So many changes begin anew; more are of two that are as good.
constexpr int kMaxChanges = 16;
/// Turns of a period that are timed as they are, but for the first ones, which all are; and turns
/// of each trial: the first ones find threads asleep and cold caches.
constexpr std::uint32_t kTimed = 4;
constexpr std::uint32_t kTried = 3;
/// More threads than before must gain so much: others may want the cores.
constexpr float kWorthwhile = 0.95F;
/// In one of how many periods what takes so many times as long is tried. What was measured first
/// may have been disturbed.
std::uint32_t periods_of(float times_as_long, std::uint32_t turn) noexcept {
  if (turn < kFirst || times_as_long < 1.3F) return 1;
  if (turn < 8 * kFirst) return 2;
  return times_as_long < 4 ? 8 : 64;
}

/// A choice and the kind that it is for; 0: none.
struct alignas(64) Place {
  std::atomic<std::uint64_t> kind{0};
  ThreadChoice choice;
};
static_assert(sizeof(Place) == 64);
constexpr std::size_t kPlaces = 512;
constinit std::array<Place, kPlaces> places;

}  // namespace

ThreadChoice::Turn ThreadChoice::next(int most) noexcept {
  const std::uint32_t turn = turns_.load(std::memory_order_relaxed);
  turns_.store(turn + 1, std::memory_order_relaxed);
  const int now = halvings_.load(std::memory_order_relaxed);
  const std::uint32_t period = std::clamp(std::bit_floor(turn / 8), kSoon, kSeldom);
  const std::uint32_t phase = turn % period;
  const auto trial_of = [&](int halvings) -> Turn {
    if (halvings < 0 || halvings > halvings_of(most)) return {.halvings = now};
    const std::uint32_t periods = periods_of(time_with(halvings) / time_with(now), turn);
    if (turn / period % periods != periods - 1) return {.halvings = now};
    return {.halvings = halvings, .is_timed = true};
  };
  if (phase < kTimed || (turn < kFirst && phase < period - 2 * kTried)) {
    return {.halvings = now, .is_timed = true};
  }
  if (phase >= period - kTried) return trial_of(now + 1);
  if (phase >= period - 2 * kTried) return trial_of(now - 1);
  return {.halvings = now};
}

void ThreadChoice::took(const Turn& turn, int most, float time) noexcept {
  // The least of late: what disturbs makes it longer, never shorter.
  std::atomic<float>& known = times_[static_cast<std::size_t>(turn.halvings)];
  float t = known.load(std::memory_order_relaxed);
  t = t == 0 || time < t ? time : t + std::min(time - t, t) / 8;
  known.store(t, std::memory_order_relaxed);

  const int now = halvings_.load(std::memory_order_relaxed);
  const float own = time_with(now);
  const float fewer = now < halvings_of(most) ? time_with(now + 1) : 0;
  const float more = now > 0 ? time_with(now - 1) : 0;
  if (fewer > 0 && fewer < own) {
    change(now + 1);
  } else if (more > 0 && more < own * kWorthwhile) {
    change(now - 1);
  }
}

void ThreadChoice::change(int halvings) noexcept {
  halvings_.store(halvings, std::memory_order_relaxed);
  const int changes = changes_.load(std::memory_order_relaxed);
  if (changes == kMaxChanges) return;
  changes_.store(changes + 1, std::memory_order_relaxed);
  turns_.store(0, std::memory_order_relaxed);
}

void ThreadChoice::forget() noexcept {
  for (std::atomic<float>& time : times_) time.store(0, std::memory_order_relaxed);
  halvings_.store(0, std::memory_order_relaxed);
  changes_.store(0, std::memory_order_relaxed);
  turns_.store(0, std::memory_order_relaxed);
}

ThreadChoice& choice_of(std::uint64_t kind) noexcept {
  kind |= 1;
  Place& place = places[(kind >> 1) % kPlaces];
  if (place.kind.load(std::memory_order_relaxed) != kind) [[unlikely]] {
    place.kind.store(kind, std::memory_order_relaxed);
    place.choice.forget();
  }
  return place.choice;
}

}  // namespace tenure::kernels
