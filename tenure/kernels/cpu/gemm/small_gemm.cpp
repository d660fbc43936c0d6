#include "tenure/kernels/cpu/gemm/gemm.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tenure/kernels/cpu/gemm/small_gemm.cpp"
#include <hwy/foreach_target.h>

#include <hwy/highway.h>

#include <algorithm>
#include <cstdlib>

#include "tenure/kernels/cpu/gemm/tile-inl.h"
#include "tenure/kernels/parallel.h"

HWY_BEFORE_NAMESPACE();
namespace tenure::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// The product goes strip by strip: `width` vectors of columns of b, kDepth rows at a time. Every
// block of kRows<width> rows of a passes over them with its results in registers. Where several
// blocks do, and the rows of b are far apart, the strip is packed first.

/// As many as registers hold.
template <int width>
constexpr std::int64_t kRows = width == 1 || HWY_TARGET <= HWY_AVX3 ? 8 : 6;
constexpr std::int64_t kDepth = 256;
constexpr std::int64_t kNear = 64 * 1024;  // bytes from the first row of a strip to the last
using tile::HWY_NAMESPACE::kLoadsHaveMasks;
using tile::HWY_NAMESPACE::kStoresHaveMasks;

template <class D, int width>
struct Strip {
  using T = hn::TFromD<D>;
  static constexpr std::size_t kMaxColumns = width * HWY_MAX_BYTES / sizeof(T);

  const Gemm& shape;
  const T* a;
  const T* b;
  T* c;
  std::int64_t column;
  std::int64_t columns;

  static HWY_INLINE std::int64_t lanes() { return static_cast<std::int64_t>(hn::Lanes(D())); }
  /// How many columns vector v has.
  HWY_INLINE std::int64_t filled(int v) const {
    return std::clamp<std::int64_t>(columns - v * lanes(), 0, lanes());
  }
  HWY_INLINE bool full() const { return columns == width * lanes(); }

  HWY_INLINE void pack(std::int64_t k0, std::int64_t depth, T* packed) const {
    const D d;
    const T* from = b + k0 * shape.b_row + column * shape.b_column;
    for (std::int64_t k = 0; k < depth; ++k, from += shape.b_row, packed += width * lanes()) {
      if (shape.b_column == 1 && full()) {
        for (int v = 0; v < width; ++v) {
          hn::StoreU(hn::LoadU(d, from + v * lanes()), d, packed + v * lanes());
        }
      } else {
        for (std::int64_t j = 0; j < width * lanes(); ++j) {
          packed[j] = j < columns ? from[j * shape.b_column] : T(0);
        }
      }
    }
  }

  /// `rows` rows of a times `depth` rows of b, which lie `step` apart from `from_b` on. `adds`: to
  /// what c has already, or from that. `masked`: of the columns that there are alone.
  template <int rows, bool adds, bool masked>
  HWY_INLINE void block(std::int64_t k0, std::int64_t depth, std::int64_t row, const T* from_b,
                        std::int64_t step) const {
    const D d;
    hn::Vec<D> sums[rows][width];
    hn::Mask<D> masks[width];
    for (int v = 0; v < width; ++v) {
      masks[v] = hn::FirstN(d, static_cast<std::size_t>(filled(v)));
      for (int r = 0; r < rows; ++r) sums[r][v] = hn::Zero(d);
    }
    const T* from_a = a + row * shape.a_row + k0 * shape.a_column;
    for (std::int64_t k = 0; k < depth; ++k, from_a += shape.a_column, from_b += step) {
      hn::Vec<D> columns_of_b[width];
      for (int v = 0; v < width; ++v) {
        columns_of_b[v] = masked ? hn::MaskedLoad(masks[v], d, from_b + v * lanes())
                                 : hn::LoadU(d, from_b + v * lanes());
      }
      for (int r = 0; r < rows; ++r) {
        const hn::Vec<D> x = hn::Set(d, from_a[r * shape.a_row]);
        for (int v = 0; v < width; ++v) sums[r][v] = hn::MulAdd(x, columns_of_b[v], sums[r][v]);
      }
    }
    const hn::Vec<D> signs = hn::Set(d, static_cast<T>(sign_of(shape.into, k0 == 0)));
    // Small enough that compilers unroll it: only then are the sums in registers.
    for (int r = 0; r < rows; ++r) {
      for (int v = 0; v < width; ++v) {
        T* const to = c + (row + r) * shape.c_row + column + v * lanes();
        if (masked && kStoresHaveMasks) {
          if (adds) sums[r][v] = hn::MulAdd(sums[r][v], signs, hn::MaskedLoad(masks[v], d, to));
          hn::BlendedStore(sums[r][v], masks[v], d, to);
        } else if (filled(v) == lanes()) {
          hn::StoreU(adds ? hn::MulAdd(sums[r][v], signs, hn::LoadU(d, to)) : sums[r][v], d, to);
        } else {
          store_some(sums[r][v], to, filled(v), sign_of(shape.into, k0 == 0));
        }
      }
    }
  }

  static HWY_NOINLINE void store_some(hn::Vec<D> sum, T* to, std::int64_t n, int sign) {
    HWY_ALIGN T buffer[HWY_MAX_BYTES / sizeof(T)];
    hn::Store(sum, D(), buffer);
    for (std::int64_t i = 0; i < n; ++i) {
      to[i] = sign == 0 ? buffer[i] : to[i] + static_cast<T>(sign) * buffer[i];
    }
  }

