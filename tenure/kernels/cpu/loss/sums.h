#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "tenure/kernels/parallel.h"
#include "tenure/kernels/view.h"

namespace tenure::kernels {

/// The sum of `f(begin, end)` over blocks that cover [0, n), at least `grain` long each. The blocks
/// depend on n alone, so the number of threads does not change the result.
template <class F>
double sum_blocks(std::int64_t n, std::int64_t grain, const F& f) {
  constexpr std::int64_t kMaxBlocks = 256;
  const std::int64_t length = std::max(grain, (n + kMaxBlocks - 1) / kMaxBlocks);
  const std::int64_t blocks = (n + length - 1) / length;
  std::array<double, kMaxBlocks> sums{};
  parallel_for(blocks, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      sums[static_cast<std::size_t>(i)] = f(i * length, std::min(n, (i + 1) * length));
    }
  });
  double total = 0;
  for (std::int64_t i = 0; i < blocks; ++i) total += sums[static_cast<std::size_t>(i)];
  return total;
}

/// Writes a number as one element of a contiguous view of floats.
inline void write_number(const View& out, std::int64_t index, double value) {
  visit_dtype(out.dtype, [&]<class T>(TypeTag<T>) {
    if constexpr (std::is_same_v<T, double>) {
      out.as<T>()[index] = value;
    } else {
      out.as<T>()[index] = static_cast<T>(static_cast<float>(value));
    }
  });
}

}  // namespace tenure::kernels
