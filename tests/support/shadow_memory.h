#pragma once

#include <cstddef>
#include <map>

#include "tenure/ops/core/view.h"

namespace tenure::test {

// Note: memory that the host cannot touch
//
// One file in memory, mapped twice. The addresses that storages have are in the first mapping,
// which nobody may read or write: whoever does so from the host ends the process. The device's own
// thread reads and writes the second one, the shadow.
//
//     device address   [ . . . . x . . . ]  PROT_NONE
//                               |  the same distance from the beginning
//     shadow           [ . . . . x . . . ]  for the queue's thread alone

/// The memory of a test device.
class ShadowMemory {
 public:
  static constexpr std::size_t kPage = 4096;
  static constexpr std::size_t kCapacity = std::size_t{32} << 30;  ///< addresses; memory as touched

  ShadowMemory();
  ShadowMemory(const ShadowMemory&) = delete;
  ShadowMemory& operator=(const ShadowMemory&) = delete;

  /// Where the device's thread finds what is at an address. One that is none of the device's ends
  /// the process: somebody forgot a copy.
  std::byte* shadow_of(const void* address) const;
  ops::View shadow_of(const ops::View& view) const;

  /// nullptr: there are no more addresses.
  void* take(std::size_t bytes) noexcept;
  void give_back(void* begin, std::size_t bytes) noexcept;
  std::size_t taken() const noexcept;
  /// Gives what lies there to the system; the addresses stay taken.
  void empty(void* begin, std::size_t bytes) const noexcept;

 private:
  std::byte* begin_ = nullptr;
  std::byte* shadow_ = nullptr;
  int file_ = -1;
  std::map<std::size_t, std::size_t> free_;  // by offset: bytes
};

/// Ends the process with the reason.
[[noreturn]] void give_up(const char* reason);

}  // namespace tenure::test