  template <bool adds, bool masked>
  HWY_INLINE void all_rows(std::int64_t k0, std::int64_t depth, const T* from_b,
                           std::int64_t step) const {
    std::int64_t row = 0;
    constexpr std::int64_t rows = kRows<width>;
    for (; row + rows <= shape.m; row += rows) {
      block<rows, adds, masked>(k0, depth, row, from_b, step);
    }
    for (; row + 2 <= shape.m; row += 2) block<2, adds, masked>(k0, depth, row, from_b, step);
    for (; row < shape.m; ++row) block<1, adds, masked>(k0, depth, row, from_b, step);
  }

  void run() const {
    const std::int64_t extent =
        std::min(kDepth, shape.k) * std::abs(shape.b_row) * std::int64_t{sizeof(T)};
    const bool in_place = shape.b_column == 1 && (shape.m <= kRows<width> || extent <= kNear) &&
                          (kLoadsHaveMasks || full());
    if (!in_place) return run_packed();
    for_each_depth([&](std::int64_t k0, std::int64_t depth) HWY_ATTR {
      add_depth(k0, depth, b + k0 * shape.b_row + column, shape.b_row);
    });
  }

  HWY_NOINLINE void run_packed() const {
    HWY_ALIGN T packed[kDepth * kMaxColumns];
    for_each_depth([&](std::int64_t k0, std::int64_t depth) HWY_ATTR {
      pack(k0, depth, packed);
      add_depth(k0, depth, packed, width * lanes());
    });
  }

  template <class F>
  HWY_INLINE void for_each_depth(const F& f) const {
    for (std::int64_t k0 = 0; k0 == 0 || k0 < shape.k; k0 += kDepth) {
      f(k0, std::min(kDepth, shape.k - k0));
    }
  }

  HWY_INLINE void add_depth(std::int64_t k0, std::int64_t depth, const T* from,
                            std::int64_t step) const {
    if constexpr (kLoadsHaveMasks && !kStoresHaveMasks) {
      if (full()) return add_depth_of<false>(k0, depth, from, step);
    }
    add_depth_of<kLoadsHaveMasks>(k0, depth, from, step);
  }
  template <bool masked>
  HWY_INLINE void add_depth_of(std::int64_t k0, std::int64_t depth, const T* from,
                               std::int64_t step) const {
    if (sign_of(shape.into, k0 == 0) == 0) {
      all_rows<false, masked>(k0, depth, from, step);
    } else {
      all_rows<true, masked>(k0, depth, from, step);
    }
  }
};

/// Threads share the strips, or the rows where those are shared more evenly. A function of its own:
/// its frame would slow down the smallest products.
template <class T>
HWY_NOINLINE void gemm_in_strips(const Gemm& shape, const T* a, const T* b, T* c) {
  using D = hn::ScalableTag<T>;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(D()));
  const std::int64_t columns = 2 * lanes;
  const std::int64_t strips = (shape.n + columns - 1) / columns;
  const auto run = [&](const Gemm& part, const T* from_a, T* to, std::int64_t begin,
                       std::int64_t end) HWY_ATTR {
    for (std::int64_t s = begin; s < end; ++s) {
      const std::int64_t column = s * columns;
      Strip<D, 2>{part, from_a, b, to, column, std::min(columns, shape.n - column)}.run();
    }
  };
  constexpr double kShare = 2.5e5;  // multiplications that are worth waking a thread
  const double per_row = std::max(1.0, static_cast<double>(shape.n) * static_cast<double>(shape.k));
  if (strips % num_threads() == 0) {
    const double work = per_row * static_cast<double>(shape.m) / static_cast<double>(strips);
    const auto grain = static_cast<std::int64_t>(std::max(1.0, kShare / work));
    parallel_for(strips, grain,
                 [&](std::int64_t begin, std::int64_t end) { run(shape, a, c, begin, end); });
    return;
  }
  constexpr std::int64_t kGroup = kRows<2>;
  const std::int64_t groups = (shape.m + kGroup - 1) / kGroup;
  const auto grain =
      static_cast<std::int64_t>(std::max(1.0, kShare / (per_row * static_cast<double>(kGroup))));
  parallel_for(groups, grain, [&](std::int64_t begin, std::int64_t end) {
    Gemm part = shape;
    const std::int64_t first = begin * kGroup;
    part.m = std::min(shape.m, end * kGroup) - first;
    run(part, a + first * shape.a_row, c + first * shape.c_row, 0, strips);
  });
}

template <class T>
void gemm(const Gemm& shape, const T* a, const T* b, T* c) {
  using D = hn::ScalableTag<T>;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(D()));
  if constexpr (HWY_TARGET <= HWY_AVX3) {  // Some processors do half a vector twice as fast.
    if (shape.n <= lanes / 2) return Strip<hn::Half<D>, 1>{shape, a, b, c, 0, shape.n}.run();
  }
  if (shape.n <= lanes) return Strip<D, 1>{shape, a, b, c, 0, shape.n}.run();
  gemm_in_strips(shape, a, b, c);
}

void small_gemm(DType dtype, const Gemm& shape, const void* a, const void* b, void* c) {
  if (dtype == DType::float32) {
    gemm(shape, static_cast<const float*>(a), static_cast<const float*>(b), static_cast<float*>(c));
  } else {
    gemm(shape, static_cast<const double*>(a), static_cast<const double*>(b),
         static_cast<double*>(c));
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace tenure::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenure::kernels {

HWY_EXPORT(small_gemm);

void small_gemm(DType dtype, const Gemm& shape, const void* a, const void* b, void* c) {
  HWY_DYNAMIC_DISPATCH(small_gemm)(dtype, shape, a, b, c);
}

}  // namespace tenure::kernels
#endif
