#pragma once

#include <cstdint>
#include <string_view>

#include "tenure/kernels/cpu/index/loop.h"
#include "tenure/kernels/view.h"
#include "tenure/ops/index/modes.h"

namespace tenure::kernels::index {

/// Blocks are found this many at a time: their offsets live on the stack.
inline constexpr std::int64_t kBatch = 256;

/// Throws IndexError unless every index lies in [-size, size), DTypeError unless the indices are
/// int32 or int64.
void check_indices(std::string_view op, const View& indices, std::int64_t size);

/// Adds to offsets[i] the base and `stride` times the index of position begin + i, for i in
/// [0, n). The operands of `positions` are the base and the indices, which check_indices passed.
void add_index_offsets(const Loop<2>& positions, const View& indices, std::int64_t size,
                       std::int64_t stride, std::int64_t begin, std::int64_t n,
                       std::int64_t* offsets);

/// Combines, for each i in [0, n) in this order, the block at out_offsets[i] of `out` with the
/// block at in_offsets[i] of `in`. The operands of `block` are out and in.
void combine_blocks(ScatterMode mode, DType dtype, const Loop<2>& block, void* out,
                    const std::int64_t* out_offsets, const void* in, const std::int64_t* in_offsets,
                    std::int64_t n);

/// out[i] = in[offsets[i]] for i in [0, n).
void gather_elements(std::size_t size, void* out, const void* in, const std::int64_t* offsets,
                     std::int64_t n);

/// Copies the positions [begin, end) of `loop`, whose operands are out and in.
void copy_elements(std::size_t size, const Loop<2>& loop, void* out, const void* in,
                   std::int64_t begin, std::int64_t end);

}  // namespace tenure::kernels::index
