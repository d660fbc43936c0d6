#include "tenure/memory/region.h"

#include "tenure/memory/pool/devices.h"

namespace tenure {

MemoryRegion::MemoryRegion(Device device, Site site)
    : device_((mem::require_device(device, "MemoryRegion", site), device)),
      watch_(device),
      begin_(memory(device)) {}

std::int64_t MemoryRegion::left_bytes() const { return memory(device_).bytes - begin_.bytes; }
std::int64_t MemoryRegion::left_tensors() const { return memory(device_).tensors - begin_.tensors; }
std::int64_t MemoryRegion::peak_bytes() const { return watch_.peak() - begin_.bytes; }
std::int64_t MemoryRegion::allocations() const {
  return memory(device_).allocations - begin_.allocations;
}
std::int64_t MemoryRegion::frees() const { return memory(device_).frees - begin_.frees; }

}  // namespace tenure
