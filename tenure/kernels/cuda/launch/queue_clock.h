#pragma once

#include <deque>
#include <vector>

#include "tenure/ops/core/backend.h"

struct CUevent_st;

namespace tenure::kernels::cuda {

class Gpu;

/// Marks in a GPU's queue: events with times. A time is told as the sum of those between one mark
/// and the next, as the driver tells them as floats.
class GpuClock final : public ops::QueueClock {
 public:
  explicit GpuClock(Gpu& gpu) : gpu_(gpu) {}

  bool mark(std::uint64_t number) noexcept override;
  std::optional<Passed> next(bool waits) noexcept override;

 private:
  struct Mark {
    std::uint64_t number = 0;
    CUevent_st* event = nullptr;
  };
  CUevent_st* unused_event();

  Gpu& gpu_;
  std::deque<Mark> marks_;
  CUevent_st* last_ = nullptr;  ///< the mark that was told last
  double ns_ = 0;               ///< its time
  std::vector<CUevent_st*> unused_;
};

}  // namespace tenure::kernels::cuda
