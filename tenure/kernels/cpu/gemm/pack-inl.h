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

/// Four by four elements (two by two of float64): `to` has the columns of `from` as rows.
template <class T>
HWY_INLINE void turn(const T* from, std::int64_t line, T* to, std::int64_t width) {
  static_assert(sizeof(T) == 4);
  const hn::FixedTag<T, 4> d;
  const hn::Repartition<double, decltype(d)> pairs;
  const auto join_lower = [&](auto a, auto b) HWY_ATTR {
    return hn::BitCast(d, hn::InterleaveLower(pairs, hn::BitCast(pairs, a), hn::BitCast(pairs, b)));
  };
  const auto join_upper = [&](auto a, auto b) HWY_ATTR {
    return hn::BitCast(d, hn::InterleaveUpper(pairs, hn::BitCast(pairs, a), hn::BitCast(pairs, b)));
  };
  const auto r0 = hn::LoadU(d, from);
  const auto r1 = hn::LoadU(d, from + line);
  const auto r2 = hn::LoadU(d, from + 2 * line);
  const auto r3 = hn::LoadU(d, from + 3 * line);
  const auto low01 = hn::InterleaveLower(d, r0, r1);
  const auto low23 = hn::InterleaveLower(d, r2, r3);
  const auto high01 = hn::InterleaveUpper(d, r0, r1);
  const auto high23 = hn::InterleaveUpper(d, r2, r3);
  hn::StoreU(join_lower(low01, low23), d, to);
  hn::StoreU(join_upper(low01, low23), d, to + width);
  hn::StoreU(join_lower(high01, high23), d, to + 2 * width);
  hn::StoreU(join_upper(high01, high23), d, to + 3 * width);
}
HWY_INLINE void turn(const double* from, std::int64_t line, double* to, std::int64_t width) {
  const hn::FixedTag<double, 2> d;
  const auto r0 = hn::LoadU(d, from);
  const auto r1 = hn::LoadU(d, from + line);
  hn::StoreU(hn::InterleaveLower(d, r0, r1), d, to);
  hn::StoreU(hn::InterleaveUpper(d, r0, r1), d, to + width);
}

/// Calls `f` with the first of each `side` lines; the last ones may overlap.
template <class F>
HWY_INLINE void for_sides(std::int64_t count, std::int64_t side, const F& f) {
  for (std::int64_t i = 0; i < count; i += side) f(std::min(i, count - side));
}

/// Lines whose terms are neighbours; at least `kSide`.
template <class T, std::int64_t kSide = 16 / sizeof(T)>
HWY_INLINE void pack_turned(const Lines<T>& from, std::int64_t count, std::int64_t depth, T* to,
                            std::int64_t width) {
  for_sides(count, kSide, [&](std::int64_t i) HWY_ATTR {
    const T* const lines = from.data + i * from.line;
    std::int64_t k = 0;
    for (; k + kSide <= depth; k += kSide) turn(lines + k, from.line, to + k * width + i, width);
    for (; k < depth; ++k) {
      for (std::int64_t j = 0; j < kSide; ++j) to[k * width + i + j] = lines[j * from.line + k];
    }
  });
}

/// Lines that are neighbours; at least a vector of them.
template <class D, class T = hn::TFromD<D>>
HWY_INLINE void pack_vectors(const Lines<T>& from, std::int64_t count, std::int64_t depth, T* to,
                             std::int64_t width) {
  const D d;
  const T* row = from.data;
  for (std::int64_t k = 0; k < depth; ++k, row += from.term, to += width) {
    for_sides(count, static_cast<std::int64_t>(hn::Lanes(d)),
              [&](std::int64_t i) HWY_ATTR { hn::StoreU(hn::LoadU(d, row + i), d, to + i); });
  }
}

/// Writes term k of line i to to[k * width + i], zeros for the lines from `count` to `width`.
template <class T>
HWY_NOINLINE void pack_lines(const Lines<T>& from, std::int64_t count, std::int64_t depth, T* to,
                             std::int64_t width) {
  using D = hn::ScalableTag<T>;
  using Side = hn::FixedTag<T, 16 / sizeof(T)>;
  constexpr std::int64_t kSide = 16 / sizeof(T);
  if (count < width) {
    for (std::int64_t k = 0; k < depth; ++k) {
      std::fill_n(to + k * width + count, width - count, T(0));
    }
  }
  if (count >= kSide && from.line == 1) {
    if (count >= static_cast<std::int64_t>(hn::Lanes(D()))) {
      return pack_vectors<D>(from, count, depth, to, width);
    }
    return pack_vectors<Side>(from, count, depth, to, width);
  }
  if (count >= kSide && from.term == 1) return pack_turned(from, count, depth, to, width);
  const T* row = from.data;
  for (std::int64_t k = 0; k < depth; ++k, row += from.term, to += width) {
    for (std::int64_t i = 0; i < count; ++i) to[i] = row[i * from.line];
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace tenure::kernels::pack
HWY_AFTER_NAMESPACE();
#endif
