#pragma once

#include <cstdint>

#include "tenure/kernels/cpu/reduce/reduce_plan.h"

namespace tenure::kernels::reduce {

/// Columns along one axis that are worked on together: `width` of them, from an input of any
/// strides to a contiguous output of the same shape. Row r of the block is element r of each.
struct AxisBlock {
  std::int64_t width = 0;
  std::int64_t in_offset = 0;
  std::int64_t out_offset = 0;
  Pitch in;
  Pitch out;

  const void* source(const View& view, std::int64_t row) const {
    return view.as<const std::byte>() +
           (in_offset + row * in.row) * static_cast<std::int64_t>(size_of(view.dtype));
  }
  void* target(const View& view, std::int64_t row) const {
    return view.as<std::byte>() +
           (out_offset + row * out.row) * static_cast<std::int64_t>(size_of(view.dtype));
  }
};

/// Cuts a view into blocks along an axis. A rank of zero counts as one element along axis 0.
class AxisBlocks {
 public:
  /// Blocks are at most `inner_width` wide where dimensions follow the axis, else `outer_width`.
  AxisBlocks(const View& in, int axis, std::int64_t inner_width, std::int64_t outer_width)
      : axis_(in.shape.empty() ? Dim{} : Dim{in.shape[axis], in.strides[axis]}) {
    for (int i = 0; i < in.shape.size(); ++i) {
      if (i != axis) (i < axis ? outer_ : inner_).push({in.shape[i], in.strides[i]});
    }
    inner_count_ = inner_.count();
    const Walk& across = is_inner() ? inner_ : outer_;
    if (across.rank() > 0) columns_ = across[across.rank() - 1];
    width_ = std::min(columns_.size, is_inner() ? inner_width : outer_width);
    if (in.count() == 0) return;
    blocks_per_row_ = (columns_.size - 1) / width_ + 1;
    blocks_ = outer_.count() * inner_count_ / columns_.size * blocks_per_row_;
  }

  /// Elements along the axis.
  std::int64_t length() const { return axis_.size; }
  /// Whether dimensions follow the axis.
  bool is_inner() const { return inner_count_ > 1; }
  /// Whether the columns of a block lie side by side in the input.
  bool columns_are_contiguous() const { return columns_.stride == 1 || columns_.size == 1; }
  bool axis_is_contiguous() const { return axis_.stride == 1 || axis_.size == 1; }

  /// Calls `body(block)` for all blocks, on several threads from `grain` elements each.
  template <class Body>
  void for_each(std::int64_t grain, const Body& body) const {
    if (blocks_ == 0) return;
    parallel_for(blocks_, (grain - 1) / (width_ * axis_.size) + 1,
                 [&](std::int64_t begin, std::int64_t end) {
                   for (std::int64_t i = begin; i < end; ++i) body(block(i));
                 });
  }

 private:
  AxisBlock block(std::int64_t index) const {
    const std::int64_t column = index % blocks_per_row_ * width_;
    const std::int64_t kept = index / blocks_per_row_ * columns_.size + column;
    const std::int64_t outer = kept / inner_count_;
    const std::int64_t inner = kept % inner_count_;
    return {.width = std::min(width_, columns_.size - column),
            .in_offset = outer_.offset(outer) + inner_.offset(inner),
            .out_offset = outer * axis_.size * inner_count_ + inner,
            .in = {axis_.stride, columns_.stride},
            .out = {inner_count_, is_inner() ? 1 : axis_.size}};
  }

  Dim axis_;
  Walk outer_;
  Walk inner_;
  Dim columns_;
  std::int64_t inner_count_ = 1;
  std::int64_t width_ = 1;
  std::int64_t blocks_per_row_ = 1;
  std::int64_t blocks_ = 0;
};

}  // namespace tenure::kernels::reduce
