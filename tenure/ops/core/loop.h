#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "tenure/ops/core/types.h"
#include "tenure/ops/core/view.h"

// Note: elementwise work, as data and as a device runs it
//
// A Loop says which elementwise ops are computed for every element, one after the other, and knows
// no device. Backend::prepare (backend.h) makes of it what a device runs, a PreparedLoop: compiled
// code, tables of functions, whatever that device has. Who builds loops, as eager calls and the
// passes of graphs do, asks nothing else of a device, so that a device may also wrap another one.

namespace tenure::ops {

/// One op of a loop, or a conversion of the element type if it has none.
struct LoopStep {
  const OpRecord* op = nullptr;
  DType compute{};  ///< the type that the op computes in
  /// What it reads: the loop's input i is i, the result of step s is (number of inputs) + s.
  std::array<int, kMaxArity> in{};
  DType out_type{};

  int arity() const { return op == nullptr ? 1 : op->elementwise->arity; }
  bool operator==(const LoopStep&) const = default;
};

/// Elementwise ops over one shape. The result is that of the last step.
struct Loop {
  std::vector<DType> in_types{};  ///< what steps read of each input; others are converted
  std::vector<LoopStep> steps{};

  bool empty() const { return steps.empty(); }
  DType out_type() const { return steps.back().out_type; }
  /// Of one element, relative to an addition.
  double cost() const;
  /// On the heap.
  std::size_t bytes() const;
  bool operator==(const Loop&) const = default;
};

/// Inputs that a loop has at most: a bit of LoopInputs::numbers each. Devices may take fewer.
inline constexpr int kMaxLoopInputs = 32;

/// An op alone.
Loop loop_of(const OpRecord& op, const ElementwiseTypes& types);

/// "float32, int32: 2 = float32(1); 3 = add(0, 2) in float32"
std::string to_string(const Loop& loop);

/// What a loop reads when it runs. The views broadcast to the shape that it goes over.
struct LoopInputs {
  std::span<const View> views{};
  /// Bit i: view i is a number in the host's memory, of the type that the loop reads. It is read
  /// before the call returns. Its shape is the loop's where the number is repeated
  /// (LoopLimits::repeated_numbers), else it has none.
  std::uint32_t numbers = 0;
};

/// What a device made of a loop. Any number of threads may run it at once.
class PreparedLoop {
 public:
  PreparedLoop() = default;
  virtual ~PreparedLoop() = default;
  PreparedLoop(const PreparedLoop&) = delete;
  PreparedLoop& operator=(const PreparedLoop&) = delete;

  /// `out` is contiguous, of the type of the last step, and may be the memory of an input of the
  /// same layout and element size.
  virtual void run(const LoopInputs& in, const View& out) const = 0;
  /// The same on n elements of each input, numbers too, and of the result, which lie one after the
  /// other and have the types of the loop: the short way.
  virtual void run_flat(const void* const* in, std::uint32_t numbers, void* out,
                        std::size_t n) const = 0;
  /// That it takes itself.
  virtual std::size_t bytes() const = 0;
};

/// Loops that a kernel does by the way: one that makes its first input, of which it never needs all
/// at once, and one that follows its result. Null: none. Both were prepared by the device of the
/// kernel.
struct FusedNeighbours {
  const PreparedLoop* before = nullptr;
  LoopInputs before_inputs{};
  const PreparedLoop* after = nullptr;
  LoopInputs after_inputs{};  ///< the first is the kernel's result, where it lies
  Shape after_shape{};
};

}  // namespace tenure::ops
