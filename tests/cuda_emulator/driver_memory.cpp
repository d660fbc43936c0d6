#include <iterator>
#include <map>
#include <mutex>

#include "tests/cuda_emulator/driver.h"

// Memory, what is mapped of it, and copies.

namespace {

using tenure::test::Command;
using tenure::test::current_gpu;
using tenure::test::EmulatedGpu;
using tenure::test::gpu_at;
using tenure::test::queue;
using tenure::test::state;
using tenure::test::state_with_memory;

std::mutex mutex;

/// Memory as cuMemCreate gives it, and what is mapped of it.
struct Memory {
  EmulatedGpu* gpu;
  std::int64_t place;
  std::size_t bytes;
  bool is_released = false;
  bool is_mapped = false;
};
std::map<CUmemGenericAllocationHandle, Memory> memories;
std::map<CUdeviceptr, CUmemGenericAllocationHandle> mappings;
CUmemGenericAllocationHandle last_memory = 0;

/// Gives memory back that is neither held nor mapped. With the lock.
void end_if_unused(CUmemGenericAllocationHandle handle) {
  const auto found = memories.find(handle);
  const Memory& memory = found->second;
  if (!memory.is_released || memory.is_mapped) return;
  memory.gpu->give_back(memory.place, memory.bytes);
  memories.erase(found);
}

}  // namespace

extern "C" {

CUresult cuMemGetInfo(std::size_t* free, std::size_t* total) {
  if (const CUresult now = state(); now != CUDA_SUCCESS) return now;
  *free = current_gpu().free_memory();
  *total = current_gpu().memory();
  return CUDA_SUCCESS;
}
CUresult cuMemGetAllocationGranularity(std::size_t* bytes, const CUmemAllocationProp*,
                                       CUmemAllocationGranularity_flags) {
  *bytes = EmulatedGpu::kGranule;
  return CUDA_SUCCESS;
}
CUresult cuMemAddressReserve(CUdeviceptr* begin, std::size_t bytes, std::size_t, CUdeviceptr,
                             unsigned long long) {
  if (const CUresult now = state(); now != CUDA_SUCCESS) return now;
  if (bytes > tenure::test::kAddressesOfOne) return CUDA_ERROR_OUT_OF_MEMORY;
  *begin = current_gpu().addresses();
  return CUDA_SUCCESS;
}
CUresult cuMemCreate(CUmemGenericAllocationHandle* handle, std::size_t bytes,
                     const CUmemAllocationProp* properties, unsigned long long) {
  if (const CUresult now = state_with_memory(); now != CUDA_SUCCESS) return now;
  if (bytes == 0 || bytes % EmulatedGpu::kGranule != 0) return CUDA_ERROR_INVALID_VALUE;
  EmulatedGpu& gpu = gpu_at(properties->location.id);
  const std::int64_t place = gpu.take(bytes);
  if (place < 0) return CUDA_ERROR_OUT_OF_MEMORY;
  const std::lock_guard lock(mutex);
  *handle = ++last_memory;
  memories.emplace(*handle, Memory{.gpu = &gpu, .place = place, .bytes = bytes});
  return CUDA_SUCCESS;
}
CUresult cuMemMap(CUdeviceptr at, std::size_t bytes, std::size_t,
                  CUmemGenericAllocationHandle handle, unsigned long long) {
  if (const CUresult now = state_with_memory(); now != CUDA_SUCCESS) return now;
  const std::lock_guard lock(mutex);
  Memory& memory = memories.at(handle);
  const auto next = mappings.lower_bound(at);
  const bool is_free = (next == mappings.end() || next->first >= at + bytes) &&
                       (next == mappings.begin() ||
                        std::prev(next)->first + memories.at(std::prev(next)->second).bytes <= at);
  if (!is_free || memory.is_mapped || bytes != memory.bytes || at % EmulatedGpu::kGranule != 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  Command command{};
  command.kind = Command::map;
  command.to = at;
  command.from = static_cast<std::uint64_t>(memory.place);
  command.bytes = bytes;
  if (memory.gpu->ask(command) == 0) return CUDA_ERROR_OUT_OF_MEMORY;
  memory.is_mapped = true;
  mappings.emplace(at, handle);
  return CUDA_SUCCESS;
}
CUresult cuMemSetAccess(CUdeviceptr, std::size_t, const CUmemAccessDesc*, std::size_t) {
  return state();
}
CUresult cuMemUnmap(CUdeviceptr at, std::size_t bytes) {
  const std::lock_guard lock(mutex);
  const auto found = mappings.find(at);
  if (found == mappings.end()) return CUDA_ERROR_INVALID_VALUE;
  Memory& memory = memories.at(found->second);
  if (memory.bytes != bytes) return CUDA_ERROR_INVALID_VALUE;
  Command command{};
  command.kind = Command::unmap;
  command.to = at;
  command.bytes = bytes;
  memory.gpu->ask(command);
  memory.is_mapped = false;
  const CUmemGenericAllocationHandle handle = found->second;
  mappings.erase(found);
  end_if_unused(handle);
  return CUDA_SUCCESS;
}
CUresult cuMemRelease(CUmemGenericAllocationHandle handle) {
  const std::lock_guard lock(mutex);
  memories.at(handle).is_released = true;
  end_if_unused(handle);
  return CUDA_SUCCESS;
}
CUresult cuMemHostAlloc(void** begin, std::size_t bytes, unsigned) {
  if (const CUresult now = state_with_memory(); now != CUDA_SUCCESS) return now;
  *begin = current_gpu().pin(bytes);
  return *begin == nullptr ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS;
}
CUresult cuMemFreeHost(void* begin) {
  return current_gpu().is_pinned(begin) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuMemcpyDtoDAsync(CUdeviceptr to, CUdeviceptr from, std::size_t bytes, CUstream stream) {
  if (const CUresult now = state(); now != CUDA_SUCCESS) return now;
  Command command{};
  command.kind = Command::copy;
  command.to = to;
  command.from = from;
  command.bytes = bytes;
  return queue(*stream, command);
}
CUresult cuMemcpyHtoDAsync(CUdeviceptr to, const void* from, std::size_t bytes, CUstream stream) {
  if (stream->gpu->is_pinned(from)) {
    return cuMemcpyDtoDAsync(to, reinterpret_cast<CUdeviceptr>(from), bytes, stream);
  }
  if (const CUresult now = state(); now != CUDA_SUCCESS) return now;
  Command command{};
  command.kind = Command::write;
  command.to = to;
  command.bytes = bytes;
  command.attached = bytes;
  return queue(*stream, command, from);
}
CUresult cuMemcpyDtoHAsync(void* to, CUdeviceptr from, std::size_t bytes, CUstream stream) {
  // Of other memory the driver's own staging would do; Tenure has its own.
  if (!stream->gpu->is_pinned(to)) return CUDA_ERROR_INVALID_VALUE;
  return cuMemcpyDtoDAsync(reinterpret_cast<CUdeviceptr>(to), from, bytes, stream);
}
static CUresult fill(CUdeviceptr to, std::uint64_t value, std::uint32_t width, std::size_t count,
                     CUstream stream) {
  if (const CUresult now = state(); now != CUDA_SUCCESS) return now;
  Command command{};
  command.kind = Command::fill;
  command.to = to;
  command.from = value;
  command.width = width;
  command.bytes = count * width;
  return queue(*stream, command);
}
CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value, std::size_t count, CUstream stream) {
  return fill(to, value, 1, count, stream);
}
}
