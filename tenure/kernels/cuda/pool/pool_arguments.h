#pragma once

#include <cstdint>

namespace tenure::kernels::cuda {

/// An axis of pooling, as ops/nn/pooling.h has it.
struct PoolAxis {
  std::int64_t in;
  std::int64_t out;
  std::int64_t kernel;  ///< 0: adaptive
  std::int64_t stride;
  std::int64_t padding;
  std::int64_t dilation;
};

/// Images, windows, or the numbers of places in windows: [batch, z, y, x, channels].
struct PoolOperand {
  void* data;
  std::int64_t strides[5];  ///< in elements
};

/// Of pooling or one of its gradients.
struct PoolArguments {
  PoolAxis axes[3];
  std::int64_t batch;
  std::int64_t channels;
  PoolOperand images;
  PoolOperand windows;
  PoolOperand places;
  std::int64_t counts_padding;  ///< an average counts all places of its window
  std::int64_t packed;          ///< neighbouring channels are read and written at once
};

}  // namespace tenure::kernels::cuda
