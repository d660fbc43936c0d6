#pragma once

#include <cstdint>

namespace tenure::kernels::cuda {

/// Threads of a block whose groups are joined.
inline constexpr unsigned kGroupThreads = 256;

/// Things that blocks share in one launch, at most: outputs of which each has a part.
inline constexpr int kMostSharing = 4096;

/// How threads are shared out. groups.cuh says what that means.
struct Groups {
  std::uint32_t lanes;   ///< of a group: a power of two, at most kGroupThreads
  std::int32_t columns;  ///< neighbouring threads are in neighbouring groups
};

/// Dimensions that are walked through in row-major order; strides in elements.
struct Walk {
  std::int32_t rank;
  std::int64_t sizes[8];
  std::int64_t strides[8];
};

/// A tensor whose elements are walked through in order; no data: there is none.
struct FlatView {
  void* data;
  Walk walk;
};

/// A tensor as a matrix.
struct MatrixView {
  void* data;
  Walk rows;
  Walk columns;
};

}  // namespace tenure::kernels::cuda
