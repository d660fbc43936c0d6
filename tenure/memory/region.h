#pragma once

#include <cstdint>

#include "tenure/memory/ledger.h"

namespace tenure {

/// Measures what happens to memory from its construction on.
class MemoryRegion {
 public:
  /// On one device. Throws ValueError for an absent one.
  explicit MemoryRegion(Device device = default_device(), Site site = Site::current());

  /// Bytes allocated and still live, less those freed: what the region leaves behind.
  std::int64_t left_bytes() const;
  std::int64_t left_tensors() const;
  /// How far live bytes rose above where they were at the beginning.
  std::int64_t peak_bytes() const;
  std::int64_t allocations() const;
  std::int64_t frees() const;

 private:
  Device device_;
  mem::PeakWatch watch_;
  MemoryStats begin_;
};

}  // namespace tenure
