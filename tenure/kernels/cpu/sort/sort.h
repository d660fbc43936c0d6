#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "tenure/kernels/view.h"

// Sorting along one axis. NaN is greater than every number: the last in ascending order, as in
// NumPy, and the first in descending order and among the largest, as in PyTorch. 0 and -0 are
// equal. Scratch memory comes from the caller.
namespace tenure::kernels {

enum class Order : std::uint8_t { ascending, descending };

/// Bytes of workspace that sort wants; `with_indices` if it is to write indices.
std::size_t sort_workspace(const View& in, int axis, bool with_indices);

/// Sorts `in` stably along `axis` (equal elements keep their order, also when descending) into
/// `values`, and the place each came from into `indices` (int64); either may be null. Both have the
/// shape of `in` and any strides; `values` may be `in` itself.
void sort_axis(const View& in, int axis, Order order, const View* values, const View* indices,
               std::span<std::byte> workspace);

/// Bytes of workspace that topk (topk.cpp) wants.
std::size_t topk_workspace(const View& in, int axis, std::int64_t k);

/// The k largest, or smallest, elements along `axis`, best first, and their places (int64). Of
/// equal elements the first counts as better. `values` and `indices` have the shape of `in` with k
/// elements along `axis`, any strides, and do not overlap `in`. k is at most the axis' size.
void topk(const View& in, int axis, std::int64_t k, bool largest, const View& values,
          const View& indices, std::span<std::byte> workspace);

/// Bytes of workspace for unique_count and unique (unique.cpp); `with_inverse` if unique is to
/// write the inverse.
std::size_t unique_workspace(const View& in, bool with_inverse);

/// Sorts the elements of `in` into `workspace` and returns how many different ones there are.
std::int64_t unique_count(const View& in, bool with_inverse, std::span<std::byte> workspace);

/// Writes, from what unique_count left in `workspace`, the different elements in ascending order
/// and, unless null, how often each occurs and which of them every element of `in` is (in the shape
/// of `in`). All NaN are one element. `counts` and `inverse` are int64; all outputs are contiguous.
/// `inverse` needs a workspace prepared for it. Takes unique_count's arguments again.
void unique(const View& in, bool with_inverse, std::span<std::byte> workspace, const View& values,
            const View* inverse, const View* counts);

/// How many elements along the last axis of `sorted` are below each value, or, on the right, not
/// above it. `sorted` is a vector, or has the leading axes of `values`. `out` is int64, contiguous,
/// and has the shape of `values`. In search.cpp.
void search_sorted(const View& sorted, const View& values, bool right, const View& out);

}  // namespace tenure::kernels
