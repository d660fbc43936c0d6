#include "tenure/kernels/cpu/attention/blocks.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tenure/kernels/cpu/attention/blocks.cpp"
#include <hwy/foreach_target.h>

#include <algorithm>

#include "tenure/kernels/cpu/elementwise/lanes-inl.h"
#include "tenure/kernels/cpu/gemm/tile-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tenure::kernels {
namespace HWY_NAMESPACE {

// A tile of c stays in registers: as many rows and vectors as there are registers for.
constexpr int kTileRows = 6;
constexpr int kTileVectors = HWY_TARGET <= HWY_AVX3 ? 4 : 2;
// Rows of b that pass through the first cache for all rows of a.
constexpr std::int64_t kDepth = 64;

template <class T, int rows, int vectors>
HWY_INLINE void tile(const BlockProduct& shape, std::int64_t depth, bool adds, const T* a,
                     const T* b, T* c) {
  const hn::ScalableTag<T> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  // From zero also where they are added to c: chains of more terms would lose digits.
  hn::Vec<decltype(d)> sums[rows][vectors];
  TENURE_UNROLL
  for (int r = 0; r < rows; ++r) {
    TENURE_UNROLL
    for (int v = 0; v < vectors; ++v) sums[r][v] = hn::Zero(d);
  }
  for (std::int64_t k = 0; k < depth; ++k, a += shape.a_column, b += shape.b_row) {
    hn::Vec<decltype(d)> row[vectors];
    TENURE_UNROLL
    for (int v = 0; v < vectors; ++v) row[v] = hn::LoadU(d, b + v * lanes);
    TENURE_UNROLL
    for (int r = 0; r < rows; ++r) {
      const auto x = hn::Set(d, a[r * shape.a_row]);
      TENURE_UNROLL
      for (int v = 0; v < vectors; ++v) sums[r][v] = hn::MulAdd(x, row[v], sums[r][v]);
    }
  }
  if (adds) {
    TENURE_UNROLL
    for (int r = 0; r < rows; ++r) {
      TENURE_UNROLL
      for (int v = 0; v < vectors; ++v) {
        sums[r][v] = hn::Add(sums[r][v], hn::LoadU(d, c + r * shape.c_row + v * lanes));
      }
    }
  }
  TENURE_UNROLL
  for (int r = 0; r < rows; ++r) {
    TENURE_UNROLL
    for (int v = 0; v < vectors; ++v) hn::StoreU(sums[r][v], d, c + r * shape.c_row + v * lanes);
  }
}

/// A panel of `vectors` columns of vectors.
template <class T, int vectors>
void panel(const BlockProduct& shape, const T* a, const T* b, T* c) {
  for (std::int64_t k = 0; k == 0 || k < shape.k; k += kDepth) {
    const std::int64_t depth = std::min(kDepth, shape.k - k);
    const bool adds = shape.adds || k > 0;
    const T* const from_a = a + k * shape.a_column;
    const T* const from_b = b + k * shape.b_row;
    std::int64_t r = 0;
    const auto rows_at = [&] { return from_a + r * shape.a_row; };
    for (; r + kTileRows <= shape.m; r += kTileRows) {
      tile<T, kTileRows, vectors>(shape, depth, adds, rows_at(), from_b, c + r * shape.c_row);
    }
    for (; r + 2 <= shape.m; r += 2) {
      tile<T, 2, vectors>(shape, depth, adds, rows_at(), from_b, c + r * shape.c_row);
    }
    for (; r < shape.m; ++r) {
      tile<T, 1, vectors>(shape, depth, adds, rows_at(), from_b, c + r * shape.c_row);
    }
  }
}

template <class T>
void multiply(const BlockProduct& shape, const T* a, const T* b, T* c) {
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(hn::ScalableTag<T>()));
  std::int64_t j = 0;
  for (; j + (kTileVectors - 1) * lanes < shape.n; j += kTileVectors * lanes) {
    panel<T, kTileVectors>(shape, a, b + j, c + j);
  }
  if constexpr (kTileVectors > 2) {
    for (; j + lanes < shape.n; j += 2 * lanes) panel<T, 2>(shape, a, b + j, c + j);
  }
  for (; j < shape.n; j += lanes) panel<T, 1>(shape, a, b + j, c + j);
}

