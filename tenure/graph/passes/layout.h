#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "tenure/graph/passes/readers.h"
#include "tenure/graph/passes/unit.h"

namespace tenure::graph {

// Note: the layout of a loop's result
//
// A loop may write its result with the axes in any order. In its own order everybody can read it as
// it is. Kernels that want their inputs contiguous copy what is not: images with channels first,
// which are views of images with channels last, between two convolutions. There the result lies as
// the loop's inputs do, if that spares more copies than it makes. Kernels that compute from strided
// elements would give other bits: what they read keeps its order.

/// Chooses the order of axes in which the results of loops lie in memory.
class LayoutChoice {
 public:
  LayoutChoice(const Program& program, std::span<const Value> fetches)
      : program_(program), fetches_(fetches), readers_(program) {}

  /// The axes, outermost first, for the result of a loop that ends in `node` and reads `in`;
  /// nothing if its own order is best.
  std::optional<Axes> order(std::int32_t node, std::span<const Layout> in);

 private:
  /// Bytes that are copied for the readers of a node if its result lies so; nothing if a reader
  /// would compute other bits.
  std::optional<std::int64_t> copied(std::int32_t node, const ops::Spec& spec,
                                     const Strides& strides, int depth);
  std::optional<std::int64_t> copied_for(std::int32_t reader, std::int32_t node,
                                         const ops::Spec& spec, const Strides& strides, int depth);

  const Program& program_;
  std::span<const Value> fetches_;
  Readers readers_;
};

/// The axes of a dense layout, outermost first; nothing if it has gaps or repeats elements.
std::optional<Axes> dense_order(const Shape& shape, const Strides& strides);

/// Strides in which the axes of `shape` lie in the given order.
Strides strides_in_order(const Shape& shape, const Axes& order);

/// The sizes, or the strides, of the axes in the given order.
Dims in_order(const Dims& dims, const Axes& order);

/// An input of a loop as it is read when the axes come in another order. Of a number, the buffer
/// has as many elements as it is read.
void reorder(Layout& in, const Axes& order, bool is_number);

}  // namespace tenure::graph
