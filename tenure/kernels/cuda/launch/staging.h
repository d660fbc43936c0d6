#pragma once

#include <array>
#include <cstddef>
#include <mutex>

struct CUevent_st;

namespace tenure::kernels::cuda {

class Gpu;

/// Memory of the host's that the GPU reads and writes by itself (pinned), which copies between the
/// two go through: a copy from elsewhere would make the host wait. Made when it is first needed.
class Staging {
 public:
  explicit Staging(Gpu& gpu) : gpu_(gpu) {}

  void write(void* to, const void* host, std::size_t bytes);
  void read(void* host, const void* from, std::size_t bytes);
  /// So that what was computed can be read, whatever memory is left then. Throws OutOfMemory.
  void make_room_to_read();

 private:
  static constexpr std::size_t kSlots = 4;
  static constexpr std::size_t kSlotBytes = std::size_t{1} << 20;

  /// Filled from its beginning; then an event tells when it is free again.
  struct Slot {
    std::byte* begin = nullptr;
    std::size_t used = 0;
    CUevent_st* event = nullptr;
  };
  Slot& ready_slot();
  std::byte* make_slot();

  Gpu& gpu_;
  std::mutex write_mutex_;
  std::array<Slot, kSlots> slots_{};
  std::size_t at_ = 0;
  std::mutex read_mutex_;
  std::array<std::byte*, 2> halves_{};
};

}  // namespace tenure::kernels::cuda
