#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "tenure/graph/passes/readers.h"
#include "tenure/graph/passes/unit.h"
#include "tenure/ops/core/backend.h"

namespace tenure::graph {

// Note: the layout of a kernel's result
//
// Results lie densely in the order of their axes, unless a kernel can write its own otherwise
// (ops::KernelSlot::moved): with the last two axes the other way round, or with rows that begin
// where the device likes it (ops::Backend::row_alignment), a gap behind each; or both. It does so
// where fewer bytes are moved then, by itself and by those that read it, which may choose in turn
// how their own results lie. Gradients of matrices that were transposed come out as these lie, and
// logits of 50,257 tokens have rows that the tensor cores can load. What other kernels read lies as
// ever, as they might compute other bits; gaps are bytes of the buffer that nobody reads.

/// Chooses how the results of kernels lie in memory.
class KernelLayoutChoice {
 public:
  /// `layouts` are those of the nodes so far, by node; the choice looks there again each time.
  /// `is_in_loop` tells which nodes a loop computes.
  KernelLayoutChoice(const Program& program, std::span<const Value> fetches,
                     const std::vector<std::vector<Layout>>& layouts,
                     std::function<bool(std::int32_t)> is_in_loop)
      : program_(program),
        fetches_(fetches),
        layouts_(layouts),
        is_in_loop_(std::move(is_in_loop)),
        device_(ops::backend(program.device)),
        readers_(program) {}

  /// For the result of the kernel of a node; contiguous if nothing is gained by anything else.
  Strides strides(std::int32_t node);

 private:
  /// What it is taken for that a value lies so.
  struct Guess {
    std::int32_t node;
    ops::View view;
  };
  /// Bytes that are moved if the result of a kernel lies so; nothing if it cannot. `guess` is of
  /// one that it reads.
  std::optional<std::int64_t> moved(std::int32_t node, const Strides& strides, const Guess* guess,
                                    int depth);
  /// The same of what reads a value. `plain` is how it would lie if nothing were chosen.
  /// `views` are between the value and the kernel that made it.
  std::optional<std::int64_t> moved_by_readers(std::int32_t node, const ops::View& view,
                                               const ops::View& plain, int depth, int views = 0);
  std::optional<std::int64_t> moved_by(std::int32_t reader, const Guess& guess,
                                       const ops::View& plain, int depth, int views);
  /// Ways in which the result of a kernel may lie, the usual one first.
  std::vector<Strides> ways(std::int32_t node) const;
  /// What the device has for a kernel that chooses; nullptr: the node is none.
  const ops::KernelSlot* choosing(std::int32_t number) const;
  /// As it lies; what nobody has chosen yet is taken to lie well.
  ops::View known(Value value) const;
  /// Elements from row to row, where each begins as the device likes it.
  std::int64_t row_step(std::int64_t row, DType type) const;

  const Program& program_;
  std::span<const Value> fetches_;
  const std::vector<std::vector<Layout>>& layouts_;
  std::function<bool(std::int32_t)> is_in_loop_;
  const ops::Backend& device_;
  Readers readers_;
};

/// Elements from the first to behind the last one of a layout that begins with the first, gaps
/// behind rows included.
std::int64_t extent(const Shape& shape, const Strides& strides);

}  // namespace tenure::graph
