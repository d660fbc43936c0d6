#include <fmt/format.h>
#include <pthread.h>

#include <array>
#include <atomic>
#include <mutex>

#include "tenure/kernels/cuda/driver/driver-inl.h"
#include "tenure/kernels/cuda/launch/gpu.h"
#include "tenure/kernels/cuda/memory/device_memory.h"
#include "tenure/memory/pool/devices.h"

// The GPUs that are in use, which stay for the process: at its end the driver cleans up, and nobody
// calls it when it may be gone.

namespace tenure::kernels::cuda {
namespace {

constinit std::array<std::atomic<Gpu*>, mem::kDevicesOfAKind> gpus{};
constinit std::mutex gpus_mutex;
constinit std::atomic<bool> forked{false};

Gpu* gpu_at(const void* address) {
  if (address == nullptr) return nullptr;
  for (const std::atomic<Gpu*>& one : gpus) {
    Gpu* const found = one.load(std::memory_order_acquire);
    if (found != nullptr && found->memory().has(address)) return found;
  }
  return nullptr;
}

}  // namespace

bool is_forked() noexcept { return forked.load(std::memory_order_relaxed); }

Gpu* gpu_of(const View& view) { return gpu_at(view.data); }

Gpu* gpu_of(const ops::Kernel& kernel) {
  for (const std::span<const View> views : {kernel.out, kernel.in}) {
    for (const View& view : views) {
      if (Gpu* const found = gpu_of(view)) return found;
    }
  }
  return nullptr;
}

Gpu& gpu(Device device) { return *gpus[device.index].load(std::memory_order_acquire); }

Gpu& make_gpu(int index) {
  const std::lock_guard lock(gpus_mutex);
  std::atomic<Gpu*>& place = gpus[static_cast<std::size_t>(index)];
  if (Gpu* const known = place.load(std::memory_order_acquire)) return *known;
  static const int registered =
      pthread_atfork(nullptr, nullptr, [] { forked.store(true, std::memory_order_relaxed); });
  static_cast<void>(registered);
  auto made = std::make_unique<Gpu>(index);
  place.store(made.get(), std::memory_order_release);
  return *made.release();
}

}  // namespace tenure::kernels::cuda
