#include <optional>

#include "tenure/memory/ledger.h"
#include "tenure/profile/writer.h"

// What a Writer says of devices that compute later: when they did, and who has their memory.

namespace tenure::profile {

// All of this is done without the lock of the thread's buffer: a device may be waited for.

DeviceTimes* Writer::times_of(mem::ThreadContext& context, Device device) noexcept {
  if (device == cpu || recording_.load(std::memory_order_relaxed) == 0) return nullptr;
  DeviceTimes* times = device_times_.find(device);
  if (times == nullptr) [[unlikely]] {  // it was made known while the recording is on
    std::optional<Clock> clock;
    write_if_on(context, [&](ThreadBuffer&) { clock = clock_; });
    if (clock.has_value()) times = device_times_.make(device, *clock);
  }
  return times != nullptr && times->is_later() ? times : nullptr;
}

std::uint64_t Writer::next_mark(mem::ThreadContext& context, Device device) noexcept {
  if (times_of(context, device) == nullptr) return 0;
  return marks_.fetch_add(1, std::memory_order_relaxed) + 1;
}

void Writer::put_mark(mem::ThreadContext& context, Device device, std::uint64_t mark) noexcept {
  DeviceTimes* const times = times_of(context, device);
  if (times == nullptr) return;
  times->mark(mark);
  tell_passed(context, device, *times, false);
  sample_outside(context, device, kOutsideApart);
}

void Writer::tell_passed(mem::ThreadContext& context, Device device, DeviceTimes& times,
                         bool waits) noexcept {
  // Without a buffer it would wait for the lock that who ends the recording has.
  if (context.observed == nullptr) return;
  times.tell_passed(waits, [&](std::uint64_t number, std::int64_t time) {
    write(context, [&](ThreadBuffer&) {
      return Event{.kind = EventKind::reached,
                   .subject = number,
                   .extra = device_bits(device),
                   .third = static_cast<std::uint64_t>(time)};
    });
  });
}

void Writer::sample_outside(mem::ThreadContext& context, Device device,
                            std::int64_t apart_ns) noexcept {
  std::atomic<std::int64_t>& sampled = outside_sampled_[mem::place_of(device)];
  bool is_due = false;
  write_if_on(context, [&](ThreadBuffer&) {
    std::int64_t last = sampled.load(std::memory_order_relaxed);
    const std::int64_t time = now() + 1;  // 0: never
    is_due = (last == 0 || time - last >= apart_ns) &&
             sampled.compare_exchange_strong(last, time, std::memory_order_relaxed);
  });
  if (!is_due) return;
  const OutsideMemory outside = memory_outside(device);
  if (outside.total == 0) return;
  write(context, [&](ThreadBuffer&) {
    return Event{.kind = EventKind::outside,
                 .subject = static_cast<std::uint64_t>(outside.bytes),
                 .extra = device_bits(device),
                 .third = static_cast<std::uint64_t>(outside.total)};
  });
}

void Writer::finish_devices(mem::ThreadContext& context) noexcept {
  mem::for_each_device([&](Device device) {
    DeviceTimes* const times = times_of(context, device);
    if (times == nullptr) return;
    tell_passed(context, device, *times, true);
    sample_outside(context, device, 0);
  });
}

}  // namespace tenure::profile
