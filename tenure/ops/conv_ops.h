#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <optional>

#include "tenure/ops/core/operand.h"

// Convolutions over one, two or three spatial axes. Images are [batch, spatial..., channels] with
// weights [kernel..., channels / groups, outputs], or, with Channels::first, [batch, channels,
// spatial...] with weights [outputs, channels / groups, kernel...]. The computation is
// channels-last: of channels-first tensors it makes a copy in its workspace, and its result is a
// channels-first view of channels-last memory. Defined in nn/conv_functions.cpp.

namespace tenure {

enum class Channels : std::uint8_t { last, first };

/// A size for each spatial axis, or one number for all.
class SpatialSizes {
 public:
  template <std::integral T>
  SpatialSizes(T all) : all_(static_cast<std::int64_t>(all)) {}              // NOLINT
  SpatialSizes(std::initializer_list<std::int64_t> sizes) : each_(sizes) {}  // NOLINT
  SpatialSizes(const Dims& sizes) : each_(sizes) {}                          // NOLINT
  /// One for each of `axes`. Throws ValueError in the name of `op` for another number of them, and
  /// as require() does.
  Dims of(int axes, const char* op, const char* what, std::int64_t least) const;
  /// Throws ValueError in the name of `op` for one that is not in [least, 2^30]: products of two do
  /// not overflow.
  void require(const char* op, const char* what, std::int64_t least) const;

 private:
  std::int64_t all_ = 0;
  Dims each_;
};

/// Zeros around the input: as many on both sides, or as many as give ceil(input / stride) outputs.
class Padding {
 public:
  template <std::integral T>
  Padding(T all) : sizes_(SpatialSizes(all)) {}                                        // NOLINT
  Padding(std::initializer_list<std::int64_t> sizes) : sizes_(SpatialSizes(sizes)) {}  // NOLINT
  Padding(const Dims& sizes) : sizes_(SpatialSizes(sizes)) {}                          // NOLINT
  static Padding same() { return Padding(); }

  bool is_same() const { return !sizes_; }
  const SpatialSizes& sizes() const { return *sizes_; }

 private:
  Padding() = default;
  std::optional<SpatialSizes> sizes_;
};

struct ConvOptions {
  SpatialSizes stride = 1;
  Padding padding = 0;
  SpatialSizes dilation = 1;
  std::int64_t groups = 1;
  Channels channels = Channels::last;
  bool relu = false;  ///< negative results become zero, in the same pass
};

/// The convolution of images with weights.
Tensor conv1d(const Operand& x, const Operand& weights, const ConvOptions& options = {});
Tensor conv2d(const Operand& x, const Operand& weights, const ConvOptions& options = {});
Tensor conv3d(const Operand& x, const Operand& weights, const ConvOptions& options = {});
/// The same plus a bias, one number for each output channel.
Tensor conv1d(const Operand& x, const Operand& weights, const Operand& bias,
              const ConvOptions& options = {});
Tensor conv2d(const Operand& x, const Operand& weights, const Operand& bias,
              const ConvOptions& options = {});
Tensor conv3d(const Operand& x, const Operand& weights, const Operand& bias,
              const ConvOptions& options = {});

struct ConvTransposeOptions {
  SpatialSizes stride = 1;
  SpatialSizes padding = 0;         ///< taken off both sides of the result
  SpatialSizes output_padding = 0;  ///< added to its end; smaller than the stride
  SpatialSizes dilation = 1;
  std::int64_t groups = 1;
  Channels channels = Channels::last;
};

/// The transpose of a convolution as a linear map; its weights are those of that convolution:
/// [kernel..., outputs / groups, channels], or channels-first [channels, outputs / groups,
/// kernel...].
Tensor conv_transpose1d(const Operand& x, const Operand& weights,
                        const ConvTransposeOptions& options = {});
Tensor conv_transpose2d(const Operand& x, const Operand& weights,
                        const ConvTransposeOptions& options = {});
Tensor conv_transpose3d(const Operand& x, const Operand& weights,
                        const ConvTransposeOptions& options = {});

}  // namespace tenure
