// Products of packed panels, tile by tile, per instruction set.
#if defined(TENURE_KERNELS_CPU_GEMM_PANELS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TENURE_KERNELS_CPU_GEMM_PANELS_INL_H_
#undef TENURE_KERNELS_CPU_GEMM_PANELS_INL_H_
#else
#define TENURE_KERNELS_CPU_GEMM_PANELS_INL_H_
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "tenure/kernels/cpu/gemm/packed_gemm.h"
#include "tenure/kernels/cpu/gemm/tile-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tenure::kernels::panels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
using tile::HWY_NAMESPACE::Columns;
using tile::HWY_NAMESPACE::Sums;

/// Rows of a tile beside two vectors of columns: as many as registers hold.
constexpr int kTileRows = HWY_TARGET <= HWY_AVX3 ? 14 : 6;
constexpr int kTileWidth = 2;

/// How a panel of a lies: term k of row i at [k * step + i], or, where its terms were neighbours
/// already and turning them would not pay, at [i * kRowStep<T> + k].
enum class RowPanel { by_terms, by_rows };
/// Not a power of two, that rows do not meet in one set of a cache.
template <class T>
inline constexpr std::int64_t kRowStep = kGemmDepth + 64 / static_cast<std::int64_t>(sizeof(T));

/// Elements in a line of a cache.
template <class T>
inline constexpr std::int64_t kLineTerms = 64 / static_cast<std::int64_t>(sizeof(T));

/// Elements of packed panels are terms.
template <class T>
struct SingleTerms {
  using Sum = T;
  using Element = T;
  using Given = T;
  static constexpr std::int64_t kGiven = 1;  ///< terms of an element
  using Words = hn::ScalableTag<T>;
  using Sums = hn::Vec<hn::ScalableTag<T>>;

  /// An element each of lines that are neighbours, of its terms.
  static HWY_INLINE hn::Vec<Words> load(const Given* term, const Given* /*none*/) {
    return hn::LoadU(Words(), term);
  }

  static HWY_INLINE Sums multiply_add(hn::Vec<Words> a, hn::Vec<Words> b, Sums sum) {
    return hn::MulAdd(a, b, sum);
  }
};

#if HWY_TARGET <= HWY_AVX3 && HWY_ARCH_X86
/// Elements are two terms of bfloat16 each, the first one in the lower half. The instruction adds
/// the product of the second ones, then that of the first ones, each rounded as a multiply-add of
/// float32 is; numbers below the least normal one count as zeros.
struct PairedTerms {
  using Sum = float;
  using Element = std::uint32_t;
  using Given = std::uint16_t;
  static constexpr std::int64_t kGiven = 2;
  using Words = hn::ScalableTag<std::uint32_t>;
  using Halves = hn::Rebind<std::uint16_t, Words>;
  using Sums = hn::Vec<hn::ScalableTag<float>>;

  static HWY_INLINE hn::Vec<Words> load(const Given* first, const Given* second) {
    return pair(hn::LoadU(Halves(), first), hn::LoadU(Halves(), second));
  }
  /// Of the first n lines; reads no others.
  static HWY_INLINE hn::Vec<Words> load_some(const Given* first, const Given* second,
                                             std::size_t n) {
    const auto mask = hn::FirstN(Halves(), n);
    return pair(hn::MaskedLoad(mask, Halves(), first), hn::MaskedLoad(mask, Halves(), second));
  }

  static HWY_INLINE Sums multiply_add(hn::Vec<Words> a, hn::Vec<Words> b, Sums sum) {
    // The set of instructions that this is compiled for does not have it; `has_pairs` is asked.
    asm("vdpbf16ps %2, %1, %0" : "+v"(sum.raw) : "v"(a.raw), "v"(b.raw));
    return sum;
  }

 private:
  static HWY_INLINE hn::Vec<Words> pair(hn::Vec<Halves> first, hn::Vec<Halves> second) {
    return hn::Or(hn::PromoteTo(Words(), first), hn::ShiftLeft<16>(hn::PromoteTo(Words(), second)));
  }
};
#endif

