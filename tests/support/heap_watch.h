#pragma once

#include <cstdint>

// Everything that this process takes from malloc() and its kin and from mmap(), whoever asks: a
// program with heap_watch.cpp among its sources has these functions replaced by ones that count.
// Tenure's pool maps its memory from the system too, in pieces that it keeps: a call after one that
// warmed it up maps none, and its ledger counts what is in use.

namespace tenure::testing_support {

/// Counts while it lives; only one may. What was there before it is not in it.
class HeapWatch {
 public:
  HeapWatch();
  ~HeapWatch();
  HeapWatch(const HeapWatch&) = delete;
  HeapWatch& operator=(const HeapWatch&) = delete;

  /// Most bytes live at a time since the last reset_peak().
  std::int64_t peak() const;
  void reset_peak();
};

}  // namespace tenure::testing_support
