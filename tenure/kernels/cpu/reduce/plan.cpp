#include "tenure/kernels/cpu/reduce/plan.h"

#include <cstdlib>
#include <cstring>

namespace tenure::kernels::folding {
namespace {

/// Elements that occupy a thread long enough to be worth waking it.
constexpr std::int64_t kGrain = 1 << 16;
/// Shorter runs are folded side by side, through a transposed tile.
constexpr std::int64_t kShortRun = 32;
/// A tile row of this many elements is an odd number of cache lines: columns do not collide.
constexpr std::int64_t kTransposedBlock = 240;
/// Rows that must be converted: a tile holds eight of them.
constexpr std::int64_t kConvertedBlock = 512;
/// Narrow contiguous rows are folded several at once, so that vectors are full.
constexpr std::int64_t kNarrow = 64;

bool is_outer(const Dim& a, const Dim& b) {
  return (a.stride == 0) != (b.stride == 0) ? a.stride == 0 : a.stride > b.stride;
}

std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

}  // namespace

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

Plan::Plan(const View& in, const Axes& axes, DType accumulator)
    : data_(in.as<const std::byte>()),
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
      data_ += (dim.size - 1) * dim.stride * in_size_;
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
}

void Plan::choose_blocks() {
  const Dim run = reduced_.rank() > 0 ? reduced_[reduced_.rank() - 1] : Dim{};
  const Dim row = kept_.rank() > 0 ? kept_[kept_.rank() - 1] : Dim{};
  const bool runs_are_nearer = row.stride == 0 || run.stride < std::abs(row.stride);
  columns_ = row.size > 1 && (!runs_are_nearer || run.size < kShortRun);
  const std::int64_t terms = std::max<std::int64_t>(terms_, 1);
  if (columns_) {
    const std::int64_t widest = row.stride != 1 ? kTransposedBlock
                                : same_type_    ? kBlock * 4 / std::max<std::int64_t>(size_, 4)
                                                : kConvertedBlock;
    block_width_ = std::min(row.size, widest);
    blocks_ = outputs_ / row.size * ceil_div(row.size, block_width_);
  } else {
    block_width_ = std::clamp<std::int64_t>(kGrain / terms, 1, kBlock / 2);
    blocks_ = ceil_div(outputs_, block_width_);
  }
  grain_ = ceil_div(kGrain, block_width_ * terms);
}

// Where few outputs have many terms each, threads share an output: every chunk of its terms gives a
// partial result, and these are joined in order.
void Plan::choose_split() {
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

Block Plan::block(std::int64_t index) const {
  if (!columns_) {
    const std::int64_t first = index * block_width_;
    return {first, std::min(block_width_, outputs_ - first)};
  }
  const std::int64_t row = kept_[kept_.rank() - 1].size;
  const std::int64_t blocks_per_row = ceil_div(row, block_width_);
  const std::int64_t column = index % blocks_per_row * block_width_;
  return {index / blocks_per_row * row + column, std::min(block_width_, row - column)};
}

void Plan::fold(const Fold& rule, const Block& block, const void* p, Partials& into) const {
  rule.init(into.high.bytes, into.low.bytes, block.width);
  if (terms_ == 0) return;
  if (chunk_ != 0) {
    fold_split(rule, block, p, into);
  } else {
    const std::int64_t size = reduced_.rank() == 0 ? 1 : reduced_[split_dim_].size;
    fold_range(rule, block, p, 0, size, into);
  }
}

void Plan::fold_split(const Fold& rule, const Block& block, const void* p, Partials& into) const {
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

void Plan::fold_range(const Fold& rule, const Block& block, const void* p, std::int64_t begin,
                      std::int64_t end, Partials& into) const {
  Walk reduced = reduced_;
  const std::byte* src = data_;
  if (reduced.rank() > 0) {
    src += begin * reduced[split_dim_].stride * in_size_;
    reduced[split_dim_].size = end - begin;
  }
  if (columns_) {
    fold_columns(rule, reduced, src + kept_.offset(block.first) * in_size_, block, p, into);
    return;
  }
  for (std::int64_t i = 0; i < block.width; ++i) {
    const void* parameter = p == nullptr ? nullptr : static_cast<const std::byte*>(p) + i * size_;
    fold_runs(rule, reduced, src + kept_.offset(block.first + i) * in_size_, parameter,
              into.high.bytes + i * size_, into.low.bytes + i * size_);
  }
}

void Plan::fold_runs(const Fold& rule, const Walk& reduced, const std::byte* src, const void* p,
                     void* high, void* low) const {
  const int rank = reduced.rank();
  const Dim run = rank >= 1 ? reduced[rank - 1] : Dim{};
  const Dim rows = rank >= 2 ? reduced[rank - 2] : Dim{};
  const bool direct =
      same_type_ && (run.stride == 1 || run.size == 1) && (run.size >= kShortRun || rows.size == 1);
  if (direct && rank <= 1) {
    rule.run(high, low, p, src, run.size);
    return;
  }
  if (direct) {
    reduced.for_each(rank - 1, [&](std::int64_t offset) {
      rule.run(high, low, p, src + offset * in_size_, run.size);
    });
    return;
  }
  alignas(64) std::byte tile[kRunTile * 8];
  const std::int64_t width = std::min(run.size, kRunTile);
  const std::int64_t height = kRunTile / width;
  reduced.for_each(rank - 2, [&](std::int64_t offset) {
    for (std::int64_t r = 0; r < rows.size; r += height) {
      const std::int64_t m = std::min(height, rows.size - r);
      for (std::int64_t c = 0; c < run.size; c += width) {
        const std::int64_t n = std::min(width, run.size - c);
        const std::int64_t at = offset + r * rows.stride + c * run.stride;
        convert_(src + at * in_size_, {rows.stride, run.stride}, tile, {n, 1}, m, n);
        rule.run(high, low, p, tile, m * n);
      }
    }
  });
}

void Plan::fold_columns(const Fold& rule, const Walk& reduced, const std::byte* src,
                        const Block& block, const void* p, Partials& into) const {
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
  const auto fold_rows = [&](const std::byte* row, std::int64_t row_stride, std::int64_t count) {
    if (copies > 1 && row_stride == width) {
      const std::int64_t full = count / copies;
      rule.rows(high, low, p, row, copies * width, full, copies * width);
      row += full * copies * width * size_;
      count -= full * copies;
    }
    rule.rows(high, low, p, row, row_stride, count, width);
  };

  if (same_type_ && (stride == 1 || width == 1)) {
    reduced.for_each(rank - 1, [&](std::int64_t offset) {
      fold_rows(src + offset * in_size_, rows.stride, rows.size);
    });
  } else {
    alignas(64) std::byte tile[kTile * 8];
    const std::int64_t height = kTile / width;
    reduced.for_each(rank - 1, [&](std::int64_t offset) {
      for (std::int64_t r = 0; r < rows.size; r += height) {
        const std::int64_t m = std::min(height, rows.size - r);
        const std::byte* at = src + (offset + r * rows.stride) * in_size_;
        convert_(at, {rows.stride, stride}, tile, {width, 1}, m, width);
        fold_rows(tile, width, m);
      }
    });
  }
  for (std::int64_t i = 1; i < copies; ++i) {
    rule.merge(high, low, high + i * width * size_, low + i * width * size_, width);
  }
}

}  // namespace tenure::kernels::folding
