#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>

#include "tests/cuda_emulator/protocol.h"

namespace tenure::test {

/// The host's side of an emulated GPU: its process, and the books of its memory.
class EmulatedGpu {
 public:
  /// Starts the process. `is_usable()` tells whether that worked.
  EmulatedGpu(int index, std::size_t memory);
  EmulatedGpu(const EmulatedGpu&) = delete;
  EmulatedGpu& operator=(const EmulatedGpu&) = delete;
  bool is_usable() const { return stream_ >= 0; }

  /// Puts work into the stream; false: the GPU has ended.
  bool queue(Command command, const void* attached = nullptr);
  /// Has something done at once; 0: it cannot be, or the GPU has ended.
  std::uint64_t ask(Command command, const void* attached = nullptr);
  std::uint64_t queued();
  bool is_done(std::uint64_t number) const;
  /// False: the GPU has ended.
  bool wait_for(std::uint64_t number);
  /// The signal that ended it, or 0.
  int fault() const;

  // Memory: places in the file.
  static constexpr std::size_t kGranule = std::size_t{2} << 20;
  static constexpr std::size_t kTakenOutside = std::size_t{48} << 20;
  /// -1: there is not so much left.
  std::int64_t take(std::size_t bytes);
  void give_back(std::int64_t place, std::size_t bytes);
  std::size_t memory() const { return memory_; }
  std::size_t free_memory();
  std::uintptr_t addresses() const {
    return kDeviceAddresses + static_cast<std::uintptr_t>(index_) * kAddressesOfOne;
  }
  /// Memory that host and GPU share; nullptr: there is no more.
  void* pin(std::size_t bytes);
  bool is_pinned(const void* address) const;
  /// Room there for a time, for good; nullptr: there is no more.
  std::int64_t* stamp();

 private:
  Progress& progress() const { return *static_cast<Progress*>(pinned_); }
  bool send_all(int socket, const Command& command, const void* attached);

  const int index_;
  const std::size_t memory_;
  int stream_ = -1;
  int control_ = -1;
  int file_ = -1;
  int process_ = -1;
  void* pinned_ = nullptr;
  std::size_t pinned_used_ = 4096;
  std::int64_t* stamps_ = nullptr;  ///< a page of them
  std::size_t stamps_left_ = 0;
  mutable std::mutex mutex_;
  std::mutex control_mutex_;
  std::mutex memory_mutex_;
  std::uint64_t queued_ = 0;
  std::map<std::size_t, std::size_t> free_;  // place -> bytes
};

}  // namespace tenure::test
