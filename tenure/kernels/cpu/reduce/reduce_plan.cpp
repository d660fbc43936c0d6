#include "tenure/kernels/cpu/reduce/reduce_plan.h"

#include <cstdlib>
#include <cstring>

#include "tenure/kernels/cpu/elementwise/cpu_loop.h"
#include "tenure/kernels/cpu/elementwise/fused_range.h"

namespace tenure::kernels::reduce {
namespace {

/// Elements that occupy a thread long enough to be worth waking it.
constexpr std::int64_t kGrain = 1 << 16;
/// Shorter runs are folded side by side, through a transposed tile.
constexpr std::int64_t kShortRun = 32;
/// A tile row of this many elements is an odd number of cache lines: columns do not collide.
constexpr std::int64_t kTransposedBlock = 240;
/// Rows that must be converted: a tile holds eight of them.
constexpr std::int64_t kConvertedBlock = 512;
/// Rows that a loop makes, at least: shorter ones would keep it from its speed.
constexpr std::int64_t kMadeBlock = 128;
/// Narrow contiguous rows are folded several at once, so that vectors are full.
constexpr std::int64_t kNarrow = 64;

bool is_outer(const Dim& a, const Dim& b) {
  return (a.stride == 0) != (b.stride == 0) ? a.stride == 0 : a.stride > b.stride;
}

std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

}  // namespace

class Maker {
 public:
  explicit Maker(const ReducePlan& plan)
      : size_(plan.size_),
        range_(fused_of(*plan.neighbours_.before), plan.neighbours_.before_inputs.views,
               plan.shape_) {}

  /// `rows` rows of `width` elements that lie `stride` apart, packed; kPiece elements at most.
  const std::byte* make(std::int64_t at, std::int64_t stride, std::int64_t rows,
                        std::int64_t width) {
    if (stride == width) {
      range_.run(at, at + rows * width, made_);
    } else {
      for (std::int64_t r = 0; r < rows; ++r) {
        range_.run(at + r * stride, at + r * stride + width, made_ + r * width * size_);
      }
    }
    return made_;
  }
  const std::byte* make(std::int64_t at, std::int64_t count) { return make(at, count, 1, count); }

