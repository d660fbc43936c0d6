// Sums over positions: tiles of gradients by weights, per instruction set.
#if defined(TENURE_KERNELS_CPU_CONV_POSITION_SUMS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TENURE_KERNELS_CPU_CONV_POSITION_SUMS_INL_H_
#undef TENURE_KERNELS_CPU_CONV_POSITION_SUMS_INL_H_
#else
#define TENURE_KERNELS_CPU_CONV_POSITION_SUMS_INL_H_
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "tenure/kernels/cpu/gemm/tile-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tenure::kernels::conv {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
using tile::HWY_NAMESPACE::Columns;
using tile::HWY_NAMESPACE::Sums;

/// The positions that a tile sums over.
template <class T>
struct Positions {
  const T* x;
  const T* dy;
  std::int64_t rows;
  std::int64_t columns;
  std::int64_t x_row;  // elements from one row of outputs to the next
  std::int64_t x_column;
  std::int64_t dy_row;
  std::int64_t dy_column;
};

/// Vectors of a full panel of channels, and elements of the source beside `width` of them: sums of
/// as many as registers hold. Where all vectors of a position are read at once, they come faster.
constexpr bool kManyRegisters = HWY_TARGET <= HWY_AVX3;
constexpr int kWidth = kManyRegisters ? 4 : 2;
template <int width>
constexpr int kRows = kManyRegisters&& width <= 2 ? 14 : 6;

constexpr std::int64_t kChain = 512;  ///< positions that are added up one after the other

/// Calls `f(part, add)` for parts of the positions, none longer than a chain; all but the first are
/// added to what is there.
template <class T, class F>
HWY_INLINE void for_each_chain(const Positions<T>& all, bool add, const F& f) {
  if (all.rows * all.columns <= kChain) return f(all, add);
  const std::int64_t rows = std::max<std::int64_t>(1, kChain / all.columns);
  const std::int64_t columns = std::min(all.columns, kChain);
  for (std::int64_t row = 0; row < all.rows; row += rows) {
    for (std::int64_t column = 0; column < all.columns; column += columns) {
      Positions<T> part = all;
      part.x += row * all.x_row + column * all.x_column;
      part.dy += row * all.dy_row + column * all.dy_column;
      part.rows = std::min(rows, all.rows - row);
      part.columns = std::min(columns, all.columns - column);
      f(part, add || row > 0 || column > 0);
    }
  }
}

/// Columns of which there are as many as vectors hold, without masks, which take registers.
template <class T, int width>
class AllColumns {
 public:
  using D = hn::ScalableTag<T>;
  HWY_INLINE explicit AllColumns(std::int64_t) {}
  HWY_INLINE hn::Vec<D> load(const T* from, int v) const {
    return hn::LoadU(D(), from + v * static_cast<std::int64_t>(hn::Lanes(D())));
  }
  HWY_INLINE void store(hn::Vec<D> x, T* to, int v) const {
    hn::StoreU(x, D(), to + v * static_cast<std::int64_t>(hn::Lanes(D())));
  }
};

/// Sums of x[position + r] dy[position, column] for `rows` neighbouring elements r. `full`: of all
/// columns that vectors hold.
template <class T, int rows, int width, bool full>
HWY_NOINLINE void sum_products(const Positions<T>& p, T* to, std::int64_t to_row,
                               std::int64_t columns, bool add) {
  const hn::ScalableTag<T> d;
  using V = hn::Vec<decltype(d)>;
  const std::conditional_t<full, AllColumns<T, width>, Columns<T, width>> some(columns);
  V sums[rows][width];
  TENURE_UNROLL
  for (int v = 0; v < width; ++v) {
    TENURE_UNROLL
    for (int r = 0; r < rows; ++r) sums[r][v] = hn::Zero(d);
  }
  for (std::int64_t row = 0; row < p.rows; ++row) {
    const T* HWY_RESTRICT x = p.x + row * p.x_row;
    const T* HWY_RESTRICT dy = p.dy + row * p.dy_row;
    const auto add_position = [&]() HWY_ATTR {
      V column[width];
      TENURE_UNROLL
      for (int v = 0; v < width; ++v) {
        column[v] = some.load(dy, v);
      }
      TENURE_UNROLL
      for (int r = 0; r < rows; ++r) {
        const V value = hn::Set(d, x[r]);
        TENURE_UNROLL
        for (int v = 0; v < width; ++v) sums[r][v] = hn::MulAdd(value, column[v], sums[r][v]);
      }
      x += p.x_column;
      dy += p.dy_column;
    };
    std::int64_t i = 0;
    if constexpr (rows == kRows<width> && full) {
      for (; i + 4 <= p.columns; i += 4) {  // Of few rounds the processor foresees the end.
        add_position();
        add_position();
        add_position();
        add_position();
      }
    }
    for (; i < p.columns; ++i) add_position();
  }
  Sums<T, rows, width> done;
  TENURE_UNROLL
  for (int r = 0; r < rows; ++r) {
    TENURE_UNROLL
    for (int v = 0; v < width; ++v) done.set(sums[r][v], r, v);
  }
  TENURE_UNROLL
  for (int r = 0; r < rows; ++r) {
    TENURE_UNROLL
    for (int v = 0; v < width; ++v) {
      T* const place = to + r * to_row;
      const V sum = done.get(r, v);
      some.store(add ? hn::Add(some.load(place, v), sum) : sum, place, v);
    }
  }
}

template <class T, int width>
HWY_NOINLINE void sum_columns(const Positions<T>& p, T* to, std::int64_t columns, bool add) {
  const hn::ScalableTag<T> d;
  using V = hn::Vec<decltype(d)>;
  const Columns<T, width> some(columns);
  V sums[2][width];  // two, so that additions need not wait for each other
  for (int v = 0; v < width; ++v) sums[0][v] = sums[1][v] = hn::Zero(d);
  for (std::int64_t row = 0; row < p.rows; ++row) {
    const T* HWY_RESTRICT dy = p.dy + row * p.dy_row;
    std::int64_t i = 0;
    for (; i + 2 <= p.columns; i += 2, dy += 2 * p.dy_column) {
      for (int v = 0; v < width; ++v) {
        sums[0][v] = hn::Add(sums[0][v], some.load(dy, v));
        sums[1][v] = hn::Add(sums[1][v], some.load(dy + p.dy_column, v));
      }
    }
    if (i < p.columns) {
      for (int v = 0; v < width; ++v) sums[0][v] = hn::Add(sums[0][v], some.load(dy, v));
    }
  }
  for (int v = 0; v < width; ++v) {
    const V sum = hn::Add(sums[0][v], sums[1][v]);
    some.store(add ? hn::Add(some.load(to, v), sum) : sum, to, v);
  }
}

template <class T>
using SumProducts = void (*)(const Positions<T>&, T*, std::int64_t, std::int64_t, bool);
/// By rows less one.
template <class T, int width, bool full, int... rows>
constexpr std::array<SumProducts<T>, sizeof...(rows)> sums_of(std::integer_sequence<int, rows...>) {
  return {sum_products<T, rows + 1, width, full>...};
}
template <class T, int width, bool full = false>
constexpr auto kSumProducts =
    sums_of<T, width, full>(std::make_integer_sequence<int, kRows<width>>());

}  // namespace HWY_NAMESPACE
}  // namespace tenure::kernels::conv
HWY_AFTER_NAMESPACE();
#endif
