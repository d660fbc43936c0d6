#pragma once

#include <cstdint>
#include <span>

#include "tenure/kernels/cpu/index/blocks.h"
#include "tenure/kernels/view.h"

// Selecting elements by index. Indices are int32 or int64 and count from the end when negative.
// An index outside its axis throws IndexError, in the name of `op`, before anything is written.
// Axes lie in [0, rank). `in` and `out` must not overlap.
namespace tenure::kernels {

/// NumPy's take: out has the shape of `in` with the dimension `axis` replaced by those of
/// `indices`.
void take(const View& in, int axis, const View& indices, const View& out, const char* op = "take");

/// take_along_axis: out[.., i, ..] = in[.., indices[.., i, ..], ..]. `indices` has the shape of
/// `out` and the rank of `in`, whose other dimensions are at least as long.
void gather(const View& in, int axis, const View& indices, const View& out);

/// Combines out[.., indices[.., i, ..], ..] with updates[.., i, ..] in row-major order, so that of
/// several assignments to one element the last stays. `out` may be strided but not overlap itself;
/// `updates` and the other dimensions of `out` are at least as long as `indices`.
void scatter(const View& out, int axis, const View& indices, const View& updates, ScatterMode mode);

/// out[p, ..] = in[indices[0][p], indices[1][p], .., ..]: one index view for each leading
/// dimension of `in`, all of one shape; out has that shape and then the other dimensions of `in`.
void index_gather(const View& in, std::span<const View> indices, const View& out,
                  const char* op = "index_gather");

/// out[indices[0][p], indices[1][p], .., ..] = values[p, ..], or += if `accumulate`, in row-major
/// order of p. `out` may be strided but not overlap itself; `values` may repeat elements.
void index_put(const View& out, std::span<const View> indices, const View& values, bool accumulate,
               const char* op = "index_put");

}  // namespace tenure::kernels
