#include "tenure/kernels/cpu/gemm/gemm.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tenure/kernels/cpu/gemm/gemv.cpp"
#include <hwy/foreach_target.h>

#include <hwy/highway.h>

#include <algorithm>

#include "tenure/kernels/cpu/gemm/tile-inl.h"
#include "tenure/kernels/parallel.h"

HWY_BEFORE_NAMESPACE();
namespace tenure::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// The matrix is read once and the rest is small, so memory sets the pace. Threads share the results
// among themselves and never one sum: its order, and so its value, is the same on any number of
// threads, and with vectors of any width.

constexpr std::int64_t kTerms = 1024;  // of a sum, whose factors are brought together first
constexpr std::int64_t kTogether = 8;  // rows added at a time
constexpr std::int64_t kChain = 256;   // terms that are added one after the other
constexpr std::int64_t kStrip = 2048;  // results of which these sums are kept
constexpr std::int64_t kWorkPerThread = 64 * 1024;

/// out[i] = sum over k of matrix[i, k] * x[k]
template <class T, class S>
struct MatrixTimesVector {
  using D = hn::ScalableTag<T>;
  std::int64_t size;   // results
  std::int64_t terms;  // of each sum
  const S* matrix;
  std::int64_t result_stride, term_stride;  // one of them is 1
  const S* x;
  std::int64_t x_stride;
  T* out;

  template <class Some>
  static HWY_INLINE hn::Vec<Some> load(Some d, const S* from) {
    if constexpr (std::is_same_v<S, BFloat16>) {
      const hn::RebindToUnsigned<Some> bits;
      const hn::Rebind<std::uint16_t, Some> narrow;
      const auto upper = hn::LoadU(narrow, &from->bits);
      return hn::BitCast(d, hn::ShiftLeft<16>(hn::PromoteTo(bits, upper)));
    } else {
      return hn::LoadU(d, from);
    }
  }

  /// The sum of all lanes, in the same order whatever the width of vectors.
  template <class Some>
  static HWY_INLINE T sum_of(Some d, hn::Vec<Some> x) {
    if constexpr (hn::MaxLanes(Some()) * sizeof(T) > 16) {
      const hn::Half<Some> half;
      return sum_of(half, hn::Add(hn::LowerHalf(half, x), hn::UpperHalf(half, x)));
    } else {
      return hn::GetLane(hn::SumOfLanes(d, x));
    }
  }

  /// The terms next to each other: one dot product per result, several at a time for their common
  /// factor. Each has as many sums as the widest vector has numbers, on every CPU.
  template <int rows>
  HWY_INLINE void dots(std::int64_t i, std::int64_t k0, std::int64_t n, const T* factors) const {
    const D d;
    constexpr int kGroups = 64 / HWY_MAX_BYTES;
    const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
    const S* const from = matrix + i * result_stride + k0;
    hn::Vec<D> sums[rows][kGroups];
    TENURE_UNROLL
    for (int r = 0; r < rows; ++r) {
      TENURE_UNROLL
      for (int g = 0; g < kGroups; ++g) sums[r][g] = hn::Zero(d);
    }
    std::int64_t k = 0;
    for (; k + kGroups * lanes <= n; k += kGroups * lanes) {
      TENURE_UNROLL
      for (int g = 0; g < kGroups; ++g) {
        const auto factor = hn::LoadU(d, factors + k + g * lanes);
        TENURE_UNROLL
        for (int r = 0; r < rows; ++r) {
          const auto x = load(d, from + r * result_stride + k + g * lanes);
          sums[r][g] = hn::MulAdd(x, factor, sums[r][g]);
        }
      }
    }
    const hn::CappedTag<T, 1> one;
    TENURE_UNROLL
    for (int r = 0; r < rows; ++r) {
      TENURE_UNROLL
      for (int left = kGroups / 2; left > 0; left /= 2) {
        TENURE_UNROLL
        for (int g = 0; g < left; ++g) sums[r][g] = hn::Add(sums[r][g], sums[r][g + left]);
      }
      auto sum = hn::Set(one, sum_of(d, sums[r][0]));
      for (std::int64_t rest = k; rest < n; ++rest) {
        sum = hn::MulAdd(load(one, from + r * result_stride + rest), hn::Set(one, factors[rest]),
                         sum);
      }
      const T part = hn::GetLane(sum);
      out[i + r] = k0 == 0 ? part : out[i + r] + part;
    }
  }

