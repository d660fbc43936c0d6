// Packing: lines of a matrix laid next to each other, as tiles read them, per instruction set.
#if defined(TENURE_KERNELS_CPU_GEMM_PACK_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TENURE_KERNELS_CPU_GEMM_PACK_INL_H_
#undef TENURE_KERNELS_CPU_GEMM_PACK_INL_H_
#else
#define TENURE_KERNELS_CPU_GEMM_PACK_INL_H_
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <cstdint>

#include "tenure/kernels/cpu/gemm/tile-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tenure::kernels::pack {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// Rows of a or columns of b: `terms` of a line meet those of the other matrix.
template <class T>
struct Lines {
  const T* data;
  std::int64_t line;  ///< elements from one line to the next
  std::int64_t term;  ///< and from one term of a line to the next
};

/// The columns of as many lines as 16 bytes have elements, within each 16 bytes of them.
template <class D, class V>
HWY_INLINE void turn_within_blocks(D d, V (&v)[16 / sizeof(hn::TFromD<D>)]) {
  if constexpr (sizeof(hn::TFromD<D>) == 8) {
    const V upper = hn::InterleaveUpper(d, v[0], v[1]);
    v[0] = hn::InterleaveLower(d, v[0], v[1]);
    v[1] = upper;
  } else {
    const hn::RepartitionToWide<D> pairs;
    const auto join_lower = [&](V a, V b) HWY_ATTR {
      return hn::BitCast(d,
                         hn::InterleaveLower(pairs, hn::BitCast(pairs, a), hn::BitCast(pairs, b)));
    };
    const auto join_upper = [&](V a, V b) HWY_ATTR {
      return hn::BitCast(d,
                         hn::InterleaveUpper(pairs, hn::BitCast(pairs, a), hn::BitCast(pairs, b)));
    };
    const V low01 = hn::InterleaveLower(d, v[0], v[1]);
    const V low23 = hn::InterleaveLower(d, v[2], v[3]);
    const V high01 = hn::InterleaveUpper(d, v[0], v[1]);
    const V high23 = hn::InterleaveUpper(d, v[2], v[3]);
    v[0] = join_lower(low01, low23);
    v[1] = join_upper(low01, low23);
    v[2] = join_lower(high01, high23);
    v[3] = join_upper(high01, high23);
  }
}

/// The columns of a square of blocks of 16 bytes, of which each vector is a row.
template <class D, class V>
HWY_INLINE void turn_blocks(D d, V& a, V& b) {
  const V lower = hn::ConcatLowerLower(d, b, a);
  b = hn::ConcatUpperUpper(d, b, a);
  a = lower;
}
template <class D, class V>
HWY_INLINE void turn_blocks(D d, V& a, V& b, V& e, V& f) {
  const V even_ab = hn::OddEvenBlocks(hn::SwapAdjacentBlocks(b), a);
  const V odd_ab = hn::OddEvenBlocks(b, hn::SwapAdjacentBlocks(a));
  const V even_ef = hn::OddEvenBlocks(hn::SwapAdjacentBlocks(f), e);
  const V odd_ef = hn::OddEvenBlocks(f, hn::SwapAdjacentBlocks(e));
  a = hn::ConcatLowerLower(d, even_ef, even_ab);
  b = hn::ConcatLowerLower(d, odd_ef, odd_ab);
  e = hn::ConcatUpperUpper(d, even_ef, even_ab);
  f = hn::ConcatUpperUpper(d, odd_ef, odd_ab);
}

/// As many terms of as many lines as a vector has elements: `line(i)` is where those of line i
/// are, and `store(k, terms)` gets term k of all lines.
template <class D, class Line, class Store>
HWY_INLINE void turn_square(D d, const Line& line, const Store& store) {
  constexpr int kSide = 16 / static_cast<int>(sizeof(hn::TFromD<D>));
  constexpr int kBlocks = static_cast<int>(MaxLanes(d)) / kSide;
  hn::Vec<D> v[kBlocks][kSide];
  TENURE_UNROLL
  for (int b = 0; b < kBlocks; ++b) {
    TENURE_UNROLL
    for (int i = 0; i < kSide; ++i) v[b][i] = hn::LoadU(d, line(b * kSide + i));
    turn_within_blocks(d, v[b]);
  }
  if constexpr (kBlocks > 1) {
    TENURE_UNROLL
    for (int i = 0; i < kSide; ++i) {
      if constexpr (kBlocks == 2) turn_blocks(d, v[0][i], v[1][i]);
      if constexpr (kBlocks == 4) turn_blocks(d, v[0][i], v[1][i], v[2][i], v[3][i]);
    }
  }
  TENURE_UNROLL
  for (int b = 0; b < kBlocks; ++b) {
    TENURE_UNROLL
    for (int i = 0; i < kSide; ++i) store(b * kSide + i, v[b][i]);
  }
}

/// Vectors whose last lanes cost nothing to leave out.
template <class T>
inline constexpr bool kMasks = HWY_TARGET <= HWY_AVX3 && sizeof(T) >= 4;

