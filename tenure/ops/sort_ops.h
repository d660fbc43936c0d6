#pragma once

#include <cstdint>
#include <optional>

#include "tenure/ops/core/operand.h"

// Sorting along one axis; a tensor without axes has one element along axis 0. NaN is greater than
// every number: the last in ascending order, the first in descending order and among the largest. 0
// and -0 are equal. Equal elements keep their order. Workspaces come from the ledger. Defined in
// sort/sort.cpp; what finds and counts (searchsorted to histogram) in sort/bins.cpp.

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

/// Where each value belongs along the last axis of a sorted tensor of its type: before the elements
/// that are equal to it, or, on the right, behind them. That is a vector for all values, or has
/// their leading axes: a row for a row. int64, in the shape of the values.
Tensor searchsorted(const Operand& sorted, const Operand& values, bool right = false);
/// How often each of the numbers 0, 1, ... before `length` occurs in x, which has int32 or int64;
/// int64. A number outside is an IndexError: the length does not follow from the data, so that the
/// shape is known before they are.
Tensor bincount(const Operand& x, std::int64_t length);
/// The sums of the weights, one for each element of x, of these numbers.
Tensor bincount(const Operand& x, const Operand& weights, std::int64_t length);

struct Histogram {
  Tensor counts;  ///< int64
  Tensor edges;   ///< one more than counts
};
/// How many elements lie in each of `bins` ranges of equal width from `low` to `high`, by default
/// from the smallest element to the largest. As NumPy has it: a range begins with its lower edge,
/// the last one has its upper edge too, and what lies outside, or is NaN, counts nowhere. With NaN
/// among the elements there is no smallest one: tell the ends then.
Histogram histogram(const Operand& x, std::int64_t bins = 10,
                    std::optional<double> low = std::nullopt,
                    std::optional<double> high = std::nullopt);

}  // namespace tenure
