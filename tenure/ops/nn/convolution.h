#pragma once

#include <array>
#include <cstdint>

namespace tenure::ops {

/// The sizes of a convolution of channels-last images. One to three spatial axes; those that are
/// missing have size 1 and come first.
struct Convolution {
  struct Axis {
    std::int64_t in = 1;
    std::int64_t out = 1;
    std::int64_t kernel = 1;
    std::int64_t stride = 1;
    std::int64_t padding = 0;  ///< before the first element; behind the last as `out` needs it
    std::int64_t dilation = 1;
  };
  std::array<Axis, 3> axes{};
  std::int64_t batch = 0;
  std::int64_t in_channels = 0;
  std::int64_t out_channels = 0;
  std::int64_t groups = 1;

  std::int64_t taps() const { return axes[0].kernel * axes[1].kernel * axes[2].kernel; }
  /// Numbers of weights, and of positions of all images and of all results.
  std::int64_t weights() const { return taps() * (in_channels / groups) * out_channels; }
  std::int64_t inputs() const { return batch * axes[0].in * axes[1].in * axes[2].in; }
  std::int64_t outputs() const { return batch * axes[0].out * axes[1].out * axes[2].out; }
  /// Two for each product; what meets the padding counts too.
  double flops() const {
    return 2.0 * static_cast<double>(outputs()) * static_cast<double>(out_channels) *
           static_cast<double>(taps() * (in_channels / groups));
  }
};

}  // namespace tenure::ops
