// Words of neighbouring terms, and the tiles of sums that instructions multiply them to, per
// instruction set.
#if defined(TENURE_KERNELS_CPU_GEMM_BYTE_TILE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TENURE_KERNELS_CPU_GEMM_BYTE_TILE_INL_H_
#undef TENURE_KERNELS_CPU_GEMM_BYTE_TILE_INL_H_
#else
#define TENURE_KERNELS_CPU_GEMM_BYTE_TILE_INL_H_
#endif

#include <hwy/highway.h>

#include <array>
#include <cstdint>
#include <utility>

#include "tenure/kernels/cpu/gemm/pack-inl.h"
#include "tenure/kernels/cpu/gemm/tile-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tenure::kernels::byte_gemm {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
using pack::HWY_NAMESPACE::turn_blocks;
using Words = hn::ScalableTag<std::int32_t>;
using V = hn::Vec<Words>;

constexpr int kTileRows = HWY_TARGET <= HWY_AVX3 ? 14 : 6;  // as many as registers hold
constexpr int kTileWidth = 2;
constexpr std::int64_t kDepth = 512;
constexpr std::int64_t kMostColumns = kTileWidth * HWY_MAX_BYTES / 4;

HWY_INLINE std::int64_t tile_columns() {
  return kTileWidth * static_cast<std::int64_t>(hn::Lanes(Words()));
}

/// Two terms a word, of 16 bits each.
struct Pairs {
  static constexpr std::int64_t kTerms = 2;
  static constexpr bool kAddsStart = false;

  template <class S>
  static HWY_INLINE std::uint32_t term(S x) {
    return static_cast<std::uint16_t>(x);
  }
  static HWY_INLINE std::uint32_t row_term(std::uint32_t x) { return x; }
  /// Words of neighbouring terms, as far as they fill vectors; returns how many.
  template <class S>
  static HWY_INLINE std::int64_t pack_line(const S* from, std::int64_t words, bool,
                                           std::int32_t* to) {
    const hn::Repartition<std::int16_t, Words> terms;
    const hn::Rebind<S, decltype(terms)> bytes;
    const auto lanes = static_cast<std::int64_t>(hn::Lanes(Words()));
    std::int64_t k = 0;
    for (; k + lanes <= words; k += lanes) {
      const auto x = hn::PromoteTo(terms, hn::LoadU(bytes, from + k * kTerms));
      hn::StoreU(hn::BitCast(Words(), x), Words(), to + k);
    }
    return k;
  }
  /// A word of each line, which are neighbours: as many lines as fill vectors.
  template <class S>
  static HWY_INLINE std::int64_t pack_words(const S* from, std::int64_t term, std::int64_t count,
                                            bool, std::int32_t* to) {
    const hn::FixedTag<std::int16_t, 8> terms;
    const hn::Rebind<S, decltype(terms)> bytes;
    const hn::Repartition<std::int32_t, decltype(terms)> words;
    std::int64_t i = 0;
    for (; i + 8 <= count; i += 8) {
      const auto x = hn::PromoteTo(terms, hn::LoadU(bytes, from + i));
      const auto y = hn::PromoteTo(terms, hn::LoadU(bytes, from + term + i));
      hn::StoreU(hn::BitCast(words, hn::InterleaveLower(terms, x, y)), words, to + i);
      hn::StoreU(hn::BitCast(words, hn::InterleaveUpper(terms, x, y)), words, to + i + 4);
    }
    return i;
  }
  static HWY_INLINE V multiply_add(V a, V b, V sum) {
#if HWY_TARGET <= HWY_AVX3 && HWY_ARCH_X86
    return hn::Add(sum, V{_mm512_madd_epi16(a.raw, b.raw)});
#elif HWY_TARGET == HWY_AVX2
    return hn::Add(sum, V{_mm256_madd_epi16(a.raw, b.raw)});
#elif HWY_TARGET == HWY_SSE4
    return hn::Add(sum, V{_mm_madd_epi16(a.raw, b.raw)});
#else
    const auto low = [](V x) HWY_ATTR { return hn::ShiftRight<16>(hn::ShiftLeft<16>(x)); };
    const V upper = hn::Mul(hn::ShiftRight<16>(a), hn::ShiftRight<16>(b));
    return hn::Add(sum, hn::Add(upper, hn::Mul(low(a), low(b))));
#endif
  }
};

