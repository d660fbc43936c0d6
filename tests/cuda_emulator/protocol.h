#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

// Note: the emulated GPU
//
// A process without a chip that does what a GPU does for another one, the host. The host's side is
// a library of the driver's name that has the driver's functions (driver.h), so that Tenure loads
// it as it loads the driver; another has NVRTC's (nvrtc.cpp), and compiles the same CUDA sources
// with the C++ compiler into shared objects that this process loads (device.cpp).
//
// - Device memory is a file in memory. The host has its addresses, too, and may neither read nor
//   write there: whoever does so ends. In the GPU's process what is mapped can be used, the rest is
//   a fault, so that a kernel that goes astray ends the GPU, as it ends a context.
// - There are two sockets. What goes into the stream is done in order, later, now and then after a
//   pause: launches, copies, fills. Memory is mapped and unmapped, and code is loaded, at once, as
//   the driver does it: who unmaps what queued work uses sees it fault.
// - Pinned memory has one address in both.

namespace tenure::test {

/// Where the memory of emulated GPU i and its pinned memory lie, in both processes.
inline constexpr std::uintptr_t kDeviceAddresses = 0x500000000000;
inline constexpr std::uintptr_t kAddressesOfOne = std::uintptr_t{1} << 38;
inline constexpr std::uintptr_t kPinnedAddresses = 0x580000000000;
inline constexpr std::size_t kPinnedBytes = std::size_t{64} << 20;

/// What its process finds open.
enum Descriptor : int { kStreamSocket = 3, kControlSocket, kDeviceFile, kPinnedFile };

/// At the beginning of the pinned memory.
struct Progress {
  std::atomic<std::uint64_t> done;   ///< pieces of work of the stream
  std::atomic<std::uint32_t> bell;   ///< a futex, rung when `done` grows
  std::atomic<std::uint32_t> fault;  ///< the signal that ended the GPU
};

struct Command {
  enum Kind : std::uint32_t { launch, copy, write, fill, stamp, map, unmap, load, find };
  Kind kind;
  std::uint32_t width;     ///< fill: bytes of the value
  std::uint64_t to;        ///< an address; launch and find: a function, or a module; stamp: where
                           ///< in pinned memory the time goes
  std::uint64_t from;      ///< copy: an address; map: the place in the file; fill: the value
  std::uint64_t bytes;     ///< of what is meant
  std::uint64_t attached;  ///< bytes that follow this
  std::uint32_t blocks[3];
  std::uint32_t threads[3];
  std::uint32_t shared_bytes;
  std::uint32_t cluster;  ///< blocks of one
};

}  // namespace tenure::test
