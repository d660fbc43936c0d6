#include "tenure/ops/core/backend.h"

#include <fmt/format.h>

#include <atomic>
#include <utility>

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
namespace {

/// Loops that stay for the process, as kernels do. A list that needs no lock: no fork finds it
/// held.
struct KeptLoop {
  std::shared_ptr<const PreparedLoop> loop;
  KeptLoop* next = nullptr;
};
constinit std::atomic<KeptLoop*> kept_loops = nullptr;

}  // namespace

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

const PreparedLoop& ask_for_loop(const OpRecord& op, Device device, DType common) {
  static_cast<void>(kernel_of(op, device));
  auto made = std::make_unique<KeptLoop>();
  made->loop = backend(device).prepare(loop_of(op, elementwise_types(op, common)));
  internal_check(made->loop != nullptr, "a device computes an op alone if it has a kernel for it");
  const PreparedLoop& now = op.kernels.set_loop(device, common, *made->loop);
  if (&now != made->loop.get()) return now;
  KeptLoop* const kept = made.release();
  kept->next = kept_loops.load(std::memory_order_relaxed);
  while (!kept_loops.compare_exchange_weak(kept->next, kept, std::memory_order_release)) {
  }
  return now;
}

void throw_no_kernel(const OpRecord& op, Device device) { throw DeviceError(op.name, device); }

}  // namespace tenure::ops
