#pragma once

#include <array>
#include <span>

#include "tenure/kernels/cpu/elementwise/body.h"
#include "tenure/kernels/view.h"

namespace tenure::kernels {

/// An elementwise computation over whole tensors.
struct Elementwise {
  Body body = nullptr;
  /// What the body reads of each input; inputs of other types are converted.
  std::array<DType, kMaxArity> in_types{};
  DType out_type{};  ///< what the body writes
  double cost = 1;   ///< relative to an addition; decides when threads pay
};

/// Additions that a thread must have to do before waking it up pays.
inline constexpr double kWorkPerThread = 48 * 1024;

/// How many of n elements one thread takes, at `cost` each; a multiple of kTile.
std::int64_t share_of_thread(std::int64_t n, double cost);

/// Whether a loop should write `out` past the caches: it is large, and no input.
bool should_stream(std::span<const View> inputs, const View& out);

/// Runs it. Inputs broadcast to the shape of `out`, which is contiguous and may be the same memory
/// as an input of the same layout and element size.
void run_elementwise(const Elementwise& op, std::span<const View> inputs, const View& out);

}  // namespace tenure::kernels
