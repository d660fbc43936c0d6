#pragma once

#include "tenure/kernels/cuda/loops/neighbours.cuh"
#include "tenure/kernels/cuda/reduce/held.cuh"

// Rows of a kernel that has loops beside it (loops/neighbours.h): in the order of a contiguous
// tensor, `columns` elements each.

namespace tenure::kernels::cuda {

/// A row of the kernel's first input, which is held if a loop makes it.
template <class Before, class T, class S, class Arguments>
inline HeldRow<T, S> first_input(const Arguments& a, const MatrixView& matrix, std::int64_t row,
                                 const Lane<S>& lane) {
  if constexpr (std::is_same_v<Before, NoLoop>) {
    return HeldRow<T, S>(Row<T>(matrix, row), lane);
  } else {
    static_assert(S::kHeld);
    return HeldRow<T, S>(Row<T>(matrix, row), lane, [&](std::int64_t i) {
      return made<Before, T, S::kSize>(a, static_cast<const T*>(nullptr), row * a.columns + i);
    });
  }
}

/// A row of the result, on which a loop follows.
template <class After, class T, class Arguments>
struct FollowedRow {
  using Element = T;
  const Arguments& a;
  std::int64_t first;

  template <class S>
  void write(std::int64_t i, const Strip<T, S::kSize>& strip) const {
    using Out = ResultOf<After, T>;
    const Strip<Out, S::kSize> all = followed<After, T, S::kSize>(a, first + i, strip);
    Out* const to = static_cast<Out*>(a.out.data) + first + i;
    if constexpr (S::kPacked) {
      *reinterpret_cast<Strip<Out, S::kSize>*>(to) = all;
    } else {
#pragma unroll S::kElementsUnrolled
      for (int e = 0; e < S::kSize; ++e) to[e] = all.of[e];
    }
  }
};
template <class After, class T, class Arguments>
inline auto result_row(const Arguments& a, std::int64_t row) {
  if constexpr (std::is_same_v<After, NoLoop>) {
    return Row<T>(a.out, row);
  } else {
    return FollowedRow<After, T, Arguments>{a, row * a.columns};
  }
}

}  // namespace tenure::kernels::cuda
