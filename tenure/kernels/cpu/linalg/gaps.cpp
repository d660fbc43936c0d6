#include "tenure/kernels/cpu/linalg/gaps.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tenure/kernels/cpu/linalg/gaps.cpp"
#include <hwy/foreach_target.h>

#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace tenure::kernels::linalg {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// Gaps beside a place. Nothing here is a product and a sum, which some CPUs would round once.
template <Gap kind, class D>
class Gaps {
 public:
  Gaps(D d, const Place& place)
      : origin_(hn::Set(d, place.origin)), shift_(hn::Set(d, place.shift)) {}
  HWY_INLINE hn::Vec<D> at(hn::Vec<D> x) const {
    const auto difference = hn::Sub(hn::Sub(x, origin_), shift_);
    if constexpr (kind == Gap::of_numbers) return difference;
    return hn::Mul(difference, hn::Add(hn::Add(x, origin_), shift_));
  }

 private:
  hn::Vec<D> origin_, shift_;
};

/// Of 16 sums of each kind, on every CPU.
template <Gap kind>
PoleSums sums_of(const double* squares, const double* x, std::int64_t n, const Place& place) {
  const hn::ScalableTag<double> d;
  constexpr std::int64_t kSums = 16;
  constexpr std::int64_t kGroups = kSums * 8 / HWY_MAX_BYTES;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const Gaps<kind, decltype(d)> gaps(d, place);
  HWY_ALIGN double sums[kSums];
  HWY_ALIGN double slopes[kSums];
  hn::Vec<decltype(d)> sum[kGroups];
  hn::Vec<decltype(d)> slope[kGroups];
#pragma GCC unroll 16
  for (std::int64_t g = 0; g < kGroups; ++g) sum[g] = slope[g] = hn::Zero(d);
  std::int64_t i = 0;
  for (; i + kSums <= n; i += kSums) {
#pragma GCC unroll 16
    for (std::int64_t g = 0; g < kGroups; ++g) {
      const std::int64_t at = i + g * lanes;
      const auto gap = gaps.at(hn::LoadU(d, x + at));
      const auto part = hn::Div(hn::LoadU(d, squares + at), gap);
      sum[g] = hn::Add(sum[g], part);
      slope[g] = hn::Add(slope[g], hn::Div(part, gap));
    }
  }
#pragma GCC unroll 16
  for (std::int64_t g = 0; g < kGroups; ++g) {
    hn::Store(sum[g], d, sums + g * lanes);
    hn::Store(slope[g], d, slopes + g * lanes);
  }
  for (std::int64_t s = 0; i + s < n; ++s) {
    const double gap = place.gap(kind, x[i + s]);
    const double part = squares[i + s] / gap;
    sums[s] += part;
    slopes[s] += part / gap;
  }
  for (std::int64_t half = kSums / 2; half > 0; half /= 2) {
    for (std::int64_t s = 0; s < half; ++s) {
      sums[s] += sums[s + half];
      slopes[s] += slopes[s + half];
    }
  }
  return {sums[0], slopes[0]};
}

template <Gap kind>
void multiply_by(const double* x, std::int64_t n, const Place& place, double other, double* y) {
  const hn::ScalableTag<double> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const Gaps<kind, decltype(d)> gaps(d, place);
  const Gaps<kind, decltype(d)> others(d, {.origin = other});
  std::int64_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    const auto at = hn::LoadU(d, x + i);
    const auto ratio = hn::Div(gaps.at(at), others.at(at));
    hn::StoreU(hn::Mul(hn::LoadU(d, y + i), ratio), d, y + i);
  }
  const Place beside{.origin = other};
  for (; i < n; ++i) y[i] *= place.gap(kind, x[i]) / beside.gap(kind, x[i]);
}

template <Gap kind>
void divide_by(const double* z, const double* x, std::int64_t n, const Place& place, double* y) {
  const hn::ScalableTag<double> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const Gaps<kind, decltype(d)> gaps(d, place);
  std::int64_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    hn::StoreU(hn::Div(hn::LoadU(d, z + i), gaps.at(hn::LoadU(d, x + i))), d, y + i);
  }
  for (; i < n; ++i) y[i] = z[i] / place.gap(kind, x[i]);
}

PoleSums pole_sums(Gap kind, const double* squares, const double* x, std::int64_t n,
                   const Place& place) {
  return kind == Gap::of_numbers ? sums_of<Gap::of_numbers>(squares, x, n, place)
                                 : sums_of<Gap::of_squares>(squares, x, n, place);
}
void multiply_by_gaps(Gap kind, const double* x, std::int64_t n, const Place& place, double other,
                      double* y) {
  kind == Gap::of_numbers ? multiply_by<Gap::of_numbers>(x, n, place, other, y)
                          : multiply_by<Gap::of_squares>(x, n, place, other, y);
}
void divide_by_gaps(Gap kind, const double* z, const double* x, std::int64_t n, const Place& place,
                    double* y) {
  kind == Gap::of_numbers ? divide_by<Gap::of_numbers>(z, x, n, place, y)
                          : divide_by<Gap::of_squares>(z, x, n, place, y);
}

}  // namespace HWY_NAMESPACE
}  // namespace tenure::kernels::linalg
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenure::kernels::linalg {

HWY_EXPORT(pole_sums);
HWY_EXPORT(multiply_by_gaps);
HWY_EXPORT(divide_by_gaps);

PoleSums pole_sums(Gap kind, const double* squares, const double* x, std::int64_t n,
                   const Place& place) {
  return HWY_DYNAMIC_DISPATCH(pole_sums)(kind, squares, x, n, place);
}
void multiply_by_gaps(Gap kind, const double* x, std::int64_t n, const Place& place, double other,
                      double* y) {
  HWY_DYNAMIC_DISPATCH(multiply_by_gaps)(kind, x, n, place, other, y);
}
void divide_by_gaps(Gap kind, const double* z, const double* x, std::int64_t n, const Place& place,
                    double* y) {
  HWY_DYNAMIC_DISPATCH(divide_by_gaps)(kind, z, x, n, place, y);
}

}  // namespace tenure::kernels::linalg
#endif
