#pragma once

#include <cstdint>

#include "tenure/ops/core/operand.h"

// Sorting along one axis; a tensor without axes has one element along axis 0. NaN is greater than
// every number: the last in ascending order, the first in descending order and among the largest. 0
// and -0 are equal. Equal elements keep their order. Workspaces come from the ledger. Defined in
// sort/sort.cpp.

namespace tenure {

/// Sorted along an axis. Computes in place in a moved x.
Tensor sort(const Operand& x, int axis = -1, bool descending = false);
/// The places along an axis of the elements in sorted order; int64.
Tensor argsort(const Operand& x, int axis = -1, bool descending = false);

struct TopK {
  Tensor values;
  Tensor indices;  ///< int64
};
/// The k largest, or smallest, elements along an axis, best first, and their places. Throws
/// ValueError unless 0 <= k <= the axis' size.
TopK topk(const Operand& x, std::int64_t k, int axis = -1, bool largest = true);

/// The different elements in ascending order. All NaN are one element.
Tensor unique(const Operand& x);
struct Unique {
  Tensor values;
  Tensor inverse;  ///< which of the values each element of x is; int64 in the shape of x
  Tensor counts;   ///< how often each of the values occurs; int64
};
/// The same with where each element went, and how many went there.
Unique unique_all(const Operand& x);

}  // namespace tenure
