// How terms of each type become elements of packed panels, per instruction set.
#if defined(TENURE_KERNELS_CPU_GEMM_PACKING_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TENURE_KERNELS_CPU_GEMM_PACKING_INL_H_
#undef TENURE_KERNELS_CPU_GEMM_PACKING_INL_H_
#else
#define TENURE_KERNELS_CPU_GEMM_PACKING_INL_H_
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "tenure/kernels/cpu/gemm/cut-inl.h"
#include "tenure/kernels/cpu/gemm/pack-inl.h"
#include "tenure/kernels/cpu/gemm/panels-inl.h"
#include "tenure/kernels/cpu/move/widen-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tenure::kernels::packing {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
using cut::HWY_NAMESPACE::Source;
using pack::HWY_NAMESPACE::Lines;
using pack::HWY_NAMESPACE::pack_lines;
using panels::HWY_NAMESPACE::kRowStep;
using panels::HWY_NAMESPACE::kTileRows;
using panels::HWY_NAMESPACE::kTileWidth;
using panels::HWY_NAMESPACE::SingleTerms;
using widen::HWY_NAMESPACE::widen_row;

// Note: the order in which terms of bfloat16 are added
//
// An instruction of some CPUs adds two products of bfloat16 to a sum of float32: the second one
// first, each by a multiply-add that takes numbers below the least normal one as zeros and makes
// them so. Other CPUs give the same bits by multiply-adds of float32 in that order and mode; as a
// product that float32 can hold is exact, also where those round twice. An odd last term has a zero
// beside it.

/// What packs lines whose terms are neighbours where they lie, and then turns them.
template <class Packing>
void pack_rows(const Source& from, std::int64_t count, std::int64_t depth,
               typename Packing::Element* to, std::int64_t width) {
  using E = typename Packing::Element;
  HWY_ALIGN E
      rows[std::max<std::int64_t>(kTileRows, kTileWidth * HWY_MAX_BYTES / sizeof(E)) * kRowStep<E>];
  for (std::int64_t i = 0; i < count; ++i) {
    Packing::copy_row(from.at(i, 0), depth, rows + i * kRowStep<E>);
  }
  pack_lines(Lines<E>{rows, kRowStep<E>, 1}, count, Packing::elements(depth), to, width);
}

/// Numbers that are multiplied as they are, and those of float16, which become float32.
template <class T>
struct Single {
  using Terms = SingleTerms<T>;
  using Element = T;
  struct Mode {};
  static constexpr std::int64_t kTerms = 1;  ///< of an element
  static constexpr std::int64_t elements(std::int64_t terms) { return terms; }

  /// Term k of line i to to[k * width + i], zeros for the lines from `count` to `width`. Of narrow
  /// types either lines or terms are neighbours.
  static HWY_INLINE void pack(const Source& from, std::int64_t count, std::int64_t depth, T* to,
                              std::int64_t width) {
    if constexpr (sizeof(T) == sizeof(float)) {
      if (from.dtype == DType::float16) return pack_half(from, count, depth, to, width);
    }
    pack_lines(from.lines<T>(), count, depth, to, width);
  }
  /// A line whose terms are neighbours.
  static HWY_INLINE void copy_row(const Source& row, std::int64_t depth, T* to) {
    if constexpr (sizeof(T) == sizeof(float)) {
      if (row.dtype == DType::float16) {
        return widen_row(row.lines<Half>().data, to, static_cast<std::size_t>(depth));
      }
    }
    std::copy_n(row.lines<T>().data, depth, to);
  }

 private:
  static HWY_NOINLINE void pack_half(const Source& from, std::int64_t count, std::int64_t depth,
                                     T* to, std::int64_t width) {
    if (from.line != 1) return pack_rows<Single>(from, count, depth, to, width);
    for (std::int64_t k = 0; k < depth; ++k, to += width) {
      widen_row(from.at(0, k).template lines<Half>().data, to, static_cast<std::size_t>(count));
      std::fill(to + count, to + width, T(0));
    }
  }
};

/// While it lives, floats of this thread below the least normal one are taken and made as zeros.
class TinyAreZeros {
 public:
#if HWY_ARCH_X86
  TinyAreZeros() : before_(_mm_getcsr()) { _mm_setcsr(before_ | kFlushResults | kZeroInputs); }
  ~TinyAreZeros() { _mm_setcsr(before_); }

 private:
  static constexpr unsigned kFlushResults = 1U << 15;
  static constexpr unsigned kZeroInputs = 1U << 6;
  unsigned before_;
#else
  TinyAreZeros() {}
#endif
 public:
  TinyAreZeros(const TinyAreZeros&) = delete;
  TinyAreZeros& operator=(const TinyAreZeros&) = delete;
};

