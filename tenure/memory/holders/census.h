#pragma once

#include <atomic>
#include <functional>

#include "tenure/memory/threads/fence.h"
#include "tenure/memory/threads/thread_context.h"

namespace tenure::mem {

class Tenant;

// Note: census
//
// To list all live tensors, nobody may be making or ending one meanwhile. A thread that does either
// is inside a VitalSection: it marks itself busy, and goes on unless a census is being taken. A
// census raises a flag, fences (threads/fence.h) and waits until no thread is busy. So the list
// costs nothing per tensor but two plain stores at birth and at death. Who has waited for one
// census goes on before the next begins.

/// What ThreadContext::busy says; 0: neither.
inline constexpr std::uint32_t kBusy = 1;
inline constexpr std::uint32_t kWaits = 2;  ///< for a census

extern std::atomic<bool> census_is_on;
/// Set where heavy_fence() does not work: the frequent side then fences for itself.
extern const bool vital_sections_fence;
void wait_for_census(ThreadContext& context) noexcept;

/// While it lives, this thread may make and end tenants and free storages. Short, never nested, no
/// user code inside.
class VitalSection {
 public:
  explicit VitalSection(ThreadContext& context) noexcept : context_(context) {
    context.busy.store(kBusy, std::memory_order_relaxed);
    if (vital_sections_fence) [[unlikely]] {
      context.busy.exchange(kBusy, std::memory_order_seq_cst);
    } else {
      light_fence();
    }
    if (census_is_on.load(std::memory_order_seq_cst)) [[unlikely]]
      wait_for_census(context);
  }
  ~VitalSection() { context_.busy.store(0, std::memory_order_release); }
  VitalSection(const VitalSection&) = delete;
  VitalSection& operator=(const VitalSection&) = delete;

 private:
  ThreadContext& context_;
};

/// Holds all births and deaths while it lives; one at a time. Must not touch tensors' handles.
class Census {
 public:
  Census();
  ~Census();
  Census(const Census&) = delete;
  Census& operator=(const Census&) = delete;

  void for_each(const std::function<void(const Tenant&)>& visit) const;
};

}  // namespace tenure::mem
