#include "tenure/ops/core/backend.h"

#include <fmt/format.h>

namespace tenure {

DeviceError::DeviceError(std::string_view op, Device device)
    : Error(op.empty()
                ? fmt::format("there is no device {}; this build computes on the cpu",
                              name_of(device))
                : fmt::format("{}: {} has no kernel for it; move its inputs to the cpu and compute "
                              "it there",
                              op, name_of(device))),
      op_(op),
      device_(device) {}

DeviceError::DeviceError(std::string_view op, Device device, Device other)
    : Error(fmt::format("{}: its inputs are on {} and on {}; bring them to one device", op,
                        name_of(device), name_of(other))),
      op_(op),
      device_(device) {}

}  // namespace tenure

namespace tenure::ops {
const KernelSlot kNoKernel{};

Backend& backend(Device device) {
  Backend* const found = find_backend(device);
  if (found == nullptr) throw DeviceError("", device);
  return *found;
}

bool needs_kernel(const OpRecord& op) {
  if (op.expand != nullptr) return false;
  return op.elementwise != nullptr || op.infer != nullptr;
}

const KernelSlot& ask_for_kernel(const OpRecord& op, Device device) {
  const Backend* const asked = find_backend(device);
  if (asked == nullptr) return kNoKernel;
  const KernelSlot* const found = asked->find(op);
  op.kernels.set(device, found == nullptr ? kNoKernel : *found);
  return *op.kernels.get(device);
}

void throw_no_kernel(const OpRecord& op, Device device) { throw DeviceError(op.name, device); }

}  // namespace tenure::ops
