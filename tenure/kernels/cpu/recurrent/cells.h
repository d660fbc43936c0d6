#pragma once

#include <cstddef>
#include <span>

#include "tenure/kernels/view.h"

// One step of a recurrent layer on a batch: matrices with a row for each sequence, of one floating
// type and any strides; results are contiguous. x and h are the products of the input and of the
// hidden state with their weights, biases included, side by side for all gates.

namespace tenure::kernels {

/// i, f, g, o = sigmoid, sigmoid, tanh, sigmoid of x + h; new c = f c + i g; new h = o tanh(new c).
/// in: x, h, c; out: new h, new c.
void lstm_cell(std::span<const View> in, std::span<const View> out, std::span<std::byte> workspace);
/// in: x, h, c and the gradients of new h and new c; out: the gradients of x + h and of c.
void lstm_cell_gradient(std::span<const View> in, std::span<const View> out,
                        std::span<std::byte> workspace);

/// r, z = sigmoid of x + h; n = tanh(x + r h); new state = (1 - z) n + z state.
/// in: x, h, state; out: new state.
void gru_cell(std::span<const View> in, std::span<const View> out, std::span<std::byte> workspace);
/// in: x, h, state and the gradient of the new one; out: the gradients of x, h and state.
void gru_cell_gradient(std::span<const View> in, std::span<const View> out,
                       std::span<std::byte> workspace);

/// Bytes that any of them needs: copies of what is not contiguous along rows or of another type.
std::size_t cell_workspace(std::span<const View> in, std::span<const View> out);

}  // namespace tenure::kernels
