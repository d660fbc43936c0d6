#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "tenure/memory/pool/devices.h"
#include "tenure/ops/core/backend.h"
#include "tenure/profile/clock.h"

// Note: times of a device that computes later
//
// What an op of such a device takes is not what its call takes. So where a recording is on, a mark
// goes into the device's queue behind each op, and when the device has come there, the recording is
// told so: nobody waits. The device began an op when it had ended the one before, or when it was
// given it, if that was later.
//
// The device has a clock of its own, which a constant takes to the recording's. Which,
// is found out when a recording begins, by marks that are waited for. From then on each mark is
// told not before it was asked for, and not after it was seen to have passed; where that does not
// fit, the clocks have drifted apart, and the constant changes.

namespace tenure::profile {

/// The marks in one device's queue.
class DeviceTimes {
 public:
  /// Of a device that computes at once there is no queue.
  explicit DeviceTimes(std::unique_ptr<ops::QueueClock> queue) : queue_(std::move(queue)) {}
  bool is_later() const { return queue_ != nullptr; }

  /// For a recording that begins, whose clock is `host`: marks from before are forgotten, and the
  /// device comes to the end of its queue.
  void begin(const Clock& host) noexcept;
  /// Puts a mark behind what the device was given so far. `number` is none of an earlier one's.
  void mark(std::uint64_t number) noexcept;
  /// Calls `tell(number, time_ns)` for the marks that the device has come to since it was asked
  /// last, in their order; with `waits`, for all that there are when it is called.
  template <class Tell>
  void tell_passed(bool waits, const Tell& tell) noexcept {
    const std::lock_guard lock(mutex_);
    for (std::size_t left = waits ? asked_.size() : kAtOnce; left > 0; --left) {
      const std::optional<ops::QueueClock::Passed> passed = queue_->next(waits);
      if (!passed.has_value()) return;
      tell(passed->number, time_of(*passed, host_.now()));
    }
  }

 private:
  struct Asked {
    std::uint64_t number = 0;
    std::int64_t time_ns = 0;
  };
  /// Marks come one by one, and are looked after with each: that is enough to keep up.
  static constexpr std::size_t kAtOnce = 4;

  std::int64_t time_of(const ops::QueueClock::Passed& passed, std::int64_t seen) noexcept;

  std::mutex mutex_;
  const std::unique_ptr<ops::QueueClock> queue_;
  Clock host_{};             ///< the recording's
  std::deque<Asked> asked_;  ///< marks that the device has not come to, as far as is known
  std::int64_t offset_ = 0;  ///< from the device's clock to the recording's
};

/// Those of all devices, made when they are first asked for, for good.
class AllDeviceTimes {
 public:
  /// nullptr: they were not made.
  DeviceTimes* find(Device device) const noexcept {
    return places_[mem::place_of(device)].load(std::memory_order_acquire);
  }
  /// Makes those of a device and begins them, unless another thread was faster. nullptr: there is
  /// no memory for them.
  DeviceTimes* make(Device device, const Clock& host) noexcept;
  /// For a recording that begins, of all devices that are present.
  void begin(const Clock& host) noexcept;
  /// In a child of a fork: another thread may have been using them.
  void forget() noexcept;

 private:
  std::array<std::atomic<DeviceTimes*>, mem::kDevices> places_{};
};

}  // namespace tenure::profile
