#pragma once

#include <cmath>
#include <limits>
#include <type_traits>

// Special functions that the C library does not have, or not for several threads, on plain numbers:
// a part of words.h. They are computed in a wider type than their result's, and never inlined: what
// is inlined into code for an instruction set is rounded as that one does it.

namespace tenure::ops::words {

/// The widest float there is; GPUs have none beyond double.
#ifdef __CUDACC__
using Widest = double;
#else
using Widest = long double;
#endif
template <class T>
using Wider = std::conditional_t<std::is_same_v<T, float>, double, Widest>;

/// log(|gamma(x)|); infinite at the poles.
template <class T>
[[gnu::noinline]] inline T log_gamma(T x) {
#ifdef __CUDACC__
  return static_cast<T>(::lgamma(static_cast<double>(x)));
#else
  int sign = 0;  // that of std::lgamma would be one for all threads
  if constexpr (std::is_same_v<T, float>) {
    return static_cast<T>(::lgamma_r(static_cast<double>(x), &sign));
  } else {
    return static_cast<T>(::lgammal_r(static_cast<long double>(x), &sign));
  }
#endif
}

/// The x with erf(x) = y: a guess, and two steps of Halley's method, each of which makes three
/// times as many digits right.
template <class T>
[[gnu::noinline]] inline T inverse_erf(T y) {
  using W = Wider<T>;
  const W size = std::fabs(static_cast<W>(y));
  if (!(size < 1)) {
    return size == 1 ? std::copysign(std::numeric_limits<T>::infinity(), y)
                     : std::numeric_limits<T>::quiet_NaN();
  }
  if (size == 0) return y;
  const W rest = 1 - size;
  // Winitzki's, good to 0.4 %.
  const W logarithm = std::log1p(-size * size);
  const W half = W(4.3307467508) + logarithm / 2;  // 2 / (pi 0.147)
  W x = std::sqrt(-logarithm / W(0.147) / (half + std::sqrt(half * half - logarithm / W(0.147))));
  for (int step = 0; step < 3; ++step) {
    // Each from the end that it is near to.
    const W off = size < W(0.5) ? std::erf(x) - size : rest - std::erfc(x);
    const W newton = off / (W(1.12837916709551257389615890312154517L) * std::exp(-x * x));
    x -= newton / (1 + x * newton);
  }
  return static_cast<T>(std::copysign(x, static_cast<W>(y)));
}

/// The derivative of log_gamma: by the recurrence to where the asymptotic series is exact.
template <class T>
[[gnu::noinline]] inline T digamma(T given) {
  using W = Wider<T>;
  constexpr W kPi = W(3.14159265358979323846264338327950288L);
  W x = given;
  if (x == 0) return -std::copysign(std::numeric_limits<T>::infinity(), given);
  if (std::isinf(x)) return x > 0 ? given : std::numeric_limits<T>::quiet_NaN();
  W sum = 0;
  if (x < 0) {
    if (x == std::floor(x)) return std::numeric_limits<T>::quiet_NaN();
    sum = -kPi / std::tan(kPi * (x - std::round(x)));
    x = 1 - x;
  }
  for (; x < 16; x += 1) sum -= 1 / x;
  // B(2k) / 2k
  constexpr W kTerms[] = {W(1) / 12,        W(-1) / 120,      W(1) / 252, W(-1) / 240,
                          W(1) / 132,       W(-691) / 32760,  W(1) / 12,  W(-3617) / 8160,
                          W(43867) / 14364, W(-174611) / 6600};
  const W square = 1 / (x * x);
  W series = 0;
  for (int k = 9; k >= 0; --k) series = (series + kTerms[k]) * square;
  return static_cast<T>(sum + std::log(x) - 1 / (2 * x) - series);
}

}  // namespace tenure::ops::words
