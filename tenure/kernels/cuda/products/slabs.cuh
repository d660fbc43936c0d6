#pragma once

#include "tenure/kernels/cuda/device/mma.cuh"
#include "tenure/kernels/cuda/device/vector.cuh"

// Operands of products of float32 on their way from memory through shared memory to threads.

namespace tenure::kernels::cuda {

/// An operand's slab in shared memory: `size` lines across, `depth` steps of k. Threads copy 16
/// bytes each, side by side along the lines of memory.
template <int size, int depth, bool runs, int threads>
struct Slab {
  static constexpr int kLines = runs ? size : depth;
  static constexpr int kLength = runs ? depth : size;
  static constexpr int kLine = kLength + 4;  ///< in shared memory
  static constexpr int kFloats = kLines * kLine;
  static constexpr int kAtOnce = threads / (kLength / 4);  ///< lines
  static_assert(threads % (kLength / 4) == 0);

  const float* from;    ///< where this thread begins at the first step of k
  std::int64_t stride;  ///< of lines in memory
  int line;
  int along;
  int left;  ///< past the end there are zeros: of this axis; k has its own
  bool by_vectors;

  Slab(const float* matrix, std::int64_t line_stride, bool vectors, int first, int past)
      : stride(line_stride),
        line(static_cast<int>(threadIdx.x) / (kLength / 4)),
        along(static_cast<int>(threadIdx.x) % (kLength / 4) * 4),
        left(past - first - (runs ? line : along)),
        by_vectors(vectors) {
    from = matrix + (runs ? (first + line) * stride + along : line * stride + first + along);
  }

  /// Begins to copy the slab from step k on; steps past `end` are zeros.
  void begin(float* shared, int k, int end) const {
    const float* source = from + (runs ? k : k * stride);
    float* to = shared + line * kLine + along;
    const int steps = end - k - (runs ? along : line);
#pragma unroll
    for (int i = 0; i < kLines; i += kAtOnce) {
      if (kLines % kAtOnce != 0 && line + i >= kLines) break;
      const bool is_inside = (runs ? left : steps) > i;
      const int there = is_inside ? max(0, min(4, runs ? steps : left)) : 0;
      if (by_vectors) {
        begin_copy_of_part(to, source, static_cast<unsigned>(there) * 4);
      } else {
#pragma unroll 1
        for (int e = 0; e < 4; ++e) begin_copy_of_word(to + e, source + e, e < there);
      }
      source += kAtOnce * stride;
      to += kAtOnce * kLine;
    }
  }
};

/// What a thread has of an operand for four steps of k: `count` lines.
template <int count, int lanes, bool runs, int line>
struct Fragment {
  static constexpr int kAtOnce = count < 4 ? count : 4;
  float of[4][count];

  /// The number of line i among those of the warp.
  static int line_of(int lane, int i) {
    return runs ? lane + lanes * i : kAtOnce * lane + i % kAtOnce + kAtOnce * lanes * (i / kAtOnce);
  }
  void load(const float* slab, int first, int lane, int k) {
    if constexpr (runs) {
#pragma unroll
      for (int i = 0; i < count; ++i) {
        const auto four = *reinterpret_cast<const Vector<float, 4>*>(
            slab + (first + line_of(lane, i)) * line + k);
#pragma unroll
        for (int s = 0; s < 4; ++s) of[s][i] = four.of[s];
      }
    } else {
#pragma unroll
      for (int s = 0; s < 4; ++s) {
#pragma unroll
        for (int i = 0; i < count; i += kAtOnce) {
          const auto some = *reinterpret_cast<const Vector<float, kAtOnce>*>(
              slab + (k + s) * line + first + line_of(lane, i));
#pragma unroll
          for (int e = 0; e < kAtOnce; ++e) of[s][i + e] = some.of[e];
        }
      }
    }
  }
};

}  // namespace tenure::kernels::cuda
