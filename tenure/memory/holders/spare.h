#pragma once

#include <cstddef>
#include <cstdint>

#include "tenure/memory/holders/storage.h"

// Note: memory that can be done without
//
// Somebody may keep what he can make again, to be faster the next time: a program keeps its weights
// in the order in which kernels read them. Nobody else is to miss that memory. It is counted as any
// other, it is taken only where no budget is short of it, and when an allocation would be refused,
// by a budget or by the system, spare memory goes first: what was kept first before the rest. So a
// budget that suffices without it suffices.

namespace tenure::mem {

/// Keeps a storage under a tag, until it is given up. Any thread may use it.
class Spare {
 public:
  Spare() noexcept = default;
  ~Spare() { give_up(); }
  Spare(const Spare&) = delete;
  Spare& operator=(const Spare&) = delete;

  /// Memory that is counted as a cache, for keep(), with a reference. nullptr: some budget has no
  /// room for it, the device has no memory, or this thread's allocations are made to fail.
  static Storage* allocate(ThreadContext& context, Device device, std::size_t bytes) noexcept;
  /// Takes over the caller's reference and gives up what it kept before.
  void keep(Storage* storage, std::uint64_t tag) noexcept;
  /// What it keeps under this tag, with a reference for the caller, which keeps it from being given
  /// up. nullptr: nothing; what it kept under another tag is given up.
  Storage* find(std::uint64_t tag) noexcept;
  void give_up() noexcept;

 private:
  friend bool give_up_spare(const BudgetAccount* refusing, Device device) noexcept;
  /// For whoever has the lock.
  Storage* take_out() noexcept;

  // One lock for all of them.
  Storage* storage_ = nullptr;
  std::uint64_t tag_ = 0;
  Spare* before_ = nullptr;
  Spare* behind_ = nullptr;
};

/// Gives up one that lies on `device`, counts in `refusing` (nullptr: any does) and is not in use.
/// False: there is none.
bool give_up_spare(const BudgetAccount* refusing, Device device) noexcept;

/// Whether all budgets that an allocation by this thread would count in have room for it. In
/// budget.cpp.
bool has_free_room(ThreadContext& context, Device device, std::size_t bytes) noexcept;

}  // namespace tenure::mem
