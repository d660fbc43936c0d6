#include "tenure/profile/device_times.h"

#include <cstdint>
#include <new>

namespace tenure::profile {

void DeviceTimes::begin(const Clock& host) noexcept {
  const std::lock_guard lock(mutex_);
  host_ = host;
  asked_.clear();
  while (queue_->next(true).has_value()) {
  }
  // The first try waits for what there is; that which took least says most.
  std::int64_t least = INT64_MAX;
  for (int turn = 0; turn < 6; ++turn) {
    const std::int64_t asked = host.now();
    if (!queue_->mark(0)) return;
    const std::optional<ops::QueueClock::Passed> passed = queue_->next(true);
    if (!passed.has_value()) return;
    const std::int64_t took = host.now() - asked;
    if (took >= least) continue;
    least = took;
    offset_ = asked + took / 2 - passed->ns;
  }
}

void DeviceTimes::mark(std::uint64_t number) noexcept try {
  const std::lock_guard lock(mutex_);
  asked_.push_back({.number = number, .time_ns = host_.now()});
  if (!queue_->mark(number)) asked_.pop_back();
} catch (const std::bad_alloc&) {  // NOLINT(bugprone-empty-catch): the time stays unknown
}

std::int64_t DeviceTimes::time_of(const ops::QueueClock::Passed& passed,
                                  std::int64_t seen) noexcept {
  while (!asked_.empty() && asked_.front().number != passed.number) asked_.pop_front();
  const std::int64_t earliest = asked_.empty() ? 0 : asked_.front().time_ns;
  if (!asked_.empty()) asked_.pop_front();
  if (passed.ns + offset_ < earliest) offset_ = earliest - passed.ns;
  if (passed.ns + offset_ > seen) offset_ = seen - passed.ns;
  return passed.ns + offset_;
}

DeviceTimes* AllDeviceTimes::make(Device device, const Clock& host) noexcept try {
  ops::Backend* const backend = ops::find_backend(device);
  auto made = std::make_unique<DeviceTimes>(backend == nullptr ? nullptr : backend->make_clock());
  if (made->is_later()) made->begin(host);
  DeviceTimes* known = nullptr;
  // Another thread may have been faster.
  const bool is_first = places_[mem::place_of(device)].compare_exchange_strong(known, made.get());
  return is_first ? made.release() : known;
} catch (const std::bad_alloc&) {
  return nullptr;
}

void AllDeviceTimes::begin(const Clock& host) noexcept {
  mem::for_each_device([&](Device device) {
    if (DeviceTimes* const known = find(device)) {
      if (known->is_later()) known->begin(host);
    } else {
      make(device, host);
    }
  });
}

void AllDeviceTimes::forget() noexcept {
  for (auto& place : places_) place.store(nullptr);
}

}  // namespace tenure::profile
