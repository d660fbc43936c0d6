#pragma once

#include <cstdint>

#include "tenure/ops/conv_ops.h"
#include "tenure/ops/core/operand.h"

// Defined in nn/interpolate.cpp and nn/grid_sample.cpp.

namespace tenure {

/// Where a new element comes from: the one before it, the two around it, or the four.
enum class Interpolation : std::uint8_t { nearest, linear, cubic };

struct InterpolateOptions {
  Interpolation mode = Interpolation::linear;
  /// The centres of the outermost elements stay where they are; else the outer edges of them do.
  bool align_corners = false;
  Channels channels = Channels::last;
};

/// Images [batch, spatial..., channels] with other sizes along their spatial axes, by the
/// conventions of PyTorch's interpolate. float32 or float64.
Tensor interpolate(const Operand& x, const Dims& sizes, const InterpolateOptions& options = {});
/// With sizes that are `scale` times as large, rounded down.
Tensor interpolate_by(const Operand& x, double scale, const InterpolateOptions& options = {});

/// What lies outside of an image.
enum class GridPadding : std::uint8_t { zeros, border };

struct GridSampleOptions {
  Interpolation mode = Interpolation::linear;  ///< or nearest
  GridPadding padding = GridPadding::zeros;
  /// -1 and 1 are the centres of the outermost elements; else their outer edges.
  bool align_corners = false;
  Channels channels = Channels::last;
};

/// Images [batch, height, width, channels] at the places of a grid [batch, rows, columns, 2] of
/// (x, y), by the conventions of PyTorch's grid_sample. float32 or float64.
Tensor grid_sample(const Operand& x, const Operand& grid, const GridSampleOptions& options = {});

}  // namespace tenure
