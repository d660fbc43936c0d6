#include "tenure/kernels/cuda/launch/staging.h"

#include <algorithm>
#include <cstring>

#include "tenure/kernels/cuda/driver/driver-inl.h"
#include "tenure/kernels/cuda/launch/gpu.h"

namespace tenure::kernels::cuda {
namespace {

CUdeviceptr device_byte(const void* p, std::size_t offset) {
  return reinterpret_cast<CUdeviceptr>(p) + offset;
}

}  // namespace

std::byte* Staging::make_slot() { return gpu_.pin(kSlotBytes); }

/// The one that is written to now, with room in it.
Staging::Slot& Staging::ready_slot() {
  Slot* slot = &slots_[at_];
  if (slot->begin == nullptr) slot->begin = make_slot();
  if (slot->used < kSlotBytes) return *slot;
  slot->event = gpu_.record();
  at_ = (at_ + 1) % kSlots;
  slot = &slots_[at_];
  if (slot->begin == nullptr) slot->begin = make_slot();
  if (slot->event != nullptr) {
    gpu_.wait_for(slot->event);
    gpu_.give_back(slot->event);
    slot->event = nullptr;
  }
  slot->used = 0;
  return *slot;
}

void Staging::write(void* to, const void* host, std::size_t bytes) {
  constexpr std::size_t kAligned = 16;
  gpu_.enter();
  const std::lock_guard lock(write_mutex_);
  for (std::size_t done = 0; done < bytes;) {
    Slot& slot = ready_slot();
    const std::size_t n = std::min(bytes - done, kSlotBytes - slot.used);
    std::byte* const room = slot.begin + slot.used;
    std::memcpy(room, static_cast<const std::byte*>(host) + done, n);
    slot.used = std::min(kSlotBytes, (slot.used + n + kAligned - 1) / kAligned * kAligned);
    gpu_.check(driver().functions.cuMemcpyHtoDAsync(device_byte(to, done), room, n, gpu_.stream()),
               "copy to the GPU");
    done += n;
  }
}

void Staging::make_room_to_read() {
  const std::lock_guard lock(read_mutex_);
  if (halves_[0] == nullptr) halves_[0] = make_slot();
  gpu_.give_back(gpu_.record());  // an event for it is there, too
}

void Staging::read(void* host, const void* from, std::size_t bytes) {
  gpu_.enter();
  const std::lock_guard lock(read_mutex_);
  // While the host takes out of one half, the GPU fills the other.
  std::array<CUevent_st*, 2> filled{};
  const auto fill = [&](std::size_t piece) {
    std::byte*& half = halves_[piece % 2];
    if (half == nullptr) half = make_slot();
    const std::size_t at = piece * kSlotBytes;
    gpu_.check(driver().functions.cuMemcpyDtoHAsync(
                   half, device_byte(from, at), std::min(kSlotBytes, bytes - at), gpu_.stream()),
               "copy from the GPU");
    filled[piece % 2] = gpu_.record();
  };
  const std::size_t pieces = (bytes + kSlotBytes - 1) / kSlotBytes;
  fill(0);
  for (std::size_t piece = 0; piece < pieces; ++piece) {
    if (piece + 1 < pieces) fill(piece + 1);
    CUevent_st* const event = filled[piece % 2];
    gpu_.wait_for(event);
    gpu_.give_back(event);
    const std::size_t at = piece * kSlotBytes;
    std::memcpy(static_cast<std::byte*>(host) + at, halves_[piece % 2],
                std::min(kSlotBytes, bytes - at));
  }
}

}  // namespace tenure::kernels::cuda
