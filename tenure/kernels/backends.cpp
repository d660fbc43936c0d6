#include "tenure/kernels/cpu/table.h"
#include "tenure/ops/core/backend.h"

namespace tenure::ops {

// Each device has its line here.
Backend* find_backend(Device device) {
  if (device.kind == Device::Kind::cpu) return &kernels::cpu_backend();
  return nullptr;
}

}  // namespace tenure::ops