  /// The results next to each other: `rows` multiples of rows of the matrix, from row k on, added
  /// to `count` sums, of which the first result is `begin`; they are set if `sets`.
  template <int rows>
  HWY_INLINE void add_rows(std::int64_t begin, std::int64_t count, std::int64_t k, const T* factors,
                           bool sets, T* sums) const {
    const D d;
    const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
    const S* const from = matrix + k * term_stride + begin;
    hn::Vec<D> factor[rows];
    for (int r = 0; r < rows; ++r) factor[r] = hn::Set(d, factors[r]);
    std::int64_t i = 0;
    for (; i + lanes <= count; i += lanes) {
      auto sum = sets ? hn::Zero(d) : hn::LoadU(d, sums + i);
      for (int r = 0; r < rows; ++r) {
        sum = hn::MulAdd(load(d, from + r * term_stride + i), factor[r], sum);
      }
      hn::StoreU(sum, d, sums + i);
    }
    const hn::CappedTag<T, 1> one;
    for (; i < count; ++i) {
      auto sum = sets ? hn::Zero(one) : hn::LoadU(one, sums + i);
      for (int r = 0; r < rows; ++r) {
        sum = hn::MulAdd(load(one, from + r * term_stride + i), hn::Set(one, factors[r]), sum);
      }
      hn::StoreU(sum, one, sums + i);
    }
  }

  /// `n` terms of `count` results, from term k0 on: sums of kChain of them are added up, as those
  /// of many would lose digits.
  void add_terms(std::int64_t begin, std::int64_t count, std::int64_t k0, std::int64_t n,
                 const T* factors) const {
    HWY_ALIGN T sums[kStrip];
    for (std::int64_t first = 0; first < n; first += kChain) {
      T* const to = k0 + first == 0 ? out + begin : sums;
      const std::int64_t last = std::min(n, first + kChain);
      std::int64_t k = first;
      for (; k + kTogether <= last; k += kTogether) {
        add_rows<kTogether>(begin, count, k0 + k, factors + k, k == first, to);
      }
      for (; k < last; ++k) add_rows<1>(begin, count, k0 + k, factors + k, k == first, to);
      if (to == sums) {
        for (std::int64_t i = 0; i < count; ++i) out[begin + i] += sums[i];
      }
    }
  }

  void run(std::int64_t begin, std::int64_t end) const {
    HWY_ALIGN T factors[kTerms];
    for (std::int64_t k0 = 0; k0 < terms; k0 += kTerms) {
      const std::int64_t n = std::min(kTerms, terms - k0);
      for (std::int64_t k = 0; k < n; ++k) factors[k] = x[(k0 + k) * x_stride];
      if (term_stride == 1) {
        std::int64_t i = begin;
        for (; i + 4 <= end; i += 4) dots<4>(i, k0, n, factors);
        for (; i < end; ++i) dots<1>(i, k0, n, factors);
      } else {
        for (std::int64_t i = begin; i < end; i += kStrip) {
          add_terms(i, std::min(kStrip, end - i), k0, n, factors);
        }
      }
    }
  }
};

template <class T, class S = T>
void multiply(const Gemm& g, const void* a, const void* b, void* c) {
  const bool left = g.m == 1;  // the vector stands on the left
  const MatrixTimesVector<T, S> product{.size = left ? g.n : g.m,
                                        .terms = g.k,
                                        .matrix = static_cast<const S*>(left ? b : a),
                                        .result_stride = left ? g.b_column : g.a_row,
                                        .term_stride = left ? g.b_row : g.a_column,
                                        .x = static_cast<const S*>(left ? a : b),
                                        .x_stride = left ? g.a_column : g.b_row,
                                        .out = static_cast<T*>(c)};
  if (g.k == 0) {
    std::fill_n(product.out, product.size, T(0));
    return;
  }
  const std::int64_t grain = (kWorkPerThread / g.k / 64 + 1) * 64;
  parallel_for(product.size, grain,
               [&](std::int64_t begin, std::int64_t end) HWY_ATTR { product.run(begin, end); });
}

void gemv(DType dtype, const Gemm& shape, const void* a, const void* b, void* c) {
  if (dtype == DType::float32) {
    multiply<float>(shape, a, b, c);
  } else if (dtype == DType::bfloat16) {
    multiply<float, BFloat16>(shape, a, b, c);
  } else {
    multiply<double>(shape, a, b, c);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace tenure::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenure::kernels {

HWY_EXPORT(gemv);

void gemv(DType dtype, const Gemm& shape, const void* a, const void* b, void* c) {
  HWY_DYNAMIC_DISPATCH(gemv)(dtype, shape, a, b, c);
}

}  // namespace tenure::kernels
#endif
