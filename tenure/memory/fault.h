#pragma once

#include <cstdint>

#include "tenure/memory/out_of_memory.h"
#include "tenure/memory/threads/thread_context.h"

namespace tenure {

/// Makes the n-th allocation of this thread from now on fail with OutOfMemory (cause: injected),
/// to test that a program survives it. n counts from 1; one fault per object.
class FaultInjection {
 public:
  /// Throws ValueError for n below 1, and if the thread has one already.
  explicit FaultInjection(std::int64_t n, Site site = Site::current());
  ~FaultInjection();
  FaultInjection(const FaultInjection&) = delete;
  FaultInjection& operator=(const FaultInjection&) = delete;
  /// Whether the fault has happened.
  bool fired() const;
};

}  // namespace tenure

namespace tenure::mem {

/// Called before every allocation: of data, and of a tensor's own record.
inline void count_down_to_fault(ThreadContext& context, std::size_t bytes, Device device = cpu) {
  if (context.fail_after < 0) return;
  if (context.fail_after-- == 0) {
    throw_out_of_memory(OutOfMemory::Cause::injected, bytes, nullptr, device);
  }
}

}  // namespace tenure::mem
