#include "tests/cuda_emulator/driver.h"

#include <signal.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <mutex>

namespace {

using tenure::test::EmulatedGpu;

constexpr std::size_t kMostGpus = 4;

int number(const char* name, int fallback) {
  const char* const text = std::getenv(name);
  return text == nullptr ? fallback : std::atoi(text);
}

std::size_t memory_of_each() {
  return static_cast<std::size_t>(number("TENURE_EMULATED_MEMORY", 2048)) << 20;
}

std::mutex mutex;
std::array<CUctx_st*, kMostGpus> contexts{};
std::atomic<bool> is_initialized = false;
std::atomic<std::int64_t> calls_until_short = -1;
thread_local CUctx_st* current = nullptr;

}  // namespace

namespace tenure::test {

EmulatedGpu& gpu_at(int device) { return contexts[static_cast<std::size_t>(device)]->gpu; }

EmulatedGpu& current_gpu() { return current->gpu; }

CUresult state() {
  if (!is_initialized) return CUDA_ERROR_NOT_INITIALIZED;
  if (current == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  return current->gpu.fault() != 0 ? fault_of(current->gpu) : CUDA_SUCCESS;
}

CUresult state_with_memory() {
  if (const CUresult now = state(); now != CUDA_SUCCESS) return now;
  if (calls_until_short < 0) return CUDA_SUCCESS;
  if (calls_until_short == 0) return CUDA_ERROR_OUT_OF_MEMORY;
  --calls_until_short;
  return CUDA_SUCCESS;
}

CUresult fault_of(EmulatedGpu& gpu) {
  const int signal = gpu.fault();
  if (signal == SIGSEGV || signal == SIGBUS) return CUDA_ERROR_ILLEGAL_ADDRESS;
  if (signal == SIGILL) return CUDA_ERROR_MISALIGNED_ADDRESS;  // CMakeLists.txt has it so
  return CUDA_ERROR_LAUNCH_FAILED;
}

}  // namespace tenure::test

extern "C" {

CUresult cuInit(unsigned) {
  is_initialized = true;
  return number("TENURE_EMULATED_GPUS", 1) == 0 ? CUDA_ERROR_NO_DEVICE : CUDA_SUCCESS;
}
CUresult cuDriverGetVersion(int* version) {
  *version = number("TENURE_EMULATED_CUDA", 13000);
  return CUDA_SUCCESS;
}
CUresult cuGetErrorName(CUresult error, const char** text) {
  switch (error) {
    case CUDA_ERROR_OUT_OF_MEMORY:
      *text = "CUDA_ERROR_OUT_OF_MEMORY";
      break;
    case CUDA_ERROR_ILLEGAL_ADDRESS:
      *text = "CUDA_ERROR_ILLEGAL_ADDRESS";
      break;
    case CUDA_ERROR_MISALIGNED_ADDRESS:
      *text = "CUDA_ERROR_MISALIGNED_ADDRESS";
      break;
    case CUDA_ERROR_LAUNCH_FAILED:
      *text = "CUDA_ERROR_LAUNCH_FAILED";
      break;
    case CUDA_ERROR_INVALID_VALUE:
      *text = "CUDA_ERROR_INVALID_VALUE";
      break;
    default:
      *text = "CUDA_ERROR_UNKNOWN";
  }
  return CUDA_SUCCESS;
}
CUresult cuGetErrorString(CUresult error, const char** text) {
  *text = error == CUDA_ERROR_NO_DEVICE         ? "no CUDA-capable device is detected"
          : error == CUDA_ERROR_ILLEGAL_ADDRESS ? "an illegal memory access was encountered"
                                                : "as the emulated driver has it";
  return CUDA_SUCCESS;
}
CUresult cuDeviceGetCount(int* count) {
  *count = number("TENURE_EMULATED_GPUS", 1);
  return CUDA_SUCCESS;
}
CUresult cuDeviceGet(CUdevice* device, int index) {
  if (index < 0 || index >= number("TENURE_EMULATED_GPUS", 1)) return CUDA_ERROR_INVALID_DEVICE;
  *device = index;
  return CUDA_SUCCESS;
}
CUresult cuDeviceGetName(char* name, int length, CUdevice) {
  std::strncpy(name, "emulated GPU", static_cast<std::size_t>(length));
  return CUDA_SUCCESS;
}
CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute attribute, CUdevice) {
  switch (attribute) {
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR:
      *value = number("TENURE_EMULATED_CAPABILITY", 9);
      break;
    case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT:
      *value = 2;
      break;
    case CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED:
      *value = 1;
      break;
    default:
      *value = 0;
  }
  return CUDA_SUCCESS;
}
CUresult cuDeviceTotalMem(std::size_t* bytes, CUdevice) {
  *bytes = memory_of_each();
  return CUDA_SUCCESS;
}
CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice device) {
  const std::lock_guard lock(mutex);
  CUctx_st*& place = contexts[static_cast<std::size_t>(device)];
  if (place == nullptr) {
    auto* const made = new CUctx_st{.gpu = EmulatedGpu(device, memory_of_each())};
    if (!made->gpu.is_usable()) {
      delete made;
      return CUDA_ERROR_DEVICE_UNAVAILABLE;
    }
    place = made;
  }
  *context = place;
  return CUDA_SUCCESS;
}
// For tests: from the call on that takes memory after so many others that do; -1: there is memory.
void emulate_no_memory_after(std::int64_t calls) { calls_until_short = calls; }
CUresult cuCtxSetCurrent(CUcontext context) {
  current = context;
  return CUDA_SUCCESS;
}
}
