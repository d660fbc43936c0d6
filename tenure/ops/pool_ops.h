#pragma once

#include <optional>

#include "tenure/ops/conv_ops.h"

// Pooling over one, two or three spatial axes, in the layouts of conv_ops.h. Defined in
// nn/pool_functions.cpp.

namespace tenure {

struct PoolOptions {
  std::optional<SpatialSizes> stride{};  ///< else the kernel: windows side by side
  SpatialSizes padding = 0;              ///< at most half a window, on both sides
  SpatialSizes dilation = 1;             ///< of max_pool
  bool count_padding = false;            ///< of avg_pool: divide by all places of a window
  /// A last window that reaches beyond the end is taken too if it begins inside or in the padding
  /// before. What it has beyond the padding behind the end is never counted.
  bool ceil_mode = false;
  Channels channels = Channels::last;
};

/// The largest element of each window; NaN wins. A backward pass holds one byte for each result,
/// four if a window has more than 256 places, and not the input.
Tensor max_pool1d(const Operand& x, const SpatialSizes& kernel, const PoolOptions& options = {});
Tensor max_pool2d(const Operand& x, const SpatialSizes& kernel, const PoolOptions& options = {});
Tensor max_pool3d(const Operand& x, const SpatialSizes& kernel, const PoolOptions& options = {});
/// The mean of each window.
Tensor avg_pool1d(const Operand& x, const SpatialSizes& kernel, const PoolOptions& options = {});
Tensor avg_pool2d(const Operand& x, const SpatialSizes& kernel, const PoolOptions& options = {});
Tensor avg_pool3d(const Operand& x, const SpatialSizes& kernel, const PoolOptions& options = {});
/// Windows that cover the input evenly, as many as `sizes` says: [i in / out, ceil((i + 1) in /
/// out)).
Tensor adaptive_max_pool1d(const Operand& x, const SpatialSizes& sizes,
                           Channels channels = Channels::last);
Tensor adaptive_max_pool2d(const Operand& x, const SpatialSizes& sizes,
                           Channels channels = Channels::last);
Tensor adaptive_max_pool3d(const Operand& x, const SpatialSizes& sizes,
                           Channels channels = Channels::last);
Tensor adaptive_avg_pool1d(const Operand& x, const SpatialSizes& sizes,
                           Channels channels = Channels::last);
Tensor adaptive_avg_pool2d(const Operand& x, const SpatialSizes& sizes,
                           Channels channels = Channels::last);
Tensor adaptive_avg_pool3d(const Operand& x, const SpatialSizes& sizes,
                           Channels channels = Channels::last);

}  // namespace tenure
