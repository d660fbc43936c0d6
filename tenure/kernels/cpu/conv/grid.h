#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "tenure/ops/core/loop.h"
#include "tenure/tensor/dtype.h"

namespace tenure::kernels::conv {

/// Output positions along one axis, and the source positions that each of them sums over.
struct Axis {
  std::int64_t in = 1;     ///< positions of the source
  std::int64_t count = 1;  ///< outputs
  std::int64_t step = 1;   ///< source positions from one output to the next
  std::int64_t first = 0;  ///< source position of tap 0 of output 0; negative in the padding
  std::int64_t taps = 1;
  std::int64_t apart = 1;   ///< source positions from one tap to the next
  std::int64_t weight = 0;  ///< place of tap 0 in the kernel
  std::int64_t weight_step = 1;
  std::int64_t to = 0;  ///< place of output 0 in the target
  std::int64_t to_step = 1;
  std::int64_t target = 1;  ///< positions of the target

  /// Source positions that `outputs` neighbours reach over.
  std::int64_t reach(std::int64_t outputs) const {
    return (outputs - 1) * step + (taps - 1) * apart + 1;
  }
  bool is_inside() const { return first >= 0 && first + reach(count) <= in; }
};

struct Grid {
  std::array<Axis, 3> axes{};
  std::int64_t batch = 0;
  std::int64_t groups = 1;
  std::int64_t in_channels = 0;   ///< of all groups
  std::int64_t out_channels = 0;  ///< of all groups

  std::int64_t in_group() const { return in_channels / groups; }
  std::int64_t out_group() const { return out_channels / groups; }
  std::int64_t taps() const { return axes[0].taps * axes[1].taps * axes[2].taps; }
  /// How many products each output sums.
  std::int64_t depth() const { return taps() * in_group(); }
  bool is_inside() const {
    return axes[0].is_inside() && axes[1].is_inside() && axes[2].is_inside();
  }
};

/// Rows of one image that a kernel works on at a time; see bands.cpp.
struct Bands {
  /// `least`: how many there should be, if there are that many rows.
  Bands(const Grid& grid, std::size_t element, std::int64_t least);

  std::int64_t rows = 1;  ///< of outputs
  std::int64_t per_plane = 1;
  std::int64_t count = 0;  ///< of all images
  std::int64_t width = 0;  ///< source positions of a copied row
  std::size_t bytes = 0;   ///< of a copy; 0 where the source is used as it lies
};

/// Where the source of a band lies, as the kernels read it: element (tap plane, row, column,
/// channel) relative to the first tap of the band's first output.
struct Source {
  const void* data = nullptr;
  std::int64_t plane = 0;  ///< elements from one tap's plane to the next
  std::int64_t row = 0;
};

/// One band: outputs [row, row + rows) of a plane of an image.
struct Band {
  std::int64_t image = 0;
  std::int64_t plane = 0;
  std::int64_t row = 0;
  std::int64_t rows = 0;
};
Band band_at(const Grid& grid, const Bands& bands, std::int64_t index);

/// The source of a band: where it lies, or a copy in `room` with zeros for the padding.
Source source_of(const Grid& grid, const Bands& bands, const Band& band, DType dtype,
                 const void* source, std::byte* room);

/// Weights of a grid in memory: element (place in the kernel, source channel, target channel).
struct Weights {
  const void* data = nullptr;
  std::int64_t place = 0;  ///< elements from one place in the kernel to the next
  std::int64_t source = 0;
  std::int64_t target = 0;
  std::int64_t group = 0;
  std::array<std::int64_t, 3> kernel{1, 1, 1};
};

/// What happens to the sums of a grid.
struct Finish {
  const void* bias = nullptr;  ///< added, unless it is null
  bool relu = false;           ///< negative results become zero
  /// Unless null: a loop that follows on each band, of a grid that fills its target.
  const ops::FusedNeighbours* after = nullptr;
};

/// Computes a grid (tiles.cpp). `packed` has room for the padded weights, `room` for the bands of
/// each of `slots` threads.
void run_grid(const Grid& grid, DType dtype, const void* source, const Weights& weights,
              const Finish& finish, void* target, std::byte* packed, std::byte* room,
              std::int64_t slots);

/// dweights[tap, source channel, target channel] of a grid whose target is dy, and dbias. In
/// weight_gradient.cpp.
void run_weight_gradient(const Grid& grid, DType dtype, const void* source, const void* dy,
                         void* dweights, void* dbias, bool adds, std::byte* room,
                         std::int64_t slots);

}  // namespace tenure::kernels::conv
