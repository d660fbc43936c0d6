#pragma once

#include <cstdint>

// Everything that this process takes from malloc() and its kin, whoever asks: in the benchmarks
// these functions are replaced by ones that count. Tenure's pool takes its memory from the system
// itself; its ledger counts that.

namespace tenure::bench {

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

}  // namespace tenure::bench
