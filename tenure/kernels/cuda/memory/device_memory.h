#pragma once

#include <cstddef>
#include <map>

#include "tenure/memory/pool/source.h"

struct CUevent_st;

// Note: the memory of a GPU
//
// One range of addresses, several times as large as the memory, is reserved for good; the heap's
// segments are mapped into it and out of it. So an address tells whose it is, and addresses are
// never short.
//
// The driver unmaps at once, while queued work may still use the memory. A segment that goes back
// therefore gets an event, and stays where it is until that has passed; whoever maps next looks
// after those, and waits for them only when there is no other memory left. Nobody waits for a free.

namespace tenure::kernels::cuda {

class Gpu;

class DeviceMemory final : public mem::Source {
 public:
  /// Throws DeviceError.
  explicit DeviceMemory(Gpu& gpu);

  void* map(std::size_t bytes) noexcept override;
  void unmap(void* begin, std::size_t bytes) noexcept override;
  Room room() noexcept override;

  bool has(const void* address) const noexcept {
    const auto* const byte = static_cast<const std::byte*>(address);
    return byte >= begin_ && byte < begin_ + reserved_;
  }

 private:
  struct Segment {
    std::size_t bytes = 0;
    bool is_leaving = false;
    CUevent_st* event = nullptr;  ///< of one that leaves, if the driver had one
  };
  using Segments = std::map<std::byte*, Segment>;

  void* try_map(std::size_t bytes);
  std::byte* find_room(std::size_t bytes) const;
  /// Whether a segment leaves and nothing that is queued uses it; with `waits`, from then on.
  bool is_unused(const Segment& segment, bool waits);
  /// Unmaps what leaves and may; with `waits`, all that leaves.
  void reap(bool waits);

  Gpu& gpu_;
  std::byte* begin_ = nullptr;
  std::size_t reserved_ = 0;
  std::size_t granule_ = 0;
  Segments segments_;
};

}  // namespace tenure::kernels::cuda