/// bfloat16 as float32, the second of two terms before the first one.
struct Widened {
  using Terms = SingleTerms<float>;
  using Element = float;
  using Mode = TinyAreZeros;
  static constexpr std::int64_t kTerms = 1;
  static constexpr std::int64_t elements(std::int64_t terms) { return terms + terms % 2; }

  static HWY_NOINLINE void pack(const Source& from, std::int64_t count, std::int64_t depth,
                                float* to, std::int64_t width) {
    if (from.line != 1) return pack_rows<Widened>(from, count, depth, to, width);
    for (std::int64_t k = 0; k < depth; ++k) {
      float* const term = to + (k ^ 1) * width;
      widen_row(from.at(0, k).lines<BFloat16>().data, term, static_cast<std::size_t>(count));
      std::fill(term + count, term + width, 0.0F);
    }
    if (depth % 2 != 0) std::fill_n(to + (depth - 1) * width, width, 0.0F);
  }
  static HWY_INLINE void copy_row(const Source& row, std::int64_t depth, float* to) {
    const hn::ScalableTag<float> d;
    const hn::Rebind<hwy::bfloat16_t, decltype(d)> narrow;
    const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
    const auto* const from = reinterpret_cast<const hwy::bfloat16_t*>(row.data);
    const auto widened = [&](const hwy::bfloat16_t* some) HWY_ATTR {
      return hn::Shuffle2301(hn::PromoteTo(d, hn::LoadU(narrow, some)));
    };
    std::int64_t k = 0;
    for (; k + lanes <= depth; k += lanes) hn::StoreU(widened(from + k), d, to + k);
    if (k == depth) return;
    HWY_ALIGN hwy::bfloat16_t last[HWY_MAX_BYTES / 2] = {};
    HWY_ALIGN float wide[HWY_MAX_BYTES / 2];
    std::memcpy(last, from + k, static_cast<std::size_t>(depth - k) * sizeof(*from));
    hn::Store(widened(last), d, wide);
    std::copy_n(wide, elements(depth - k), to + k);
  }
};

#if HWY_TARGET <= HWY_AVX3 && HWY_ARCH_X86
/// bfloat16 for the instruction.
struct Paired {
  using Terms = panels::HWY_NAMESPACE::PairedTerms;
  using Element = std::uint32_t;
  using Mode = TinyAreZeros;  // of the sums of panels
  static constexpr std::int64_t kTerms = 2;
  static constexpr std::int64_t elements(std::int64_t terms) { return (terms + 1) / 2; }

  static HWY_NOINLINE void pack(const Source& from, std::int64_t count, std::int64_t depth,
                                Element* to, std::int64_t width) {
    if (from.line != 1) return pack_rows<Paired>(from, count, depth, to, width);
    HWY_ALIGN static constexpr std::uint16_t kNone[kTileWidth * HWY_MAX_BYTES / 4 + kTileRows] = {};
    const Terms::Words d;
    const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
    for (std::int64_t k = 0; k < depth; k += 2, to += width) {
      const auto* const first = reinterpret_cast<const std::uint16_t*>(from.at(0, k).data);
      const std::uint16_t* const second =
          k + 1 < depth ? reinterpret_cast<const std::uint16_t*>(from.at(0, k + 1).data) : kNone;
      std::int64_t i = 0;
      for (; i + lanes <= count; i += lanes) {
        hn::StoreU(Terms::load(first + i, second + i), d, to + i);
      }
      if (i < count) {
        const auto some = static_cast<std::size_t>(count - i);
        const auto pairs = Terms::load_some(first + i, second + i, some);
        hn::BlendedStore(pairs, hn::FirstN(d, some), d, to + i);
      }
      std::fill(to + count, to + width, 0U);
    }
  }
  static HWY_INLINE void copy_row(const Source& row, std::int64_t depth, Element* to) {
    if (depth % 2 != 0) to[depth / 2] = 0;
    std::memcpy(to, row.data, static_cast<std::size_t>(depth) * 2);
  }
};
inline bool has_pairs() { return __builtin_cpu_supports("avx512bf16") != 0; }
#endif

/// Calls `f` with what packs this type.
template <class F>
void with_packing(DType dtype, const F& f) {
  if (dtype == DType::float64) return f(Single<double>());
  if (dtype != DType::bfloat16) return f(Single<float>());
#if HWY_TARGET <= HWY_AVX3 && HWY_ARCH_X86
  if (has_pairs()) return f(Paired());
#endif
  f(Widened());
}

}  // namespace HWY_NAMESPACE
}  // namespace tenure::kernels::packing
HWY_AFTER_NAMESPACE();
#endif
