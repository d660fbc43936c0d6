#include "tenure/kernels/cpu/gemm/gemm.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tenure/kernels/cpu/gemm/small_gemm.cpp"
#include <hwy/foreach_target.h>

#include <hwy/highway.h>

#include <algorithm>
#include <cstring>

#include "tenure/kernels/parallel.h"

HWY_BEFORE_NAMESPACE();
namespace tenure::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// The product goes strip by strip: `width` vectors of columns of b are packed, kDepth rows at a
// time, and every block of kRows rows of a passes over them with its results in registers.
constexpr std::int64_t kRows = 6;
constexpr std::int64_t kDepth = 256;

template <class T, int width>
struct Strip {
  using D = hn::ScalableTag<T>;
  static constexpr std::size_t kMaxColumns = width * HWY_MAX_BYTES / sizeof(T);

  const Gemm& shape;
  const T* a;
  const T* b;
  T* c;

  HWY_INLINE void pack(std::int64_t k0, std::int64_t depth, std::int64_t column,
                       std::int64_t columns, T* packed) const {
    const D d;
    const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
    const T* from = b + k0 * shape.b_row + column * shape.b_column;
    for (std::int64_t k = 0; k < depth; ++k, from += shape.b_row, packed += width * lanes) {
      if (shape.b_column == 1 && (columns == width * lanes || !HWY_MEM_OPS_MIGHT_FAULT)) {
        for (int v = 0; v < width; ++v) {
          const std::int64_t left = std::clamp<std::int64_t>(columns - v * lanes, 0, lanes);
          hn::StoreU(
              hn::MaskedLoad(hn::FirstN(d, static_cast<std::size_t>(left)), d, from + v * lanes), d,
              packed + v * lanes);
        }
      } else {
        for (std::int64_t j = 0; j < width * lanes; ++j) {
          packed[j] = j < columns ? from[j * shape.b_column] : T(0);
        }
      }
    }
  }

  template <int rows>
  HWY_INLINE void block(std::int64_t k0, std::int64_t depth, std::int64_t row, std::int64_t column,
                        std::int64_t columns, const T* packed) const {
    const D d;
    const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
    hn::Vec<D> sums[rows][width];
    for (int r = 0; r < rows; ++r) {
      for (int v = 0; v < width; ++v) sums[r][v] = hn::Zero(d);
    }
    const T* from = a + row * shape.a_row + k0 * shape.a_column;
    for (std::int64_t k = 0; k < depth; ++k, from += shape.a_column, packed += width * lanes) {
      hn::Vec<D> columns_of_b[width];
      for (int v = 0; v < width; ++v) columns_of_b[v] = hn::LoadU(d, packed + v * lanes);
      for (int r = 0; r < rows; ++r) {
        const hn::Vec<D> x = hn::Set(d, from[r * shape.a_row]);
        for (int v = 0; v < width; ++v) sums[r][v] = hn::MulAdd(x, columns_of_b[v], sums[r][v]);
      }
    }
    for (int r = 0; r < rows; ++r) {
      T* const to = c + (row + r) * shape.c_row + column;
      for (int v = 0; v < width; ++v) {
        const std::int64_t left = std::clamp<std::int64_t>(columns - v * lanes, 0, lanes);
        store(sums[r][v], to + v * lanes, left, k0 > 0);
      }
    }
  }

  static HWY_INLINE void store(hn::Vec<D> sum, T* to, std::int64_t left, bool add) {
    const D d;
    const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
    if (left == lanes) {
      hn::StoreU(add ? hn::Add(sum, hn::LoadU(d, to)) : sum, d, to);
    } else if (left > 0) {
      HWY_ALIGN T buffer[HWY_MAX_BYTES / sizeof(T)];
      hn::Store(sum, d, buffer);
      for (std::int64_t i = 0; i < left; ++i) to[i] = add ? to[i] + buffer[i] : buffer[i];
    }
  }

  void run(std::int64_t column, std::int64_t columns) const {
    HWY_ALIGN T packed[kDepth * kMaxColumns];
    for (std::int64_t k0 = 0; k0 == 0 || k0 < shape.k; k0 += kDepth) {
      const std::int64_t depth = std::min(kDepth, shape.k - k0);
      pack(k0, depth, column, columns, packed);
      std::int64_t row = 0;
      for (; row + kRows <= shape.m; row += kRows) {
        block<kRows>(k0, depth, row, column, columns, packed);
      }
      for (; row + 2 <= shape.m; row += 2) block<2>(k0, depth, row, column, columns, packed);
      for (; row < shape.m; ++row) block<1>(k0, depth, row, column, columns, packed);
    }
  }
};

template <class T>
void gemm(const Gemm& shape, const T* a, const T* b, T* c) {
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(hn::ScalableTag<T>()));
  if (shape.n <= lanes) return Strip<T, 1>{shape, a, b, c}.run(0, shape.n);
  const std::int64_t columns = 2 * lanes;
  const std::int64_t strips = (shape.n + columns - 1) / columns;
  const double work = static_cast<double>(shape.m) * static_cast<double>(shape.k * columns);
  const auto grain = static_cast<std::int64_t>(std::max(1.0, 1e6 / work));
  parallel_for(strips, grain, [&](std::int64_t begin, std::int64_t end) HWY_ATTR {
    for (std::int64_t s = begin; s < end; ++s) {
      Strip<T, 2>{shape, a, b, c}.run(s * columns, std::min(columns, shape.n - s * columns));
    }
  });
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
