#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "tenure/kernels/cpu/reduce/convert.h"
#include "tenure/kernels/cpu/reduce/fold.h"
#include "tenure/kernels/parallel.h"
#include "tenure/kernels/view.h"
#include "tenure/ops/core/loop.h"

namespace tenure::kernels::reduce {

/// One dimension of an input: how many elements, how far apart.
struct Dim {
  std::int64_t size = 1;
  std::int64_t stride = 0;
};

/// Up to kMaxRank dimensions, outermost first. Neighbours that can be walked as one are one.
class Walk {
 public:
  int rank() const { return rank_; }
  Dim& operator[](int i) { return dims_[i]; }
  const Dim& operator[](int i) const { return dims_[i]; }
  std::int64_t count() const;
  /// Appends an inner dimension.
  void push(Dim dim);
  /// Where element `index` of the row-major order lies.
  std::int64_t offset(std::int64_t index) const;
  /// Calls `f(offset)` for each element of the first `rank` dimensions.
  template <class F>
  void for_each(int rank, const F& f) const;

 private:
  Dim dims_[kMaxRank];
  int rank_ = 0;
};

/// Outputs are computed in blocks, at most this many of four bytes or half as many of eight.
inline constexpr std::int64_t kBlock = 2048;

/// An array of an accumulator type, one element per output of a block, padded as Fold needs it.
struct BlockArray {
  alignas(64) std::byte bytes[kBlock * 4 + 64];

  template <class T>
  T* as() {
    return reinterpret_cast<T*>(bytes);
  }
};

struct Partials {
  BlockArray high;
  BlockArray low;
};

/// Outputs [first, first + width).
struct Block {
  std::int64_t first = 0;
  std::int64_t width = 0;
};

/// Makes stretches of the input of a reduction as they are folded.
class Maker;

/// How one reduction walks its input. Two ways: outputs one after another, each over consecutive
/// elements, or a row of outputs side by side. What is not contiguous or of another type than the
/// accumulator goes through a tile on the stack. Depends on the view alone, not on the threads.
class ReducePlan {
 public:
  /// `neighbours.before` makes the input, if it is there; the view has no data then.
  ReducePlan(const View& in, const Axes& axes, DType accumulator,
             const ops::FusedNeighbours& neighbours = {});

  std::int64_t outputs() const { return outputs_; }
  /// How many elements make one output.
  std::int64_t terms() const { return terms_; }

  /// Whether the input is read in stretches of consecutive elements, so that a loop may make it on
  /// the way, and by as many threads as that loop would have.
  bool takes_loop() const;

  /// Calls `body(block)` for blocks that cover the outputs, on several threads if it pays.
  template <class Body>
  void for_each_block(const Body& body) const {
    parallel_for(blocks_, grain_, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) body(block(i));
    });
  }

  /// Folds everything that makes the outputs of `block`, with parameter `p[i]` for output i.
  void fold(const Fold& rule, const Block& block, const void* p, Partials& into) const;

 private:
  friend class Maker;
  /// Long runs are folded in pieces, as a loop that makes them has no place for all of one.
  static constexpr std::int64_t kPiece = 1 << 14;
  static constexpr std::int64_t kTile = 4096;
  static constexpr std::int64_t kRunTile = 1024;  ///< stays in the first cache
  static constexpr std::int64_t kMaxPartialBytes = 1 << 16;

  void choose_blocks();
  void choose_split();
  void divide_blocks();
  /// Blocks of at most `widest` outputs, and of so many elements that a thread is worth waking.
  void set_blocks(std::int64_t widest, std::int64_t elements);
  Block block(std::int64_t index) const;
  void fold_range(const Fold& rule, const Block& block, const void* p, std::int64_t begin,
                  std::int64_t end, Partials& into) const;
  void fold_split(const Fold& rule, const Block& block, const void* p, Partials& into) const;
  /// What a thread folds of `reduced`, from element `at` on.
  void fold_walk(const Fold& rule, const Walk& reduced, std::int64_t at, const Block& block,
                 const void* p, Partials& into, Maker* maker) const;
  void fold_runs(const Fold& rule, const Walk& reduced, std::int64_t at, const void* p, void* high,
                 void* low, Maker* maker) const;
  void fold_columns(const Fold& rule, const Walk& reduced, std::int64_t at, const Block& block,
                    const void* p, Partials& into, Maker* maker) const;
  /// The run of `reduced` is contiguous and long enough to be folded as it lies.
  bool folds_runs_directly(const Walk& reduced) const;
  /// Where element `at` lies.
  const std::byte* element(std::int64_t at) const { return data_ + at * in_size_; }

  const std::byte* data_;
  ops::FusedNeighbours neighbours_;
  Shape shape_;
  std::int64_t origin_ = 0;  ///< of the walk: the first element unless axes are walked backwards
  std::int64_t in_size_;
  std::int64_t size_;  ///< of an accumulator
  ConvertPlane convert_;
  bool same_type_;
  Walk kept_;
  Walk reduced_;
  std::int64_t outputs_ = 1;
  std::int64_t terms_ = 1;
  bool columns_ = false;
  std::int64_t block_width_ = 1;
  std::int64_t blocks_ = 1;
  std::int64_t grain_ = 1;
  int split_dim_ = 0;
  std::int64_t chunk_ = 0;  ///< of the split dimension; 0: not split
};

template <class F>
void Walk::for_each(int rank, const F& f) const {
  std::int64_t index[kMaxRank] = {};
  std::int64_t offset = 0;
  for (;;) {
    f(offset);
    int i = rank - 1;
    for (; i >= 0; --i) {
      offset += dims_[i].stride;
      if (++index[i] < dims_[i].size) break;
      offset -= dims_[i].stride * dims_[i].size;
      index[i] = 0;
    }
    if (i < 0) return;
  }
}

}  // namespace tenure::kernels::reduce
