#pragma once

#include "tenure/base/site.h"
#include "tenure/memory/kinds.h"

// Note: which device
//
// An op runs where its tensors are; what makes tensors of nothing (zeros(), tensor({1, 2}),
// uniform()) does so on the default device of its thread, and so do questions about memory that
// name no device. That is the CPU, unless set_default_device() says otherwise for the process, or a
// DeviceScope for a thread while it lives. What an op makes on its way (a number that becomes a
// tensor, the seed of a gradient, a composite's parts) is on the device of its inputs, and what a
// traced function makes is on the device that it is traced for. Files and datasets are read into
// memory of the CPU.

namespace tenure {

/// The innermost DeviceScope's of this thread, else the process's.
Device default_device() noexcept;
/// For all threads that have no DeviceScope. Throws ValueError for an absent device.
void set_default_device(Device device, Site site = Site::current());

/// While it lives, `device` is the default of this thread. Scopes nest. Throws ValueError for an
/// absent device.
class DeviceScope {
 public:
  explicit DeviceScope(Device device, Site site = Site::current());
  ~DeviceScope();
  DeviceScope(const DeviceScope&) = delete;
  DeviceScope& operator=(const DeviceScope&) = delete;

 private:
  Device outer_;
  bool had_outer_;
};

}  // namespace tenure
