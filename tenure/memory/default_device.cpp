#include "tenure/memory/default_device.h"

#include <atomic>

#include "tenure/memory/pool/devices.h"

namespace tenure {
namespace {

std::atomic<Device> device_of_process{cpu};

struct Scoped {
  Device device = cpu;
  bool is_set = false;
};
thread_local constinit Scoped scoped;

void require(Device device, const char* user, Site site) {
  if (device != cpu) mem::require_device(device, user, site);
}

}  // namespace

Device default_device() noexcept {
  return scoped.is_set ? scoped.device : device_of_process.load(std::memory_order_relaxed);
}

void set_default_device(Device device, Site site) {
  require(device, "set_default_device", site);
  device_of_process.store(device, std::memory_order_relaxed);
}

DeviceScope::DeviceScope(Device device, Site site)
    : outer_(scoped.device), had_outer_(scoped.is_set) {
  require(device, "DeviceScope", site);
  scoped = {.device = device, .is_set = true};
}

DeviceScope::~DeviceScope() { scoped = {.device = outer_, .is_set = had_outer_}; }

}  // namespace tenure
