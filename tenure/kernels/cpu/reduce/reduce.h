#pragma once

#include "tenure/kernels/view.h"
#include "tenure/ops/core/loop.h"

// Reductions, scans and softmax on the CPU.
//
// Inputs may have any strides; outputs are contiguous and hold one element for each element of the
// kept dimensions, whether or not their shape has the reduced ones. Axes are normalized, sorted and
// unique; no axes reduce nothing. Results have the same bits on any number of threads. Nothing here
// touches the heap. A combination of element types that is not listed throws DTypeError.

namespace tenure::kernels {

enum class Reduction { sum, mean, prod, max, min, any, all };

/// Reduces `in` over `axes`.
///
///   sum, prod   float -> a float type; bool and integers -> int64
///   mean        any -> a float type
///   max, min    any -> the same; NaN wins; throws InternalError over no elements
///   any, all    any -> bool; NaN counts as true
///
/// float16, bfloat16 and float32 sums are compensated float32, products are float64.
///
/// `neighbours.before` may make `in`, which has no data then, if reduce_takes_loop says so; ops of
/// `neighbours.after` have results of the size of `out`'s.
void reduce_axes(Reduction kind, const View& in, const Axes& axes, const View& out,
                 const ops::FusedNeighbours& neighbours = {});
/// Whether it pays that a loop makes the input on the way, given its type and shape.
bool reduce_takes_loop(Reduction kind, DType dtype, const Shape& shape, const Axes& axes);

/// The variance of the elements over `axes`: squared deviations / max(n - correction, 0), or its
/// square root. Floats only. Two passes, so a large mean costs no accuracy.
void variance(const View& in, const Axes& axes, double correction, bool take_sqrt, const View& out);

/// log(sum(exp(in))) over `axes`, without overflow. Floats only; of no elements it is -inf.
void logsumexp(const View& in, const Axes& axes, const View& out);

/// sum(|in|^order)^(1/order) over `axes`. Floats only; order 0 counts what is not zero, +-inf is
/// the largest or smallest magnitude. The 2-norm neither overflows nor underflows on its way.
void norm(const View& in, const Axes& axes, double order, const View& out);

enum class Extremum { max, min };

/// The index of the first largest or smallest element, or of the first NaN, along the one axis
/// given, or into the row-major order of `in` if all are. Any -> int64. Throws InternalError over
/// no elements. In arg_reduce.cpp.
void arg_reduce(Extremum kind, const View& in, const Axes& axes, const View& out);

enum class Scan { sum, prod, max, min };

/// Running sums, products or extrema along `axis`; sums and products of bool and integers -> int64,
/// all others -> the same type by way of float64 or int64. `out` may be `in` where both are
/// contiguous and of one type. In scan.cpp.
void scan(Scan kind, const View& in, int axis, const View& out);

/// exp(in) / sum(exp(in)) along `axis`. Floats only. `out` may be `in` where both are contiguous.
/// In softmax.cpp.
void softmax(const View& in, int axis, const View& out);

/// log(softmax(in)) along `axis`, as softmax.
void log_softmax(const View& in, int axis, const View& out);

/// By the input of softmax or log_softmax along `axis`: from the gradient `dy` by its result, and
/// the result `y`. Contiguous elements of float32 or float64. `dx` may be dy or y. In
/// softmax_gradient.cpp.
void softmax_gradient(const View& dy, const View& y, int axis, const View& dx);
void log_softmax_gradient(const View& dy, const View& y, int axis, const View& dx);

}  // namespace tenure::kernels
