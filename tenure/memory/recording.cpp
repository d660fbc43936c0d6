#include "tenure/memory/recording.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <new>
#include <utility>

#include "tenure/base/error.h"
#include "tenure/memory/out_of_memory.h"
#include "tenure/memory/threads/call.h"
#include "tenure/memory/threads/fork.h"

namespace tenure {
namespace {

struct Ring {
  std::vector<MemoryEvent> events;  // its size is the capacity
  std::uint64_t written = 0;
  const mem::ThreadContext* maker = nullptr;
};

constinit std::mutex events_mutex;
Ring* ring = nullptr;

/// The latest event of a kind on a storage by the same thread, among the last few.
MemoryEvent* find_recent(MemoryEvent::Kind kind, const MemoryEvent& event) noexcept {
  constexpr std::uint64_t kFew = 32;
  const std::uint64_t capacity = ring->events.size();
  const std::uint64_t count = std::min({ring->written, capacity, kFew});
  for (std::uint64_t back = 1; back <= count; ++back) {
    MemoryEvent& recent = ring->events[(ring->written - back) % capacity];
    if (recent.kind == kind && recent.storage == event.storage && recent.thread == event.thread) {
      return &recent;
    }
  }
  return nullptr;
}

/// A storage does not know its tensors: what is to be told of an allocation comes with the tensor
/// made on it, and of a free with the disposal before it or the destroyed tensor after it.
void tell_of_storage(MemoryEvent& event) noexcept {
  using Kind = MemoryEvent::Kind;
  if (event.kind == Kind::free) {
    if (const MemoryEvent* const cause = find_recent(Kind::dispose, event)) {
      event.op = cause->op;
      event.site = cause->site;
    }
  } else if (event.kind == Kind::create || event.kind == Kind::destroy) {
    MemoryEvent* const open =
        find_recent(event.kind == Kind::create ? Kind::allocate : Kind::free, event);
    if (open == nullptr || open->op != nullptr) return;
    open->op = event.op;
    open->site = event.site;
  }
}

std::int64_t nanoseconds_since_start() noexcept {
  static constinit std::atomic<std::int64_t> start{0};  // not yet
  const std::int64_t now = std::chrono::duration_cast<std::chrono::nanoseconds>(
                               std::chrono::steady_clock::now().time_since_epoch())
                               .count();
  std::int64_t first = start.load(std::memory_order_relaxed);
  if (first == 0 && start.compare_exchange_strong(first, now, std::memory_order_relaxed)) return 0;
  return now - first;
}

}  // namespace

Recording::Recording(std::size_t capacity, Site site) try {
  if (capacity == 0 || capacity > std::vector<MemoryEvent>().max_size()) {
    throw ValueError(fmt::format(
        "Recording: the capacity must be at least 1 and fit in memory, not {} events", capacity));
  }
  std::unique_ptr<Ring> fresh;
  try {
    fresh = std::make_unique<Ring>(Ring{.events = std::vector<MemoryEvent>(capacity)});
    fresh->maker = &mem::this_thread();
  } catch (const std::bad_alloc&) {
    mem::throw_out_of_memory(OutOfMemory::Cause::system, capacity * sizeof(MemoryEvent), nullptr);
  }
  const std::lock_guard lock(events_mutex);
  if (ring != nullptr) throw ValueError("Recording: another one is on");
  ring = fresh.release();
  mem::process_attention.fetch_or(mem::kAttendRecording, std::memory_order_relaxed);
} catch (Error& error) {
  mem::name_call(error, "Recording", site);
  throw;
}

Recording::~Recording() {
  const std::lock_guard lock(events_mutex);
  mem::process_attention.fetch_and(~mem::kAttendRecording, std::memory_order_relaxed);
  delete ring;
  ring = nullptr;
}

std::vector<MemoryEvent> Recording::events() const {
  const std::lock_guard lock(events_mutex);
  if (ring == nullptr) return {};  // in a child of fork
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
  const std::lock_guard lock(events_mutex);
  if (ring == nullptr) return 0;
  return ring->written - std::min<std::uint64_t>(ring->written, ring->events.size());
}

}  // namespace tenure

namespace tenure::mem {

std::mutex& ring_mutex() noexcept { return events_mutex; }

void drop_recording_of_others() noexcept {
  if (ring == nullptr || ring->maker == current_context) return;
  process_attention.fetch_and(~kAttendRecording, std::memory_order_relaxed);
  delete std::exchange(ring, nullptr);
}

void record(const ThreadContext& context, MemoryEvent event) noexcept {
  if ((process_attention.load(std::memory_order_relaxed) & kAttendRecording) == 0) return;
  event.thread = context.number;
  const std::lock_guard lock(events_mutex);
  if (ring == nullptr) return;
  event.time_ns = nanoseconds_since_start();
  tell_of_storage(event);
  ring->events[ring->written++ % ring->events.size()] = event;
}

}  // namespace tenure::mem