 private:
  std::int64_t size_;
  FusedRange range_;
  alignas(64) std::byte made_[ReducePlan::kPiece * 8];
};

std::int64_t Walk::count() const {
  std::int64_t n = 1;
  for (int i = 0; i < rank_; ++i) n *= dims_[i].size;
  return n;
}

void Walk::push(Dim dim) {
  if (dim.size == 1) return;
  if (rank_ > 0 && dims_[rank_ - 1].stride == dim.stride * dim.size) {
    dims_[rank_ - 1] = {dims_[rank_ - 1].size * dim.size, dim.stride};
  } else {
    dims_[rank_++] = dim;
  }
}

std::int64_t Walk::offset(std::int64_t index) const {
  std::int64_t offset = 0;
  for (int i = rank_ - 1; i > 0; --i) {
    offset += index % dims_[i].size * dims_[i].stride;
    index /= dims_[i].size;
  }
  return rank_ == 0 ? 0 : offset + index * dims_[0].stride;
}

ReducePlan::ReducePlan(const View& in, const Axes& axes, DType accumulator,
                       const ops::FusedNeighbours& neighbours)
    : data_(in.as<const std::byte>()),
      neighbours_(neighbours),
      shape_(in.shape),
      in_size_(static_cast<std::int64_t>(size_of(in.dtype))),
      size_(static_cast<std::int64_t>(size_of(accumulator))),
      convert_(find_convert(in.dtype, accumulator)),
      same_type_(in.dtype == accumulator) {
  Dim reduced[kMaxRank];
  int reduced_rank = 0;
  int next_axis = 0;
  for (int i = 0; i < in.shape.size(); ++i) {
    const Dim dim{in.shape[i], in.strides[i]};
    if (next_axis == axes.size() || axes[next_axis] != i) {
      kept_.push(dim);
      outputs_ *= dim.size;
      continue;
    }
    ++next_axis;
    terms_ *= dim.size;
    if (terms_ == 0) continue;
    // The order of terms is free: walk forwards, the smallest stride innermost.
    Dim forward = dim;
    if (dim.stride < 0) {
      origin_ += (dim.size - 1) * dim.stride;
      forward.stride = -dim.stride;
    }
    Dim* const at = std::upper_bound(reduced, reduced + reduced_rank, forward, is_outer);
    std::copy_backward(at, reduced + reduced_rank, reduced + reduced_rank + 1);
    *at = forward;
    ++reduced_rank;
  }
  for (int i = 0; terms_ > 0 && i < reduced_rank; ++i) reduced_.push(reduced[i]);
  choose_blocks();
  choose_split();
  divide_blocks();
}

void ReducePlan::choose_blocks() {
  const Dim run = reduced_.rank() > 0 ? reduced_[reduced_.rank() - 1] : Dim{};
  const Dim row = kept_.rank() > 0 ? kept_[kept_.rank() - 1] : Dim{};
  const bool runs_are_nearer = row.stride == 0 || run.stride < std::abs(row.stride);
  columns_ = row.size > 1 && (!runs_are_nearer || run.size < kShortRun);
  const std::int64_t widest = row.stride != 1 ? kTransposedBlock
                              : same_type_    ? kBlock * 4 / std::max<std::int64_t>(size_, 4)
                                              : kConvertedBlock;
  set_blocks(columns_ ? widest : kBlock / 2, kGrain);
}

void ReducePlan::set_blocks(std::int64_t widest, std::int64_t elements) {
  const std::int64_t terms = std::max<std::int64_t>(terms_, 1);
  if (columns_) {
    const std::int64_t row = kept_[kept_.rank() - 1].size;
    block_width_ = std::min(row, widest);
    blocks_ = outputs_ / row * ceil_div(row, block_width_);
  } else {
    block_width_ = std::clamp<std::int64_t>(elements / terms, 1, widest);
    blocks_ = ceil_div(outputs_, block_width_);
  }
  grain_ = ceil_div(elements, block_width_ * terms);
}

// Blocks do not change what is added to what, if no output is shared: the cost of a loop that makes
// the input makes them smaller.
void ReducePlan::divide_blocks() {
  if (neighbours_.before == nullptr || chunk_ != 0) return;
  const auto elements = static_cast<std::int64_t>(static_cast<double>(kGrain) /
                                                  (1 + fused_of(*neighbours_.before).cost));
  const std::int64_t terms = std::max<std::int64_t>(terms_, 1);
  const std::int64_t narrow = std::max(elements / terms, kMadeBlock);
  set_blocks(columns_ ? std::min(block_width_, narrow) : kBlock / 2, elements);
}

// Where few outputs have many terms each, threads share an output: every chunk of its terms gives a
// partial result, and these are joined in order.
void ReducePlan::choose_split() {
  constexpr std::int64_t kEnoughBlocks = 16;
  constexpr std::int64_t kMaxChunks = 256;
  constexpr std::int64_t kRoundChunk = 512;
  const std::int64_t work = block_width_ * terms_;
  if (blocks_ == 0 || blocks_ >= kEnoughBlocks || work < 4 * kGrain) return;
  for (int i = 1; i < reduced_.rank(); ++i) {
    if (reduced_[i].size > reduced_[split_dim_].size) split_dim_ = i;
  }
  const std::int64_t chunks =
      std::min({work / kGrain, kMaxChunks, kMaxPartialBytes / (2 * block_width_ * size_)});
  const std::int64_t size = reduced_[split_dim_].size;
  chunk_ = ceil_div(size, chunks);
  if (chunk_ > kRoundChunk) chunk_ = ceil_div(chunk_, kRoundChunk) * kRoundChunk;
  if (chunk_ >= size) chunk_ = 0;
  if (chunk_ != 0) grain_ = blocks_;
}

bool ReducePlan::takes_loop() const {
  constexpr std::int64_t kFewElements = kGrain;
  constexpr std::int64_t kFewParts = 4;
  if (outputs_ == 0 || terms_ == 0 || !same_type_) return false;
  const Dim row = kept_.rank() > 0 ? kept_[kept_.rank() - 1] : Dim{};
  if (columns_ ? row.stride != 1 : !folds_runs_directly(reduced_)) return false;
  const std::int64_t parts = chunk_ != 0 ? ceil_div(reduced_[split_dim_].size, chunk_)
                             : columns_  ? outputs_ / row.size * ceil_div(row.size, kMadeBlock)
                                         : outputs_;
  return outputs_ * terms_ <= kFewElements || parts >= kFewParts;
}

Block ReducePlan::block(std::int64_t index) const {
  if (!columns_) {
    const std::int64_t first = index * block_width_;
    return {first, std::min(block_width_, outputs_ - first)};
  }
  const std::int64_t row = kept_[kept_.rank() - 1].size;
  const std::int64_t blocks_per_row = ceil_div(row, block_width_);
  const std::int64_t column = index % blocks_per_row * block_width_;
  return {index / blocks_per_row * row + column, std::min(block_width_, row - column)};
}

void ReducePlan::fold(const Fold& rule, const Block& block, const void* p, Partials& into) const {
  rule.init(into.high.bytes, into.low.bytes, block.width);
  if (terms_ == 0) return;
  if (chunk_ != 0) {
    fold_split(rule, block, p, into);
  } else {
    const std::int64_t size = reduced_.rank() == 0 ? 1 : reduced_[split_dim_].size;
    fold_range(rule, block, p, 0, size, into);
  }
}

void ReducePlan::fold_split(const Fold& rule, const Block& block, const void* p,
                            Partials& into) const {
  alignas(64) std::byte partials[kMaxPartialBytes];
  const std::int64_t size = reduced_[split_dim_].size;
  const std::int64_t bytes = block.width * size_;
  const std::int64_t chunks = ceil_div(size, chunk_);
  parallel_for(chunks, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      Partials mine;
      rule.init(mine.high.bytes, mine.low.bytes, block.width);
      fold_range(rule, block, p, i * chunk_, std::min(size, (i + 1) * chunk_), mine);
      std::memcpy(partials + 2 * i * bytes, mine.high.bytes, static_cast<std::size_t>(bytes));
      std::memcpy(partials + (2 * i + 1) * bytes, mine.low.bytes, static_cast<std::size_t>(bytes));
    }
  });
  for (std::int64_t i = 0; i < chunks; ++i) {
    rule.merge(into.high.bytes, into.low.bytes, partials + 2 * i * bytes,
               partials + (2 * i + 1) * bytes, block.width);
  }
}

