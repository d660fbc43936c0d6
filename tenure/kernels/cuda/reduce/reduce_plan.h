#pragma once

#include <bit>

#include "tenure/kernels/cuda/launch/gpu.h"
#include "tenure/kernels/cuda/reduce/reduce_arguments.h"
#include "tenure/ops/core/loop.h"

namespace tenure::kernels::cuda {

/// Groups for `terms` terms each. Where dimensions follow those of the terms (`across` of them
/// lie side by side, if more than one), neighbouring threads take neighbours of these.
inline Groups groups_for(std::int64_t terms, std::int64_t across, std::size_t element) {
  const auto most = [](std::int64_t n, std::uint64_t limit) {
    const auto rounded = std::bit_ceil(static_cast<std::uint64_t>(std::max<std::int64_t>(n, 1)));
    return static_cast<std::uint32_t>(std::min(rounded, limit));
  };
  if (across <= 1) return {.lanes = most(terms, kGroupThreads), .columns = 0};
  // A row of a block reads 128 bytes at least, if there are so many.
  const std::uint32_t width = most(across, 128 / element);
  return {.lanes = most(terms, kGroupThreads / width), .columns = 1};
}
/// Blocks for so many groups.
inline std::uint32_t blocks_for(std::int64_t groups, const Groups& shape) {
  const std::int64_t across = kGroupThreads / shape.lanes;
  return static_cast<std::uint32_t>((groups + across - 1) / across);
}
/// Adds a dimension; one that continues the last one is joined with it.
void push(Walk& walk, std::int64_t size, std::int64_t stride);

/// Of the terms of an output.
enum class TermOrder {
  free,   ///< whatever memory is read fastest in
  given,  ///< that of the dimensions
};

/// Of a fold.
enum class States {
  small,  ///< at most kSmallStateBytes, but for those of elements of 8 bytes
  large,
};

/// The kernels of a rule, in reduce.cu.
struct ReduceKernels {
  TypedKernel rows;
  TypedKernel columns;
};

/// How a reduction is launched; data is not looked at.
class ReducePlan {
 public:
  ReducePlan(const View& in, const Axes& axes, TermOrder order, States states = States::large);

  std::size_t workspace() const;
  /// What a launch gets besides; `number` and `root` are as in ReduceArguments.
  struct Call {
    const void* in = nullptr;
    void* out = nullptr;
    void* workspace = nullptr;
    double number = 1;
    bool root = false;
  };
  void launch(Gpu& gpu, const char* op, const ReduceKernels& rule, DType type, const Call& call,
              const ops::FusedNeighbours& neighbours = {}) const;
  std::int64_t terms() const { return first_.terms; }
  std::int64_t outputs() const { return first_.outputs; }

 private:
  static bool goes_by(std::int64_t n, const Walk& along, const Walk& other);
  void plan_columns(bool are_several);
  void plan_rows();
  void cut(std::int64_t blocks, std::int64_t least);
  std::int64_t column_blocks(const Groups& groups) const;

  ReduceArguments first_{};
  std::int64_t origin_ = 0;
  std::size_t element_ = 0;
  std::int64_t of_thread_ = 1;  ///< outputs, where data lies as they need it
  std::int64_t chunks_ = 1;
};

/// Sums. In reduce_slots.cpp.
extern const ReduceKernels kReduceSum;

}  // namespace tenure::kernels::cuda
