#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <optional>

#include "tenure/ops/core/operand.h"

// Reductions go over the axes given (`{0, 2}`, or one as a number), or over all if none are;
// negative axes count from the end.
// `keepdims` leaves the reduced dimensions in the result, with size 1. float16, bfloat16 and
// float32 are accumulated in more precision than they have.
//
// Defined in reduce/reductions.cpp, reduce/statistics.cpp (var to norm), reduce/axiswise.cpp
// (scans and softmax) and, written in other ops, reduce/composites.cpp (count_nonzero to quantile).

namespace tenure {

/// true or false alone: the 1 of `sum(x, 0, 1)` would be a second axis, that of `var(x, 0, 1)` the
/// correction.
class KeepDims {
 public:
  template <std::same_as<bool> T>
  KeepDims(T value) : value_(value) {}  // NOLINT(google-explicit-constructor)
  explicit operator bool() const { return value_; }

 private:
  bool value_;
};

// Of any elements. Sums and products of integers and bool are int64 and wrap around; the mean of
// integers and bool is float32.
Tensor sum(const Operand& x, const AxisList& axes = {}, KeepDims keepdims = false);
/// The sum over all axes along which `like`, of which nothing else counts, was repeated to the
/// shape of x: the reverse of broadcasting.
Tensor sum_like(const Operand& x, const Operand& like);
Tensor prod(const Operand& x, const AxisList& axes = {}, KeepDims keepdims = false);
Tensor mean(const Operand& x, const AxisList& axes = {}, KeepDims keepdims = false);
/// The largest element; NaN wins. Throws ShapeError over no elements. `maximum` is of two tensors.
Tensor max(const Operand& x, const AxisList& axes = {}, KeepDims keepdims = false);
/// The smallest element; NaN wins. Throws ShapeError over no elements. `minimum` is of two tensors.
Tensor min(const Operand& x, const AxisList& axes = {}, KeepDims keepdims = false);
/// Whether some element is not zero; NaN is not.
Tensor any(const Operand& x, const AxisList& axes = {}, KeepDims keepdims = false);
/// Whether no element is zero; NaN is not.
Tensor all(const Operand& x, const AxisList& axes = {}, KeepDims keepdims = false);

/// The index, int64, of the first largest element along an axis, or in row-major order if none is
/// given. The first NaN wins. Throws ShapeError over no elements.
Tensor argmax(const Operand& x, std::optional<int> axis = std::nullopt, KeepDims keepdims = false);
/// The same for the smallest.
Tensor argmin(const Operand& x, std::optional<int> axis = std::nullopt, KeepDims keepdims = false);

/// How many elements are not zero, int64; NaN is not.
Tensor count_nonzero(const Operand& x, const AxisList& axes = {}, KeepDims keepdims = false);

// Of floats alone; `cast` makes floats of integers.

/// Squared deviations from the mean / max(n - correction, 0).
Tensor var(const Operand& x, const AxisList& axes = {}, KeepDims keepdims = false,
           double correction = 1);
/// The root of `var`. Not named `std`: `using namespace tenure` would hide the standard library.
Tensor stddev(const Operand& x, const AxisList& axes = {}, KeepDims keepdims = false,
              double correction = 1);
/// log(sum(exp(x))) without overflow.
Tensor logsumexp(const Operand& x, const AxisList& axes = {}, KeepDims keepdims = false);
/// sum(|x|^order)^(1/order) of the elements as one vector, also over several axes. Order 0 counts
/// what is not zero; inf and -inf are the largest and the smallest magnitude.
Tensor norm(const Operand& x, double order = 2, const AxisList& axes = {},
            KeepDims keepdims = false);
/// The order comes first: `norm(x, {1})` would be of order 1.
Tensor norm(const Operand& x, std::initializer_list<std::int64_t> axes,
            KeepDims keepdims = false) = delete;

/// The sum and the mean of what is not NaN. Of nothing the sum is 0 and the mean NaN.
Tensor nansum(const Operand& x, const AxisList& axes = {}, KeepDims keepdims = false);
Tensor nanmean(const Operand& x, const AxisList& axes = {}, KeepDims keepdims = false);
/// The element in the middle; the mean of the two in the middle if they are even in number, as
/// NumPy has it. NaN if any element is. Throws ShapeError over no elements.
Tensor median(const Operand& x, const AxisList& axes = {}, KeepDims keepdims = false);
/// What a part q, from 0 to 1, of the elements is below, linear between elements, as NumPy has it.
/// Otherwise like median.
Tensor quantile(const Operand& x, double q, const AxisList& axes = {}, KeepDims keepdims = false);

// Along one axis, in the shape of the input. In place in a moved input of the result's type.

/// Running sums; of integers and bool int64.
Tensor cumsum(const Operand& x, int axis);
/// Running products; of integers and bool int64.
Tensor cumprod(const Operand& x, int axis);
/// The largest and the smallest element so far; NaN stays.
Tensor cummax(const Operand& x, int axis);
Tensor cummin(const Operand& x, int axis);
/// exp(x) / sum(exp(x)); of floats alone.
Tensor softmax(const Operand& x, int axis = -1);
/// log(softmax(x)); of floats alone.
Tensor log_softmax(const Operand& x, int axis = -1);

}  // namespace tenure
