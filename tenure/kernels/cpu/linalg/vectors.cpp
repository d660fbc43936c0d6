#include "tenure/kernels/cpu/linalg/vectors.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tenure/kernels/cpu/linalg/vectors.cpp"
#include <hwy/foreach_target.h>

#include <hwy/highway.h>

#include <algorithm>
#include <cmath>

HWY_BEFORE_NAMESPACE();
namespace tenure::kernels::linalg {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
using Lanes = hn::ScalableTag<double>;

/// Rounded once wherever vectors are: compilers may or may not do that of themselves.
HWY_INLINE double multiply_add(double x, double y, double sum) {
  const hn::CappedTag<double, 1> one;
  return hn::GetLane(hn::MulAdd(hn::Set(one, x), hn::Set(one, y), hn::Set(one, sum)));
}

/// Sums of each 32nd product, of which there are as many on every CPU, so that sums are the same.
double dot(const double* x, const double* y, std::int64_t n) {
  const Lanes d;
  constexpr std::int64_t kSums = 32;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  HWY_ALIGN double sums[kSums] = {};
  std::int64_t i = 0;
  if (n >= kSums) {
    constexpr std::int64_t kGroups = kSums * 8 / HWY_MAX_BYTES;
    hn::Vec<Lanes> group[kGroups];
#pragma GCC unroll 16
    for (std::int64_t g = 0; g < kGroups; ++g) group[g] = hn::Zero(d);
    for (; i + kSums <= n; i += kSums) {
#pragma GCC unroll 16
      for (std::int64_t g = 0; g < kGroups; ++g) {
        const std::int64_t at = i + g * lanes;
        group[g] = hn::MulAdd(hn::LoadU(d, x + at), hn::LoadU(d, y + at), group[g]);
      }
    }
#pragma GCC unroll 16
    for (std::int64_t g = 0; g < kGroups; ++g) hn::Store(group[g], d, sums + g * lanes);
  }
  for (std::int64_t s = 0; i + s < n; ++s) sums[s] = multiply_add(x[i + s], y[i + s], sums[s]);
  for (std::int64_t half = kSums / 2; half > 0; half /= 2) {
    for (std::int64_t s = 0; s < half; ++s) sums[s] += sums[s + half];
  }
  return sums[0];
}

double largest_size(const double* x, std::int64_t n) {
  const Lanes d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  auto most = hn::Zero(d);
  auto beside = hn::Zero(d);
  std::int64_t i = 0;
  for (; i + 2 * lanes <= n; i += 2 * lanes) {
    most = hn::Max(most, hn::Abs(hn::LoadU(d, x + i)));
    beside = hn::Max(beside, hn::Abs(hn::LoadU(d, x + i + lanes)));
  }
  double largest = hn::GetLane(hn::MaxOfLanes(d, hn::Max(most, beside)));
  for (; i < n; ++i) largest = std::max(largest, std::abs(x[i]));
  return largest;
}

void add_scaled(double factor, const double* x, double* y, std::int64_t n) {
  const Lanes d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const auto f = hn::Set(d, factor);
  std::int64_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    hn::StoreU(hn::MulAdd(f, hn::LoadU(d, x + i), hn::LoadU(d, y + i)), d, y + i);
  }
  for (; i < n; ++i) y[i] = multiply_add(factor, x[i], y[i]);
}

