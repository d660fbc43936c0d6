#pragma once

#include <span>
#include <vector>

#include "tenure/graph/passes/unit.h"
#include "tenure/tensor/tensor.h"

namespace tenure::graph {

/// Of a device that waits where its kernels look at indices: which of a program's indices come from
/// outside, so that a run looks at them before it begins, and whose kernels need not look then.
class KnownIndices {
 public:
  KnownIndices() = default;
  explicit KnownIndices(const Lowered& lowered);

  /// Whether all indices of a unit, by its number, are among them.
  bool has(std::size_t unit) const { return has_[unit]; }
  /// Whether they are in bounds. `pins` are of the program's inputs, then of its sources.
  bool hold(std::span<const Pin> pins, ops::Backend& device) const;
  /// Bytes that it holds.
  std::size_t bytes() const;

 private:
  /// Indices that a run is given.
  struct Given {
    std::size_t pin;
    ops::IndexBound bound;
  };
  std::vector<bool> has_;
  std::vector<Given> given_;
};

}  // namespace tenure::graph