#if HWY_TARGET <= HWY_AVX3 && HWY_ARCH_X86
/// Words of four bytes, one of each row. Of blocks of 16 columns, `to` has the words of the first
/// four, of the next four, and so on.
template <class Pairs, class B, class W>
HWY_INLINE void words_of(Pairs pairs, B r0, B r1, B r2, B r3, W (&to)[4]) {
  const hn::Repartition<hn::TFromV<B>, Pairs> bytes;
  const hn::Repartition<std::int32_t, Pairs> words;
  const auto low = hn::BitCast(pairs, hn::InterleaveLower(bytes, r0, r1));
  const auto low2 = hn::BitCast(pairs, hn::InterleaveLower(bytes, r2, r3));
  const auto high = hn::BitCast(pairs, hn::InterleaveUpper(bytes, r0, r1));
  const auto high2 = hn::BitCast(pairs, hn::InterleaveUpper(bytes, r2, r3));
  to[0] = hn::BitCast(words, hn::InterleaveLower(pairs, low, low2));
  to[1] = hn::BitCast(words, hn::InterleaveUpper(pairs, low, low2));
  to[2] = hn::BitCast(words, hn::InterleaveLower(pairs, high, high2));
  to[3] = hn::BitCast(words, hn::InterleaveUpper(pairs, high, high2));
}

/// Four terms a word. VNNI multiplies bytes of a without a sign by those of b, which have one: a
/// signed one of a counts 128 more, of which sums are relieved as they start.
template <bool a_has_sign>
struct Quads {
  static constexpr std::int64_t kTerms = 4;
  static constexpr bool kAddsStart = a_has_sign;

  template <class S>
  static HWY_INLINE std::uint32_t term(S x) {
    return static_cast<std::uint8_t>(x);
  }
  static HWY_INLINE std::uint32_t row_term(std::uint32_t x) { return a_has_sign ? x ^ 0x80 : x; }
  template <class S>
  static HWY_INLINE std::int64_t pack_line(const S* from, std::int64_t words, bool is_row,
                                           std::int32_t* to) {
    const hn::Repartition<S, Words> bytes;
    const auto lanes = static_cast<std::int64_t>(hn::Lanes(Words()));
    const V flip = hn::Set(Words(), a_has_sign && is_row ? kSigns : 0);
    std::int64_t k = 0;
    for (; k + lanes <= words; k += lanes) {
      const V x = hn::BitCast(Words(), hn::LoadU(bytes, from + k * kTerms));
      hn::StoreU(hn::Xor(x, flip), Words(), to + k);
    }
    return k;
  }
  template <class S>
  static HWY_INLINE std::int64_t pack_words(const S* from, std::int64_t term, std::int64_t count,
                                            bool is_row, std::int32_t* to) {
    const hn::FixedTag<S, 32> bytes;
    const hn::Repartition<std::uint16_t, decltype(bytes)> pairs;
    const hn::Repartition<std::int32_t, decltype(bytes)> words;
    const auto flip = hn::Set(words, a_has_sign && is_row ? kSigns : 0);
    std::int64_t i = 0;
    for (; i + 32 <= count; i += 32) {
      const auto r0 = hn::LoadU(bytes, from + i);
      const auto r1 = hn::LoadU(bytes, from + term + i);
      const auto r2 = hn::LoadU(bytes, from + 2 * term + i);
      const auto r3 = hn::LoadU(bytes, from + 3 * term + i);
      hn::Vec<decltype(words)> x[4];
      words_of(pairs, r0, r1, r2, r3, x);
      for (auto& each : x) each = hn::Xor(each, flip);
      turn_blocks(words, x[0], x[1]);
      turn_blocks(words, x[2], x[3]);
      hn::StoreU(x[0], words, to + i);
      hn::StoreU(x[2], words, to + i + 8);
      hn::StoreU(x[1], words, to + i + 16);
      hn::StoreU(x[3], words, to + i + 24);
    }
    return i;
  }
  static constexpr auto kSigns = static_cast<std::int32_t>(0x80808080u);
  static HWY_INLINE V multiply_add(V a, V b, V sum) {
    // The set of instructions that this is compiled for does not have it; `has_quads` is asked.
    asm("vpdpbusd %2, %1, %0" : "+v"(sum.raw) : "v"(a.raw), "v"(b.raw));
    return sum;
  }
};
bool has_quads() { return __builtin_cpu_supports("avx512vnni") != 0; }
#endif

/// Not a power of two, that rows do not meet in one set of a cache.
template <class Kind>
constexpr std::int64_t kRowStep = kDepth / Kind::kTerms + 16;

