#pragma once

#include <cstddef>
#include <span>

#include "tenure/kernels/view.h"

namespace tenure::kernels {

/// out = softmax(scale q k^T + mask) v for each of the matrices in the last two axes. q is
/// [heads..., n, d], k [heads..., m, d], v [heads..., m, e], all of one floating type and any
/// strides; the results are contiguous. Queries that see no key give zeros.
struct Attention {
  double scale = 1;
  bool causal = false;         ///< query i sees keys up to i + m - n: the last one sees all
  const View* mask = nullptr;  ///< bool (true: seen) or added; broadcasts to [heads..., n, m]
};

// Some rows of n x m scores exist at a time, in the workspace: as many for each thread.

void attention(const Attention& how, const View& q, const View& k, const View& v, const View& out,
               std::span<std::byte> workspace);
std::size_t attention_workspace(const Attention& how, const View& q, const View& k, const View& v,
                                const View& out);

/// The gradients of the inputs, from that of the output.
struct AttentionGradients {
  const View& q;
  const View& k;
  const View& v;
};
void attention_gradient(const Attention& how, const View& q, const View& k, const View& v,
                        const View& dout, const AttentionGradients& out,
                        std::span<std::byte> workspace);
std::size_t attention_gradient_workspace(const Attention& how, const View& q, const View& k,
                                         const View& v, const View& dout,
                                         const AttentionGradients& out);

}  // namespace tenure::kernels