void ReducePlan::fold_range(const Fold& rule, const Block& block, const void* p, std::int64_t begin,
                            std::int64_t end, Partials& into) const {
  Walk reduced = reduced_;
  std::int64_t at = origin_;
  if (reduced.rank() > 0) {
    at += begin * reduced[split_dim_].stride;
    reduced[split_dim_].size = end - begin;
  }
  if (neighbours_.before == nullptr) {
    fold_walk(rule, reduced, at, block, p, into, nullptr);
  } else {
    Maker maker(*this);
    fold_walk(rule, reduced, at, block, p, into, &maker);
  }
}

void ReducePlan::fold_walk(const Fold& rule, const Walk& reduced, std::int64_t at,
                           const Block& block, const void* p, Partials& into, Maker* maker) const {
  if (columns_) {
    fold_columns(rule, reduced, at + kept_.offset(block.first), block, p, into, maker);
    return;
  }
  for (std::int64_t i = 0; i < block.width; ++i) {
    const void* parameter = p == nullptr ? nullptr : static_cast<const std::byte*>(p) + i * size_;
    fold_runs(rule, reduced, at + kept_.offset(block.first + i), parameter,
              into.high.bytes + i * size_, into.low.bytes + i * size_, maker);
  }
}

bool ReducePlan::folds_runs_directly(const Walk& reduced) const {
  const int rank = reduced.rank();
  const Dim run = rank >= 1 ? reduced[rank - 1] : Dim{};
  const Dim rows = rank >= 2 ? reduced[rank - 2] : Dim{};
  return same_type_ && (run.stride == 1 || run.size == 1) &&
         (run.size >= kShortRun || rows.size == 1);
}