/// The sums of a tile: word k of row i of a at [i * kRowStep + k], of column j of b at
/// [k * tile_columns() + j]; `start` has what each column starts with.
template <class Kind, int rows>
HWY_NOINLINE void multiply_tile(std::int64_t words, const std::int32_t* HWY_RESTRICT a,
                                const std::int32_t* HWY_RESTRICT b, const std::int32_t* start,
                                std::int32_t* to) {
  const Words d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  V sums[rows][kTileWidth];
  TENURE_UNROLL
  for (int r = 0; r < rows; ++r) {
    TENURE_UNROLL
    for (int v = 0; v < kTileWidth; ++v) {
      sums[r][v] = Kind::kAddsStart ? hn::Load(d, start + v * lanes) : hn::Zero(d);
    }
  }
  for (std::int64_t k = 0; k < words; ++k, ++a, b += kTileWidth * lanes) {
    V column[kTileWidth];
    TENURE_UNROLL
    for (int v = 0; v < kTileWidth; ++v) column[v] = hn::Load(d, b + v * lanes);
    TENURE_UNROLL
    for (int r = 0; r < rows; ++r) {
      const V x = hn::Set(d, a[r * kRowStep<Kind>]);
      TENURE_UNROLL
      for (int v = 0; v < kTileWidth; ++v) {
        sums[r][v] = Kind::multiply_add(x, column[v], sums[r][v]);
      }
    }
  }
  TENURE_UNROLL
  for (int r = 0; r < rows; ++r) {
    TENURE_UNROLL
    for (int v = 0; v < kTileWidth; ++v) {
      hn::Store(sums[r][v], d, to + (r * kTileWidth + v) * lanes);
    }
  }
}

#if HWY_TARGET <= HWY_AVX3 && HWY_ARCH_X86
constexpr std::int64_t kFewColumns = 2 * kMostColumns;
constexpr int kFewRows = 4;  // as many as registers hold

/// The sums of a few rows and of kFewColumns columns, or fewer, whose bytes are neighbours and are
/// read where they lie. Of each panel of tile_columns() columns those of all rows, as a tile has
/// them.
template <class Kind, int rows>
HWY_NOINLINE void multiply_few(std::int64_t terms, const std::int32_t* HWY_RESTRICT a,
                               const std::int8_t* b, std::int64_t b_row, std::int64_t columns,
                               std::int32_t* to) {
  const Words d;
  const hn::Repartition<std::int8_t, Words> bytes;
  const hn::Repartition<std::uint16_t, Words> pairs;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const auto some = hn::FirstN(bytes, static_cast<std::size_t>(columns));
  const V each = hn::Set(d, Kind::kSigns);  // 128 four times
  V sums[rows][4];
  V start[4];
  TENURE_UNROLL
  for (int q = 0; q < 4; ++q) {
    start[q] = hn::Zero(d);
    TENURE_UNROLL
    for (int r = 0; r < rows; ++r) sums[r][q] = hn::Zero(d);
  }
  for (std::int64_t k = 0; k < terms; k += Kind::kTerms, ++a, b += Kind::kTerms * b_row) {
    const std::int64_t left = terms - k;
    const auto r0 = hn::MaskedLoad(some, bytes, b);
    const auto r1 = left > 1 ? hn::MaskedLoad(some, bytes, b + b_row) : hn::Zero(bytes);
    const auto r2 = left > 2 ? hn::MaskedLoad(some, bytes, b + 2 * b_row) : hn::Zero(bytes);
    const auto r3 = left > 3 ? hn::MaskedLoad(some, bytes, b + 3 * b_row) : hn::Zero(bytes);
    V words[4];
    words_of(pairs, r0, r1, r2, r3, words);
    TENURE_UNROLL
    for (int q = 0; q < 4; ++q) {
      if (Kind::kAddsStart) start[q] = Kind::multiply_add(each, words[q], start[q]);
    }
    TENURE_UNROLL
    for (int r = 0; r < rows; ++r) {
      const V x = hn::Set(d, a[r * kRowStep<Kind>]);
      TENURE_UNROLL
      for (int q = 0; q < 4; ++q) sums[r][q] = Kind::multiply_add(x, words[q], sums[r][q]);
    }
  }
  TENURE_UNROLL
  for (int r = 0; r < rows; ++r) {
    V* const sum = sums[r];
    TENURE_UNROLL
    for (int q = 0; q < 4; ++q) sum[q] = hn::Sub(sum[q], start[q]);
    turn_blocks(d, sum[0], sum[1], sum[2], sum[3]);
    TENURE_UNROLL
    for (int q = 0; q < 4; ++q) {
      hn::Store(sum[q], d,
                to + ((q / kTileWidth * rows + r) * kTileWidth + q % kTileWidth) * lanes);
    }
  }
}

using MultiplyFew = void (*)(std::int64_t, const std::int32_t*, const std::int8_t*, std::int64_t,
                             std::int64_t, std::int32_t*);
template <class Kind, int... rows>
constexpr std::array<MultiplyFew, sizeof...(rows)> few_table(std::integer_sequence<int, rows...>) {
  return {multiply_few<Kind, rows + 1>...};
}
#endif

using MultiplyTile = void (*)(std::int64_t, const std::int32_t*, const std::int32_t*,
                              const std::int32_t*, std::int32_t*);
template <class Kind, int... rows>
constexpr std::array<MultiplyTile, sizeof...(rows)> tile_table(
    std::integer_sequence<int, rows...>) {
  return {multiply_tile<Kind, rows + 1>...};
}

}  // namespace HWY_NAMESPACE
}  // namespace tenure::kernels::byte_gemm
HWY_AFTER_NAMESPACE();
#endif
