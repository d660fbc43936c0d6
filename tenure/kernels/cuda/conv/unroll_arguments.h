#pragma once

#include <cstdint>

namespace tenure::kernels::cuda {

/// Channels of unrolled images that a thread has.
inline constexpr int kUnrolledAtOnce = 8;

/// Of images and unrolled ones (unroll.h), both contiguous.
struct UnrollArguments {
  const void* from;
  void* to;
  std::int64_t rows;  ///< of all images
  std::int64_t in;
  std::int64_t out;
  std::int64_t kernel;
  std::int64_t stride;
  std::int64_t padding;
  std::int64_t dilation;
  std::int64_t channels;
  std::int64_t unrolled;  ///< channels, with those that are padding
};

}  // namespace tenure::kernels::cuda
