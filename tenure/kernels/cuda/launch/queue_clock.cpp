#include "tenure/kernels/cuda/launch/queue_clock.h"

#include <exception>

#include "tenure/kernels/cuda/driver/driver-inl.h"
#include "tenure/kernels/cuda/launch/gpu.h"

namespace tenure::kernels::cuda {

/// nullptr: it cannot be had.
CUevent_st* GpuClock::unused_event() {
  if (unused_.empty()) {
    CUevent event = nullptr;
    return driver().functions.cuEventCreate(&event, CU_EVENT_DEFAULT) == CUDA_SUCCESS ? event
                                                                                      : nullptr;
  }
  CUevent_st* const event = unused_.back();
  unused_.pop_back();
  return event;
}

// Errors are not told here: who waits for what the GPU computes hears of them.

bool GpuClock::mark(std::uint64_t number) noexcept try {
  if (Capture::current() != nullptr) return false;
  gpu_.enter();
  marks_.push_back({.number = number});
  CUevent_st* const event = unused_event();
  if (event != nullptr && driver().functions.cuEventRecord(event, gpu_.stream()) == CUDA_SUCCESS) {
    marks_.back().event = event;
    return true;
  }
  marks_.pop_back();
  if (event != nullptr) unused_.push_back(event);
  return false;
} catch (const std::exception&) {
  return false;
}

std::optional<ops::QueueClock::Passed> GpuClock::next(bool waits) noexcept try {
  if (marks_.empty()) return std::nullopt;
  gpu_.enter();
  const auto [number, event] = marks_.front();
  CUresult result =
      waits ? driver().functions.cuEventSynchronize(event) : driver().functions.cuEventQuery(event);
  if (result == CUDA_ERROR_NOT_READY) return std::nullopt;
  float milliseconds = 0;
  if (result == CUDA_SUCCESS && last_ != nullptr) {
    result = driver().functions.elapsed_time(&milliseconds, last_, event);
  }
  if (result != CUDA_SUCCESS) {
    marks_.clear();
    return std::nullopt;
  }
  if (last_ != nullptr) unused_.push_back(last_);
  last_ = event;
  marks_.pop_front();
  ns_ += static_cast<double>(milliseconds) * 1e6;
  return Passed{.number = number, .ns = static_cast<std::int64_t>(ns_)};
} catch (const std::exception&) {
  marks_.clear();
  return std::nullopt;
}

}  // namespace tenure::kernels::cuda
