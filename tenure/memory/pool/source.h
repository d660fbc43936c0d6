#pragma once

#include <cstddef>

namespace tenure::mem {

// Note: memory of a device that computes later
//
// A device may have a queue: work runs later than it was queued, on another thread or chip, in the
// order in which it was queued. A storage that is freed goes back to its heap at once all the same,
// in the books and for reuse, while queued work may still have to read or write it:
//
//     host     queue y = f(x)    x ends, z gets its block    queue z = g(y)
//     device                              y = f(x)                             z = g(y)
//
// That is in order, for the next one to get a block can reach it only through work that is queued
// after all that used it before. So a program that runs ahead of its device needs no more memory
// than one that waits for each op, and a free never waits.
//
// Whoever is not in that order takes care of himself:
// - The source. What it unmaps and purges may be in use by queued work; it waits for that, or
//   queues it, as cudaFree and cudaFreeAsync do.
// - Work outside of the queue: on a second queue, or by the host. It has a reference to every
//   storage it uses (Storage::retain) until it is done; release() may come from any thread. So does
//   queued work for what lies on another device, as a copy from the CPU does.

/// Where the bytes of one device come from. A heap keeps its books elsewhere and never touches
/// them, so they may be such that the host cannot. Calls come one at a time.
class Source {
 public:
  Source() = default;
  Source(const Source&) = delete;
  Source& operator=(const Source&) = delete;

  /// Aligned to the granularity; nullptr if there are not so many left.
  virtual void* map(std::size_t bytes) noexcept = 0;
  /// What one call of map() gave, whole, after all work that may use it.
  virtual void unmap(void* begin, std::size_t bytes) noexcept = 0;
  /// Gives the memory behind a range of free bytes back, until they are used again; false, and
  /// nothing done, where only whole mappings can be given back.
  virtual bool purge(void* begin, std::size_t bytes) noexcept {
    return static_cast<void>(begin), static_cast<void>(bytes), false;
  }
  /// Blocks begin and end at multiples of it, a power of two, and so does what is purged.
  virtual std::size_t granularity() const noexcept { return 512; }
  /// A device's memory as the device itself counts it.
  struct Room {
    std::size_t taken = 0;  ///< by whomever, this source too
    std::size_t total = 0;  ///< 0: not known
  };
  virtual Room room() noexcept { return {}; }
  /// Whether only the host uses it, and never after a free: AddressSanitizer then watches free
  /// memory.
  virtual bool is_host() const noexcept { return false; }

 protected:
  ~Source() = default;
};

/// The CPU's: pages of the system.
Source& system_source() noexcept;

}  // namespace tenure::mem
