#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <vector>

#include "tenure/kernels/cpu/elementwise/body.h"
#include "tenure/kernels/view.h"

namespace tenure::kernels {

// Note: fused loops
//
// Several elementwise ops over one shape run tile by tile: what one op hands to the next stays in a
// tile in the first-level cache and never reaches memory. Each op is the body that also serves it
// alone, so that the results are the same to the last bit.

/// One op of a fused loop, or a conversion of the element type if it has no body.
struct FusedStep {
  Body body = nullptr;
  int arity = 1;
  /// What it reads: the loop's input i is i, the result of step s is (number of inputs) + s.
  std::array<int, kMaxArity> in{};
  DType out_type{};
};

/// An elementwise computation of several ops. The result is that of the last step.
struct Fused {
  std::vector<DType> in_types{};  ///< what steps read of each input; others are converted
  std::vector<FusedStep> steps{};
  double cost = 1;  ///< relative to an addition
  // By prepare().
  std::vector<int> tiles{};  ///< of each step's result
  std::vector<DType> types{};
  int tile_count = 0;
};

/// At most this many inputs and tiles: those of a loop must stay in the cache. More ops than so
/// many gain nothing.
inline constexpr int kMaxFusedInputs = 12;
inline constexpr int kMaxFusedTiles = 16;
inline constexpr int kMaxFusedOps = 24;
/// A quarter of a tile: the inputs of this one and of the next one, and the results in between, fit
/// in the first-level cache together.
inline constexpr std::size_t kFusedTile = kTile / 4;
/// Where there are few inputs, longer: tiles begin less often. Much longer ones ask for more memory
/// at a time than can be under way.
inline constexpr std::size_t kFewInputs = 4;
inline constexpr std::size_t kLargeFusedTile = kFusedTile / 2 * 3;

/// Gives every step a tile, used again as soon as its last reader is done. False if there are too
/// many inputs or tiles.
bool prepare(Fused& fused);

/// Runs it on n <= kTile elements of each input, contiguous and in the wanted types.
void run_fused_tile(const Fused& fused, const void* const* in, void* out, std::size_t n);

/// Runs it. Inputs broadcast to the shape of `out`, which is contiguous, of the last step's type,
/// and may be the memory of an input of the same layout and element size.
void run_fused(const Fused& fused, std::span<const View> inputs, const View& out);

}  // namespace tenure::kernels
