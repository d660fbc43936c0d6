#include "tenure/ops/core/backend.h"

#include <fmt/format.h>

#include <array>
#include <atomic>
#include <utility>

#include "tenure/memory/pool/devices.h"

namespace tenure::ops {
namespace {

std::array<std::atomic<Backend*>, mem::kDevices> added{};

}  // namespace

const KernelSlot kNoKernel{};

void add_backend(Device device, Backend& backend) {
  const std::size_t place = mem::place_of(device);
  if (place == mem::kDevices) {
    throw ValueError(fmt::format("add_backend: there can be no device {}", name_of(device)));
  }
  Backend* none = nullptr;
  if (find_backend(device) != nullptr ||
      !added[place].compare_exchange_strong(none, &backend, std::memory_order_acq_rel)) {
    throw ValueError(fmt::format("add_backend: {} has a backend", name_of(device)));
  }
}

Backend* find_added_backend(Device device) noexcept {
  const std::size_t place = mem::place_of(device);
  return place == mem::kDevices ? nullptr : added[place].load(std::memory_order_acquire);
}

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
  const KernelSlot* const brought = op.kernels.everywhere();
  const KernelSlot* const found = brought != nullptr ? brought : asked->find(op);
  op.kernels.set(device, found == nullptr ? kNoKernel : *found);
  return *op.kernels.get(device);
}

const PreparedLoop& ask_for_loop(const OpRecord& op, Device device, DType common) {
  static_cast<void>(kernel_of(op, device));
  const std::shared_ptr<const PreparedLoop> made =
      backend(device).prepare(loop_of(op, elementwise_types(op, common)));
  internal_check(made != nullptr, "a device computes an op alone if it has a kernel for it");
  keep_for_process(made);  // as kernels stay
  return op.kernels.set_loop(device, common, *made);
}

void throw_no_kernel(const OpRecord& op, Device device) { throw DeviceError(op.name, device); }

}  // namespace tenure::ops
