#pragma once

#include "tenure/kernels/cuda/conv/unroll_arguments.h"
#include "tenure/kernels/cuda/device/elements.cuh"
#include "tenure/kernels/cuda/device/prelude.cuh"

namespace tenure::kernels::cuda {

/// A thread for some channels of a position; numbers are below 2^31.
template <class T>
inline void unroll_images(const UnrollArguments& a) {
  const auto packs = static_cast<std::uint32_t>(a.unrolled / kUnrolledAtOnce);
  const auto out = static_cast<std::uint32_t>(a.out);
  const auto channels = static_cast<std::uint32_t>(a.channels);
  const std::uint64_t n = static_cast<std::uint64_t>(a.rows) * out * packs;
  for (std::uint64_t i = thread_index(); i < n; i += thread_count()) {
    const auto step = static_cast<std::uint32_t>(i);
    const std::uint32_t position = step / packs;
    const std::uint32_t row = position / out;
    const std::uint32_t first = (step - position * packs) * kUnrolledAtOnce;
    std::uint32_t tap = first / channels;
    std::uint32_t channel = first - tap * channels;
    const std::int64_t begin = (position - row * out) * a.stride - a.padding;
    const T* const from = static_cast<const T*>(a.from) + row * a.in * a.channels;
    Elements<T, kUnrolledAtOnce> unrolled;
    for (int j = 0; j < kUnrolledAtOnce; ++j) {
      const std::int64_t at = begin + tap * a.dilation;
      const bool is_there = tap < a.kernel && at >= 0 && at < a.in;
      unrolled.of[j] = is_there ? from[at * a.channels + channel] : static_cast<T>(0.0F);
      if (++channel == channels) {
        channel = 0;
        ++tap;
      }
    }
    static_cast<Elements<T, kUnrolledAtOnce>*>(a.to)[i] = unrolled;
  }
}

}  // namespace tenure::kernels::cuda
