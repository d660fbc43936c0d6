#pragma once

#include <atomic>
#include <cstddef>

#include "tenure/memory/kinds.h"

namespace tenure::mem {

/// What a pool has from its source, or cut from that.
struct PoolPart {
  Device device = cpu;
  const void* begin = nullptr;
  std::size_t bytes = 0;
  /// Of a slab: what each of its blocks has. 0: it is a whole segment.
  std::size_t block = 0;
  /// Of a segment: chunks begin and end at multiples of it.
  std::size_t granularity = 0;
};

/// Gets to know each segment that a pool takes from its source or gives back, and each slab that it
/// cuts: seldom, one call for some MiB. It is called under the pool's locks, in the order in which
/// it happens, so it must take none that are held while memory is allocated.
class SegmentWatch {
 public:
  virtual void part_came(const PoolPart& part) noexcept = 0;
  virtual void part_went(const PoolPart& part) noexcept = 0;

 protected:
  ~SegmentWatch() = default;
};

/// The one that is on, or nullptr; whoever was on stays valid for good.
extern std::atomic<SegmentWatch*> segment_watch;

/// Tells `watch` of all that the pools have now: first the segments of each device, then the slabs.
void tell_parts(SegmentWatch& watch);

}  // namespace tenure::mem