template <class T>
T score(T* s, std::int64_t n, T scale, const T* bias) {
  const hn::ScalableTag<T> d;
  const Vec<T> factor(scale);
  Vec<T> largest(-kInfinity<T>);
  const auto scored = [&](std::int64_t i) HWY_ATTR {
    const Vec<T> value = load(s + i) * factor;
    return bias == nullptr ? value : value + load(bias + i);
  };
  T result = -kInfinity<T>;
  for_each_vector<T>(
      n,
      [&](std::int64_t i) HWY_ATTR {
        const Vec<T> value = scored(i);
        largest = hn::Max(largest.raw, value.raw);
        store(value, s + i);
      },
      [&](std::int64_t i, std::int64_t rest) HWY_ATTR {
        store(scored(i), s + i);
        for (std::int64_t j = 0; j < rest; ++j) result = std::max(result, s[i + j]);
      });
  return std::max(result, hn::GetLane(hn::MaxOfLanes(d, largest.raw)));
}

template <class T>
T exponentiate(T* s, std::int64_t n, std::int64_t width, T largest) {
  const hn::ScalableTag<T> d;
  // Where nothing is seen, all differences are NaN: a shift of 0 makes the exponentials 0.
  const Vec<T> shift(largest == -kInfinity<T> ? T(0) : largest);
  const std::int64_t part = kDepth * static_cast<std::int64_t>(hn::Lanes(d));
  Vec<T> total(0);
  Vec<T> chain(0);
  std::int64_t end = 0;
  for_each_vector<T>(
      n,
      [&](std::int64_t i) HWY_ATTR {
        const Vec<T> value = exp(load(s + i) - shift);
        chain = chain + value;
        store(value, s + i);
        end = i + static_cast<std::int64_t>(hn::Lanes(d));
        if (end % part == 0) {
          total = total + chain;
          chain = Vec<T>(0);
        }
      },
      [&](std::int64_t i, std::int64_t rest) HWY_ATTR {
        const auto counts = hn::FirstN(d, static_cast<std::size_t>(rest));
        const Vec<T> value = hn::IfThenElseZero(counts, exp(load(s + i) - shift).raw);
        chain = chain + value;
        store(value, s + i);
        end = i + static_cast<std::int64_t>(hn::Lanes(d));
      });
  total = total + chain;
  std::fill(s + std::min(end, width), s + width, T(0));
  return hn::GetLane(hn::SumOfLanes(d, total.raw));
}

template <class T>
void scale_row(T* s, std::int64_t n, T factor) {
  const Vec<T> factors(factor);
  for (std::int64_t i = 0; i < n; i += static_cast<std::int64_t>(hn::Lanes(hn::ScalableTag<T>()))) {
    store(load(s + i) * factors, s + i);
  }
}

template <class T>
void softmax_gradient(const T* p, T* dp, std::int64_t n, T scale) {
  const hn::ScalableTag<T> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  Vec<T> products(0);
  for (std::int64_t i = 0; i < n; i += lanes) products = fma(load(p + i), load(dp + i), products);
  const Vec<T> total(hn::SumOfLanes(d, products.raw));
  const Vec<T> factor(scale);
  for (std::int64_t i = 0; i < n; i += lanes) {
    store(load(p + i) * factor * (load(dp + i) - total), dp + i);
  }
}

template <class T>
const BlockLoops<T>* block_loops() {
  static const BlockLoops<T> loops{static_cast<std::int64_t>(hn::Lanes(hn::ScalableTag<T>())),
                                   multiply<T>,
                                   score<T>,
                                   exponentiate<T>,
                                   scale_row<T>,
                                   softmax_gradient<T>};
  return &loops;
}

const BlockLoops<float>* float_block_loops() { return block_loops<float>(); }
const BlockLoops<double>* double_block_loops() { return block_loops<double>(); }

}  // namespace HWY_NAMESPACE
}  // namespace tenure::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenure::kernels {

HWY_EXPORT(float_block_loops);
HWY_EXPORT(double_block_loops);

const BlockLoops<float>& find_block_loops(float) {
  return *HWY_DYNAMIC_DISPATCH(float_block_loops)();
}
const BlockLoops<double>& find_block_loops(double) {
  return *HWY_DYNAMIC_DISPATCH(double_block_loops)();
}

}  // namespace tenure::kernels
#endif
