#include "tenure/memory/recording.h"

#include <algorithm>
#include <chrono>
#include <mutex>

#include "tenure/base/error.h"

namespace tenure {
namespace {

struct Ring {
  std::vector<MemoryEvent> events;  // its size is the capacity
  std::uint64_t written = 0;
};

std::mutex ring_mutex;
Ring* ring = nullptr;

std::int64_t nanoseconds_since_start() noexcept {
  using Clock = std::chrono::steady_clock;
  static const Clock::time_point start = Clock::now();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - start).count();
}

}  // namespace

Recording::Recording(std::size_t capacity) {
  if (capacity == 0) throw ValueError("Recording: the capacity must be at least 1");
  const std::lock_guard lock(ring_mutex);
  if (ring != nullptr) throw ValueError("Recording: another one is on");
  ring = new Ring{.events = std::vector<MemoryEvent>(capacity)};
  mem::process_attention.fetch_or(mem::kAttendRecording, std::memory_order_relaxed);
}

Recording::~Recording() {
  const std::lock_guard lock(ring_mutex);
  mem::process_attention.fetch_and(~mem::kAttendRecording, std::memory_order_relaxed);
  delete ring;
  ring = nullptr;
}

std::vector<MemoryEvent> Recording::events() const {
  const std::lock_guard lock(ring_mutex);
  const std::size_t capacity = ring->events.size();
  if (ring->written <= capacity) {
    return {ring->events.begin(),
            ring->events.begin() + static_cast<std::ptrdiff_t>(ring->written)};
  }
  std::vector<MemoryEvent> ordered = ring->events;
  std::rotate(ordered.begin(),
              ordered.begin() + static_cast<std::ptrdiff_t>(ring->written % capacity),
              ordered.end());
  return ordered;
}

std::uint64_t Recording::dropped() const {
  const std::lock_guard lock(ring_mutex);
  return ring->written - std::min<std::uint64_t>(ring->written, ring->events.size());
}

}  // namespace tenure

namespace tenure::mem {

void record(const ThreadContext& context, MemoryEvent event) noexcept {
  if ((process_attention.load(std::memory_order_relaxed) & kAttendRecording) == 0) return;
  event.thread = context.number;
  const std::lock_guard lock(ring_mutex);
  if (ring == nullptr) return;
  event.time_ns = nanoseconds_since_start();
  ring->events[ring->written++ % ring->events.size()] = event;
}

}  // namespace tenure::mem
