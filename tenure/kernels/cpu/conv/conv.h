#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "tenure/kernels/view.h"

namespace tenure::kernels {

// Note: how convolutions are computed
//
// Tensors are channels-last: x is [n, spatial..., channels], weights [kernel..., channels of a
// group, outputs], y [n, spatial..., outputs]. One engine (grid.h) computes sums over taps of
// x[position of the output + offset of the tap] times the weights of the tap, blocks of output
// positions and channels at a time in registers, from the source as it lies or, where it has
// padding, from a band of its rows with zeros around. A convolution is one such grid. Its gradient
// by x is one grid for each residue of positions modulo the stride, with the kernel turned round.
// The gradient by the weights sums over positions instead of taps.

/// One to three spatial axes; those that are missing have size 1 and come first.
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
  std::int64_t outputs() const { return batch * axes[0].out * axes[1].out * axes[2].out; }
  /// Two for each product; what meets the padding counts too.
  double flops() const {
    return 2.0 * static_cast<double>(outputs()) * static_cast<double>(out_channels) *
           static_cast<double>(taps() * (in_channels / groups));
  }
};

// Elements are float32 or float64, contiguous. Workspaces are in bytes.

/// y = convolution of x, plus `bias` unless it is null; negative results become zero if `relu`.
void convolve(const Convolution& c, DType dtype, const void* x, const void* weights,
              const void* bias, bool relu, void* y, std::span<std::byte> workspace);
std::size_t convolve_workspace(const Convolution& c, DType dtype);

/// The gradient by x, from the gradient by y.
void convolve_input_gradient(const Convolution& c, DType dtype, const void* dy, const void* weights,
                             void* dx, std::span<std::byte> workspace);
std::size_t convolve_input_gradient_workspace(const Convolution& c, DType dtype);

/// The gradients by the weights and by the bias.
void convolve_weight_gradient(const Convolution& c, DType dtype, const void* x, const void* dy,
                              void* dweights, void* dbias, std::span<std::byte> workspace);
std::size_t convolve_weight_gradient_workspace(const Convolution& c, DType dtype);

}  // namespace tenure::kernels