/// `rows` rows from i on, beyond the square on the diagonal. Eight sums of each, on every CPU.
template <int rows>
HWY_INLINE void add_rows(const double* a, std::int64_t step, std::int64_t n, std::int64_t i,
                         const double* x, double* y) {
  const Lanes d;
  constexpr std::int64_t kSums = 8;
  constexpr std::int64_t kGroups = kSums * 8 / HWY_MAX_BYTES;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const double* const first = a + i * step;
  hn::Vec<Lanes> sums[rows][kGroups];
  hn::Vec<Lanes> factors[rows];
#pragma GCC unroll 16
  for (int r = 0; r < rows; ++r) {
    factors[r] = hn::Set(d, x[i + r]);
#pragma GCC unroll 16
    for (std::int64_t g = 0; g < kGroups; ++g) sums[r][g] = hn::Zero(d);
  }
  std::int64_t j = i + rows;
  for (; j + kSums <= n; j += kSums) {
#pragma GCC unroll 16
    for (std::int64_t g = 0; g < kGroups; ++g) {
      const std::int64_t at = j + g * lanes;
      const auto other = hn::LoadU(d, x + at);
      auto sum = hn::LoadU(d, y + at);
#pragma GCC unroll 16
      for (int r = 0; r < rows; ++r) {
        const auto number = hn::LoadU(d, first + r * step + at);
        sums[r][g] = hn::MulAdd(number, other, sums[r][g]);
        sum = hn::MulAdd(number, factors[r], sum);
      }
      hn::StoreU(sum, d, y + at);
    }
  }
  for (int r = 0; r < rows; ++r) {
    const double* const row = first + r * step;
    HWY_ALIGN double parts[kSums];
    for (std::int64_t g = 0; g < kGroups; ++g) hn::Store(sums[r][g], d, parts + g * lanes);
    for (std::int64_t half = kSums / 2; half > 0; half /= 2) {
      for (std::int64_t s = 0; s < half; ++s) parts[s] += parts[s + half];
    }
    double sum = multiply_add(row[i + r], x[i + r], parts[0]);
    const auto add = [&](std::int64_t at) HWY_ATTR {
      sum = multiply_add(row[at], x[at], sum);
      y[at] = multiply_add(row[at], x[i + r], y[at]);
    };
    for (std::int64_t at = i + r + 1; at < i + rows; ++at) add(at);
    for (std::int64_t at = j; at < n; ++at) add(at);
    y[i + r] += sum;
  }
}

void add_symmetric_rows(const double* a, std::int64_t step, std::int64_t n, std::int64_t begin,
                        std::int64_t end, const double* x, double* y) {
  constexpr int kRows = 4;
  std::int64_t i = begin;
  for (; i + kRows <= end; i += kRows) add_rows<kRows>(a, step, n, i, x, y);
  for (; i < end; ++i) add_rows<1>(a, step, n, i, x, y);
}

void turn_strip(const double* cosines, const double* sines, std::int64_t count, double* strip,
                std::int64_t step) {
  const Lanes d;
  constexpr std::int64_t kGroups = kStrip * 8 / HWY_MAX_BYTES;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  hn::Vec<Lanes> carried[kGroups];
#pragma GCC unroll 16
  for (std::int64_t g = 0; g < kGroups; ++g) carried[g] = hn::LoadU(d, strip + g * lanes);
  for (std::int64_t i = 0; i < count; ++i) {
    const auto c = hn::Set(d, cosines[i]);
    const auto s = hn::Set(d, sines[i]);
    double* const next = strip + step;
#pragma GCC unroll 16
    for (std::int64_t g = 0; g < kGroups; ++g) {
      const auto y = hn::LoadU(d, next + g * lanes);
      hn::StoreU(hn::MulAdd(c, carried[g], hn::Mul(s, y)), d, strip + g * lanes);
      carried[g] = hn::NegMulAdd(s, carried[g], hn::Mul(c, y));
    }
    strip = next;
  }
#pragma GCC unroll 16
  for (std::int64_t g = 0; g < kGroups; ++g) hn::StoreU(carried[g], d, strip + g * lanes);
}

}  // namespace HWY_NAMESPACE
}  // namespace tenure::kernels::linalg
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenure::kernels::linalg {

HWY_EXPORT(dot);
HWY_EXPORT(largest_size);
HWY_EXPORT(add_scaled);
HWY_EXPORT(add_symmetric_rows);
HWY_EXPORT(turn_strip);

double dot(const double* x, const double* y, std::int64_t n) {
  return HWY_DYNAMIC_DISPATCH(dot)(x, y, n);
}
double largest_size(const double* x, std::int64_t n) {
  return HWY_DYNAMIC_DISPATCH(largest_size)(x, n);
}
void add_scaled(double factor, const double* x, double* y, std::int64_t n) {
  HWY_DYNAMIC_DISPATCH(add_scaled)(factor, x, y, n);
}
void add_symmetric_rows(const double* a, std::int64_t step, std::int64_t n, std::int64_t begin,
                        std::int64_t end, const double* x, double* y) {
  HWY_DYNAMIC_DISPATCH(add_symmetric_rows)(a, step, n, begin, end, x, y);
}
void turn_strip(const double* cosines, const double* sines, std::int64_t count, double* strip,
                std::int64_t step) {
  HWY_DYNAMIC_DISPATCH(turn_strip)(cosines, sines, count, strip, step);
}

}  // namespace tenure::kernels::linalg
#endif
