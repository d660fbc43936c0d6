#pragma once

#include <cstddef>
#include <span>

#include "tenure/ops/core/loop.h"
#include "tenure/ops/nn/convolution.h"
#include "tenure/tensor/dtype.h"

namespace tenure::kernels {

using ops::Convolution;

// Note: how convolutions are computed
//
// Tensors are channels-last: x is [n, spatial..., channels], weights [kernel..., channels of a
// group, outputs], y [n, spatial..., outputs]. One engine (grid.h) computes sums over taps of
// x[position of the output + offset of the tap] times the weights of the tap, blocks of output
// positions and channels at a time in registers, from the source as it lies or, where it has
// padding, from a band of its rows with zeros around. A convolution is one such grid. Its gradient
// by x is one grid for each residue of positions modulo the stride, with the kernel turned round.
// The gradient by the weights sums over positions instead of taps.

// Elements are float32 or float64, contiguous. Workspaces are in bytes.

/// y = convolution of x, plus `bias` unless it is null; negative results become zero if `relu`.
/// `after`, if not null, has a loop that follows y.
void convolve(const Convolution& c, DType dtype, const void* x, const void* weights,
              const void* bias, bool relu, void* y, std::span<std::byte> workspace,
              const ops::FusedNeighbours* after = nullptr);
std::size_t convolve_workspace(const Convolution& c, DType dtype);

/// The gradient by x, from the gradient by y. `after`, if not null, has a loop that follows dx.
void convolve_input_gradient(const Convolution& c, DType dtype, const void* dy, const void* weights,
                             void* dx, std::span<std::byte> workspace,
                             const ops::FusedNeighbours* after = nullptr);
std::size_t convolve_input_gradient_workspace(const Convolution& c, DType dtype);

/// The gradients by the weights and, unless that is null, by the bias; added to what is there if it `adds`. They are
/// summed image by image, so that the first images and then the others give the same bits as all at
/// once.
void convolve_weight_gradient(const Convolution& c, DType dtype, const void* x, const void* dy,
                              void* dweights, void* dbias, bool adds,
                              std::span<std::byte> workspace);
std::size_t convolve_weight_gradient_workspace(const Convolution& c, DType dtype);

}  // namespace tenure::kernels
