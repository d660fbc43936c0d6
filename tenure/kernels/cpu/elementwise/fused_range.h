#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>

#include "tenure/kernels/cpu/elementwise/fused.h"
#include "tenure/kernels/cpu/elementwise/source.h"

namespace tenure::kernels {

/// A fused loop as one thread runs it, stretch by stretch. Large: it holds the tiles.
class FusedRange {
 public:
  /// Inputs broadcast to `shape`.
  FusedRange(const Fused& fused, std::span<const View> inputs, const Shape& shape);
  FusedRange(const FusedRange&) = delete;
  FusedRange& operator=(const FusedRange&) = delete;

  /// Computes elements [begin, end) of the row-major order and writes them to `to`, which may be
  /// where an input has them. `stream`: past the caches; then that is no input.
  void run(std::int64_t begin, std::int64_t end, void* to, bool stream = false);

 private:
  const Fused& fused_;
  std::span<const View> inputs_;
  std::size_t tile_;  ///< elements that are computed at a time
  std::array<Tile, kMaxFusedInputs> gathered_;
  Tile raw_;
  std::array<std::optional<Source>, kMaxFusedInputs> sources_;
};

}  // namespace tenure::kernels