/// Calls `f` with the first of each `side` lines; the last ones may overlap.
template <class F>
HWY_INLINE void for_sides(std::int64_t count, std::int64_t side, const F& f) {
  for (std::int64_t i = 0; i < count; i += side) f(std::min(i, count - side));
}

/// Lines whose terms are neighbours, from term `k` on; at least a vector of them.
template <class D, class T = hn::TFromD<D>>
HWY_INLINE void pack_turned(D d, const Lines<T>& from, std::int64_t count, std::int64_t depth,
                            T* to, std::int64_t width, std::int64_t k = 0) {
  const auto side = static_cast<std::int64_t>(hn::Lanes(d));
  const std::int64_t squares = (depth - k) / side * side;
  for_sides(count, side, [&](std::int64_t i) HWY_ATTR {
    for (std::int64_t at = k; at < k + squares; at += side) {
      const T* const lines = from.data + i * from.line + at;
      T* const turned = to + at * width + i;
      turn_square(
          d, [&](int j) HWY_ATTR { return lines + j * from.line; },
          [&](int j, auto v) HWY_ATTR { hn::StoreU(v, d, turned + j * width); });
    }
  });
  k += squares;
  if constexpr (MaxLanes(D()) > 16 / sizeof(T)) {
    const hn::FixedTag<T, 16 / sizeof(T)> narrow;
    if (k < depth) pack_turned(narrow, from, count, depth, to, width, k);
  } else {
    for (; k < depth; ++k) {
      for (std::int64_t i = 0; i < count; ++i) to[k * width + i] = from.data[i * from.line + k];
    }
  }
}

/// The same of fewer lines than a vector has lanes, but not many fewer. Returns how many terms of
/// each it did.
template <class D, class T = hn::TFromD<D>>
HWY_INLINE std::int64_t pack_turned_some(D d, const Lines<T>& from, std::int64_t count,
                                         std::int64_t depth, T* to, std::int64_t width) {
  const auto side = static_cast<std::int64_t>(hn::Lanes(d));
  const auto mask = hn::FirstN(d, static_cast<std::size_t>(count));
  const T* lines[MaxLanes(D())];
  for (std::int64_t i = 0; i < side; ++i) {
    lines[i] = from.data + std::min(i, count - 1) * from.line;
  }
  std::int64_t k = 0;
  for (; k + side <= depth; k += side) {
    turn_square(
        d, [&](int i) HWY_ATTR { return lines[i] + k; },
        [&](int i, auto v) HWY_ATTR { hn::BlendedStore(v, mask, d, to + (k + i) * width); });
  }
  return k;
}

/// Lines that are neighbours; at least a vector of them.
template <class D, class T = hn::TFromD<D>>
HWY_INLINE void pack_vectors(D d, const Lines<T>& from, std::int64_t count, std::int64_t depth,
                             T* to, std::int64_t width) {
  const T* row = from.data;
  for (std::int64_t k = 0; k < depth; ++k, row += from.term, to += width) {
    for_sides(count, static_cast<std::int64_t>(hn::Lanes(d)),
              [&](std::int64_t i) HWY_ATTR { hn::StoreU(hn::LoadU(d, row + i), d, to + i); });
  }
}

/// The same of fewer lines than a vector has lanes.
template <class D, class T = hn::TFromD<D>>
HWY_INLINE void pack_vector(D d, const Lines<T>& from, std::int64_t count, std::int64_t depth,
                            T* to, std::int64_t width) {
  const auto mask = hn::FirstN(d, static_cast<std::size_t>(count));
  const T* row = from.data;
  for (std::int64_t k = 0; k < depth; ++k, row += from.term, to += width) {
    hn::BlendedStore(hn::MaskedLoad(mask, d, row), mask, d, to);
  }
}

/// Writes term k of line i to to[k * width + i], zeros for the lines from `count` to `width`.
template <class T>
HWY_NOINLINE void pack_lines(const Lines<T>& from, std::int64_t count, std::int64_t depth, T* to,
                             std::int64_t width) {
  const hn::ScalableTag<T> d;
  const hn::FixedTag<T, 16 / sizeof(T)> side;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  constexpr std::int64_t kSide = 16 / sizeof(T);
  if (count < width) {
    for (std::int64_t k = 0; k < depth; ++k) {
      std::fill_n(to + k * width + count, width - count, T(0));
    }
  }
  if (count >= kSide && from.line == 1) {
    if (count >= lanes) return pack_vectors(d, from, count, depth, to, width);
    if constexpr (kMasks<T>) return pack_vector(d, from, count, depth, to, width);
    return pack_vectors(side, from, count, depth, to, width);
  }
  if (count >= kSide && from.term == 1) {
    if (count >= lanes) return pack_turned(d, from, count, depth, to, width);
    std::int64_t k = 0;
    if constexpr (kMasks<T>) {
      if (2 * count > lanes) k = pack_turned_some(d, from, count, depth, to, width);
    }
    return pack_turned(side, from, count, depth, to, width, k);
  }
  const T* row = from.data;
  for (std::int64_t k = 0; k < depth; ++k, row += from.term, to += width) {
    for (std::int64_t i = 0; i < count; ++i) to[i] = row[i * from.line];
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace tenure::kernels::pack
HWY_AFTER_NAMESPACE();
#endif
