#include "tenure/kernels/cuda/memory/device_memory.h"

#include <exception>

#include "tenure/base/units.h"
#include "tenure/kernels/cuda/driver/driver-inl.h"
#include "tenure/kernels/cuda/launch/gpu.h"

namespace tenure::kernels::cuda {
namespace {

const DriverFunctions& functions() { return driver().functions; }

CUdeviceptr address_of(const std::byte* p) { return reinterpret_cast<CUdeviceptr>(p); }

CUmemAllocationProp memory_of(Device device) {
  CUmemAllocationProp properties{};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = device.index};
  return properties;
}

}  // namespace

DeviceMemory::DeviceMemory(Gpu& gpu) : gpu_(gpu) {
  const CUmemAllocationProp properties = memory_of(gpu.device());
  gpu.enter();
  gpu.check(functions().cuMemGetAllocationGranularity(&granule_, &properties,
                                                      CU_MEM_ALLOC_GRANULARITY_MINIMUM),
            "ask how memory is mapped");
  reserved_ = round_up(4 * gpu.facts().memory, granule_);
  CUdeviceptr begin = 0;
  gpu.check(functions().cuMemAddressReserve(&begin, reserved_, granule_, 0, 0),
            "reserve addresses");
  begin_ = reinterpret_cast<std::byte*>(begin);
}

void* DeviceMemory::map(std::size_t bytes) noexcept try {
  if (is_forked() || gpu_.is_lost()) return nullptr;
  gpu_.enter();
  bytes = round_up(bytes, granule_);
  reap(false);
  if (void* const found = try_map(bytes)) return found;
  reap(true);
  return try_map(bytes);
} catch (const std::exception&) {
  return nullptr;
}

std::byte* DeviceMemory::find_room(std::size_t bytes) const {
  std::byte* free = begin_;
  for (const auto& [begin, segment] : segments_) {
    if (static_cast<std::size_t>(begin - free) >= bytes) return free;
    free = begin + segment.bytes;
  }
  return static_cast<std::size_t>(begin_ + reserved_ - free) >= bytes ? free : nullptr;
}

void* DeviceMemory::try_map(std::size_t bytes) {
  std::byte* const begin = find_room(bytes);
  if (begin == nullptr) return nullptr;
  const auto entry = segments_.emplace(begin, Segment{.bytes = bytes}).first;
  const CUmemAllocationProp properties = memory_of(gpu_.device());
  CUmemGenericAllocationHandle memory = 0;
  CUresult result = functions().cuMemCreate(&memory, bytes, &properties, 0);
  if (result == CUDA_SUCCESS) {
    result = functions().cuMemMap(address_of(begin), bytes, 0, memory, 0);
    if (result == CUDA_SUCCESS) {
      const CUmemAccessDesc access{.location = properties.location,
                                   .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
      result = functions().cuMemSetAccess(address_of(begin), bytes, &access, 1);
      if (result != CUDA_SUCCESS) functions().cuMemUnmap(address_of(begin), bytes);
    }
    functions().cuMemRelease(memory);  // what is mapped stays until it is unmapped
  }
  if (result != CUDA_SUCCESS) {
    segments_.erase(entry);
    return nullptr;
  }
  return begin;
}

void DeviceMemory::unmap(void* begin, std::size_t /*bytes*/) noexcept {
  if (is_forked() || gpu_.is_lost()) return;
  Segment& segment = segments_.find(static_cast<std::byte*>(begin))->second;
  segment.is_leaving = true;
  try {
    segment.event = gpu_.record();
  } catch (const std::exception&) {  // it leaves when all that is queued is waited for
    return;
  }
  reap(false);
}

bool DeviceMemory::is_unused(const Segment& segment, bool waits) {
  if (!segment.is_leaving) return false;
  if (!waits) return segment.event != nullptr && gpu_.has_passed(segment.event);
  if (segment.event == nullptr) {
    gpu_.wait();
  } else {
    gpu_.wait_for(segment.event);
  }
  return true;
}

void DeviceMemory::reap(bool waits) {
  for (auto it = segments_.begin(); it != segments_.end();) {
    const auto [begin, segment] = *it;
    if (!is_unused(segment, waits)) {
      ++it;
      continue;
    }
    if (segment.event != nullptr) gpu_.give_back(segment.event);
    functions().cuMemUnmap(address_of(begin), segment.bytes);
    it = segments_.erase(it);
  }
}

DeviceMemory::Room DeviceMemory::room() noexcept try {
  if (is_forked() || gpu_.is_lost()) return {};
  gpu_.enter();
  reap(false);
  std::size_t free = 0;
  std::size_t total = 0;
  if (functions().cuMemGetInfo(&free, &total) != CUDA_SUCCESS) return {};  // who waits is told why
  return {.taken = total - free, .total = total};
} catch (const std::exception&) {
  return {};
}

}  // namespace tenure::kernels::cuda
