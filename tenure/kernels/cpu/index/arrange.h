#pragma once

#include <cstdint>

#include "tenure/kernels/view.h"
#include "tenure/ops/index/modes.h"

// Copies that put elements elsewhere by a rule of their coordinates. Outputs are contiguous and do
// not overlap the input, except where a function says so.
namespace tenure::kernels {

/// Copies `in` into `out` with low[i] new elements before axis i and as many behind it as fill the
/// shape of `out`; negative ones cut elements off. `fill` points to one element and is read in
/// constant mode alone. Throws ValueError if another mode has to extend an empty axis.
void pad(const View& in, const View& out, const Dims& low, PadMode mode, const void* fill);

/// Moves every element by shifts[i] places along axis i; what leaves at one end enters at the
/// other.
void roll(const View& in, const View& out, const Dims& shifts);

/// NumPy's repeat: every element stands `times` times in a row along `axis`.
void repeat(const View& in, int axis, std::int64_t times, const View& out);

/// NumPy's tile: the whole of `in` stands times[i] times along axis i.
void tile(const View& in, const Dims& times, const View& out);

/// Copies the last two dimensions on and below the k-th diagonal, zeros above it. `out` may be
/// `in` itself.
void tril(const View& in, const View& out, std::int64_t k);

/// Copies the last two dimensions on and above the k-th diagonal, zeros below it. `out` may be
/// `in` itself.
void triu(const View& in, const View& out, std::int64_t k);

}  // namespace tenure::kernels