void ReducePlan::fold_runs(const Fold& rule, const Walk& reduced, std::int64_t at, const void* p,
                           void* high, void* low, Maker* maker) const {
  const int rank = reduced.rank();
  const Dim run = rank >= 1 ? reduced[rank - 1] : Dim{};
  const Dim rows = rank >= 2 ? reduced[rank - 2] : Dim{};
  if (folds_runs_directly(reduced)) {
    const auto fold_run = [&](std::int64_t from) {
      for (std::int64_t c = 0; c < run.size; c += kPiece) {
        const std::int64_t n = std::min(kPiece, run.size - c);
        rule.run(high, low, p, maker != nullptr ? maker->make(from + c, n) : element(from + c), n);
      }
    };
    if (rank <= 1) return fold_run(at);
    return reduced.for_each(rank - 1, [&](std::int64_t offset) { fold_run(at + offset); });
  }
  alignas(64) std::byte tile[kRunTile * 8];
  const std::int64_t width = std::min(run.size, kRunTile);
  const std::int64_t height = kRunTile / width;
  reduced.for_each(rank - 2, [&](std::int64_t offset) {
    for (std::int64_t r = 0; r < rows.size; r += height) {
      const std::int64_t m = std::min(height, rows.size - r);
      for (std::int64_t c = 0; c < run.size; c += width) {
        const std::int64_t n = std::min(width, run.size - c);
        convert_(element(at + offset + r * rows.stride + c * run.stride), {rows.stride, run.stride},
                 tile, {n, 1}, m, n);
        rule.run(high, low, p, tile, m * n);
      }
    }
  });
}

void ReducePlan::fold_columns(const Fold& rule, const Walk& reduced, std::int64_t at,
                              const Block& block, const void* p, Partials& into,
                              Maker* maker) const {
  const int rank = reduced.rank();
  const Dim rows = rank >= 1 ? reduced[rank - 1] : Dim{};
  const std::int64_t stride = kept_[kept_.rank() - 1].stride;
  const std::int64_t width = block.width;
  std::byte* high = into.high.bytes;
  std::byte* low = into.low.bytes;

  const std::int64_t copies = width < kNarrow && rows.size >= kNarrow ? kNarrow / width : 1;
  BlockArray wide_p;
  if (copies > 1) {
    rule.init(high, low, copies * width);
    if (p != nullptr) {
      const auto bytes = static_cast<std::size_t>(width * size_);
      for (std::int64_t i = 0; i < copies; ++i) {
        std::memcpy(wide_p.bytes + i * width * size_, p, bytes);
      }
      p = wide_p.bytes;
    }
  }
  const auto fold_rows = [&](const std::byte* row, std::int64_t row_stride, std::int64_t count,
                             bool several) {
    if (several) {
      const std::int64_t full = count / copies;
      rule.rows(high, low, p, row, copies * width, full, copies * width);
      row += full * copies * width * size_;
      count -= full * copies;
    }
    rule.rows(high, low, p, row, row_stride, count, width);
  };
  /// Calls `f(at, rows)` for pieces of at most `height` rows.
  const auto for_each_piece = [&](std::int64_t height, const auto& f) {
    reduced.for_each(rank - 1, [&](std::int64_t offset) {
      for (std::int64_t r = 0; r < rows.size; r += height) {
        f(at + offset + r * rows.stride, std::min(height, rows.size - r));
      }
    });
  };

  if (same_type_ && (stride == 1 || width == 1)) {
    const bool several = copies > 1 && rows.stride == width;
    if (maker == nullptr) {
      for_each_piece(rows.size, [&](std::int64_t from, std::int64_t m) {
        fold_rows(element(from), rows.stride, m, several);
      });
    } else {
      // Whole groups of those that are folded at once, so that the sums are the same.
      const std::int64_t group = kFoldedRows * (several ? copies : 1);
      for_each_piece(kPiece / (width * group) * group, [&](std::int64_t from, std::int64_t m) {
        fold_rows(maker->make(from, rows.stride, m, width), width, m, several);
      });
    }
  } else {
    alignas(64) std::byte tile[kTile * 8];
    for_each_piece(kTile / width, [&](std::int64_t from, std::int64_t m) {
      convert_(element(from), {rows.stride, stride}, tile, {width, 1}, m, width);
      fold_rows(tile, width, m, copies > 1);
    });
  }
  for (std::int64_t i = 1; i < copies; ++i) {
    rule.merge(high, low, high + i * width * size_, low + i * width * size_, width);
  }
}

}  // namespace tenure::kernels::reduce