// Note: the next panel
//
// Columns that pass by come from memory, and where rows of b are a power of two apart, what is
// fetched of a panel does not stay in the caches until all of it is there: it falls into few of
// their sets. So the next panel is packed while tiles of this one are computed, a few terms after
// every few of theirs, each fetched not long before.

/// The next panel of columns that are neighbours, on its way to where tiles read it.
template <class Terms>
class Upcoming {
  using Given = typename Terms::Given;
  using Element = typename Terms::Element;

 public:
  /// None.
  Upcoming() = default;
  /// `elements` of each column, whose terms are `step` apart. It should be there after `times`
  /// times that it went on.
  Upcoming(const Given* from, std::int64_t step, std::int64_t elements, std::int64_t times,
           Element* to)
      : fetched_(from),
        packed_(from),
        step_(step),
        to_(to),
        to_fetch_(elements),
        to_pack_(elements),
        some_(std::max(kSome, (elements - 1) / std::max<std::int64_t>(1, times - kWait) + 1)) {}

  bool is_there() const { return to_pack_ == 0; }

  /// Fetches some elements, and packs some that were fetched before.
  HWY_INLINE void go_on() {
    constexpr std::int64_t kLine = 64 / sizeof(Given);
    const typename Terms::Words words;
    const auto lanes = static_cast<std::int64_t>(hn::Lanes(words));
    for (std::int64_t i = std::min(some_, to_fetch_); i > 0; --i, --to_fetch_) {
      for (std::int64_t t = 0; t < Terms::kGiven; ++t, fetched_ += step_) {
        for (std::int64_t j = 0; j < kTileWidth * lanes; j += kLine)
          __builtin_prefetch(fetched_ + j, 0, 3);
      }
    }
    if (wait_ > 0) {
      --wait_;
      return;
    }
    for (std::int64_t i = std::min(some_, to_pack_); i > 0; --i, --to_pack_) {
      TENURE_UNROLL
      for (int v = 0; v < kTileWidth; ++v, to_ += lanes) {
        const Given* const term = packed_ + v * lanes;
        hn::StoreU(Terms::load(term, term + step_), words, to_);
      }
      packed_ += Terms::kGiven * step_;
    }
  }

 private:
  static constexpr std::int64_t kWait = 4;  // times between fetching and packing
  static constexpr std::int64_t kSome = 3;  // elements, or more

  const Given* fetched_ = nullptr;
  const Given* packed_ = nullptr;
  std::int64_t step_ = 0;
  Element* to_ = nullptr;
  std::int64_t to_fetch_ = 0;
  std::int64_t to_pack_ = 0;
  std::int64_t some_ = 0;
  std::int64_t wait_ = kWait;
};

/// Panels as a tile reads them: element k of column i of b at [k * step + i].
template <class Terms>
struct Panels {
  using E = typename Terms::Element;
  std::int64_t depth;  ///< in elements
  const E* a;
  std::int64_t a_step;
  const E* b;
  std::int64_t b_step;
  /// Of panels that lie by rows: where the rows that are read next begin, to fetch them meanwhile,
  /// how many bytes from one to the next, and how many a line of terms has. Null: nowhere.
  const std::byte* ahead = nullptr;
  std::int64_t ahead_row = 0;
  std::int64_t ahead_line = 0;
  /// What is packed meanwhile; null: nothing.
  Upcoming<Terms>* upcoming = nullptr;
};

