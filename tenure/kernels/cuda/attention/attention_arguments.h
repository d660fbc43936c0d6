#pragma once

#include "tenure/kernels/cuda/places/places_arguments.h"

namespace tenure::kernels::cuda {

/// The matrices of all heads, which begin where Places says; strides in elements.
struct AttentionMatrix {
  void* data;
  std::int64_t row;
  std::int64_t column;
};

/// Of attention or its gradients: q is n by d, k is m by d, v is m by e.
struct AttentionArguments {
  Places heads;  ///< of q, k, v, the gradient of the output, the mask
  AttentionMatrix q;
  AttentionMatrix k;
  AttentionMatrix v;
  AttentionMatrix gradient;
  AttentionMatrix mask;
  std::int64_t mask_kind;  ///< 0: none, 1: bool, true where a key is seen, 2: added
  std::int64_t n;
  std::int64_t m;
  std::int64_t d;
  std::int64_t e;
  std::int64_t causal;
  double scale;
  void* out;    ///< of all heads behind each other, rows behind each other
  void* facts;  ///< of each query: the largest score, one by the sum of weights, their mean slope
};

}  // namespace tenure::kernels::cuda