/// c = a b for `rows` rows and `columns` columns in `width` vectors; c += sign a b if the sign is
/// not 0.
template <class Terms, int rows, int width, RowPanel lies = RowPanel::by_terms>
HWY_NOINLINE void multiply_tile(const Panels<Terms>& p, typename Terms::Sum* c, std::int64_t c_row,
                                std::int64_t columns, int sign) {
  using T = typename Terms::Sum;
  using E = typename Terms::Element;
  const hn::ScalableTag<T> d;
  const typename Terms::Words words;
  using V = typename Terms::Sums;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  V sums[rows][width];
  TENURE_UNROLL
  for (int r = 0; r < rows; ++r) {
    TENURE_UNROLL
    for (int v = 0; v < width; ++v) sums[r][v] = hn::Zero(d);
    __builtin_prefetch(c + r * c_row);
  }
  const E* HWY_RESTRICT a = p.a;
  const E* HWY_RESTRICT b = p.b;
  constexpr bool kByTerms = lies == RowPanel::by_terms;
  constexpr std::int64_t kRow = kByTerms ? 1 : kRowStep<E>;
  const std::int64_t a_step = kByTerms ? p.a_step : 1;
  const std::int64_t b_step = p.b_step;
  const std::byte* ahead = p.ahead;
  Upcoming<Terms>* const upcoming = p.upcoming;
  const bool is_alone = ahead == nullptr && upcoming == nullptr;
  for (std::int64_t left = p.depth; left > 0;) {
    // All of them at once; or a line of each row at a time, while the next ones come nearer.
    const std::int64_t some = is_alone ? left : std::min(left, kLineTerms<E>);
    if (upcoming != nullptr) upcoming->go_on();
    if (ahead != nullptr) {
      for (int r = 0; r < rows; ++r) __builtin_prefetch(ahead + r * p.ahead_row, 0, 2);
      ahead += p.ahead_line;
    }
    left -= some;
    TENURE_UNROLL_SOME
    for (std::int64_t k = some; k > 0; --k, a += a_step, b += b_step) {
      hn::Vec<decltype(words)> column[width];
      TENURE_UNROLL
      for (int v = 0; v < width; ++v) column[v] = hn::LoadU(words, b + v * lanes);
      TENURE_UNROLL
      for (int r = 0; r < rows; ++r) {
        const auto x = hn::Set(words, a[r * kRow]);
        TENURE_UNROLL
        for (int v = 0; v < width; ++v) {
          sums[r][v] = Terms::multiply_add(x, column[v], sums[r][v]);
        }
      }
    }
  }
  const bool adds = sign != 0;
  const auto signs = hn::Set(d, static_cast<T>(sign));
  if (columns == width * lanes) {
    TENURE_UNROLL
    for (int r = 0; r < rows; ++r) {
      TENURE_UNROLL
      for (int v = 0; v < width; ++v) {
        T* const to = c + r * c_row + v * lanes;
        hn::StoreU(adds ? hn::MulAdd(sums[r][v], signs, hn::LoadU(d, to)) : sums[r][v], d, to);
      }
    }
    return;
  }
  const Columns<T, width> some(columns);
  Sums<T, rows, width> done;
  TENURE_UNROLL
  for (int r = 0; r < rows; ++r) {
    TENURE_UNROLL
    for (int v = 0; v < width; ++v) done.set(sums[r][v], r, v);
  }
  for (int r = 0; r < rows; ++r) {
    for (int v = 0; v < width; ++v) {
      T* const to = c + r * c_row;
      const V sum = done.get(r, v);
      some.store(adds ? hn::MulAdd(sum, signs, some.load(to, v)) : sum, to, v);
    }
  }
}

template <class Terms>
using MultiplyTile = void (*)(const Panels<Terms>&, typename Terms::Sum*, std::int64_t,
                              std::int64_t, int);
template <class Terms, int width, int... rows>
constexpr std::array<MultiplyTile<Terms>, sizeof...(rows)> tile_table(
    std::integer_sequence<int, rows...>) {
  return {multiply_tile<Terms, rows + 1, width>...};
}
/// By rows less one.
template <class Terms, int width>
constexpr auto kTiles = tile_table<Terms, width>(std::make_integer_sequence<int, kTileRows>());

/// For panels that lie by rows: of one row less than most, and of most. Many rows are cut so.
template <class Terms, int width>
constexpr std::array<MultiplyTile<Terms>, 2> kTilesByRows = {
    multiply_tile<Terms, kTileRows - 1, width, RowPanel::by_rows>,
    multiply_tile<Terms, kTileRows, width, RowPanel::by_rows>};

}  // namespace HWY_NAMESPACE
}  // namespace tenure::kernels::panels
HWY_AFTER_NAMESPACE();
#endif
