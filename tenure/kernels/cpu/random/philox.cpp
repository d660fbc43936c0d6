#include "tenure/kernels/cpu/random/philox.h"

#include <algorithm>
#include <cstring>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tenure/kernels/cpu/random/philox.cpp"
#include <hwy/foreach_target.h>
// After foreach_target.h, which includes this file once for each target.
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace tenure::kernels::philox {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using D64 = hn::ScalableTag<std::uint64_t>;
using V64 = hn::Vec<D64>;

/// Four words of as many counters as there are lanes, each in the lower half of a 64-bit lane: the
/// 32 x 32 bit multiplication reads and fills just such lanes. The upper halves are rubbish.
struct Words {
  V64 x0, x1, x2, x3;
};

HWY_INLINE V64 multiply(V64 a, std::uint32_t b) {
  const hn::Repartition<std::uint32_t, D64> d32;
  return hn::MulEven(hn::BitCast(d32, a), hn::Set(d32, b));
}

HWY_INLINE Words generate(std::uint64_t seed, std::uint64_t counter) {
  const D64 d;
  auto key0 = static_cast<std::uint32_t>(seed);
  auto key1 = static_cast<std::uint32_t>(seed >> 32);
  Words w;
  w.x0 = hn::Add(hn::Set(d, counter), hn::Iota(d, 0));
  w.x1 = hn::ShiftRight<32>(w.x0);
  w.x2 = hn::Zero(d);
  w.x3 = hn::Zero(d);
  for (int round = 0; round < kRounds; ++round) {
    const V64 p0 = multiply(w.x0, kMultiplier0);
    const V64 p1 = multiply(w.x2, kMultiplier1);
    w.x0 = hn::Xor(hn::Xor(hn::ShiftRight<32>(p1), w.x1), hn::Set(d, key0));
    w.x1 = p1;
    w.x2 = hn::Xor(hn::Xor(hn::ShiftRight<32>(p0), w.x3), hn::Set(d, key1));
    w.x3 = p0;
    key0 += kWeyl0;
    key1 += kWeyl1;
  }
  return w;
}

/// The lower halves of `low` and `high` as the halves of one lane.
HWY_INLINE V64 pack(V64 low, V64 high) {
  const D64 d;
  return hn::Or(hn::And(low, hn::Set(d, 0xffffffffu)), hn::ShiftLeft<32>(high));
}

void Words32(std::uint64_t seed, std::uint64_t first, std::int64_t counters, std::uint32_t* out) {
  const D64 d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const auto store = [&](std::uint64_t counter, std::uint32_t* to) {
    const Words w = generate(seed, counter);
    hn::StoreInterleaved2(pack(w.x0, w.x1), pack(w.x2, w.x3), d,
                          reinterpret_cast<std::uint64_t*>(to));
  };
  std::int64_t i = 0;
  for (; i + lanes <= counters; i += lanes)
    store(first + static_cast<std::uint64_t>(i), out + 4 * i);
  if (i < counters) {
    HWY_ALIGN std::uint32_t rest[2 * HWY_MAX_BYTES / 4];
    store(first + static_cast<std::uint64_t>(i), rest);
    std::memcpy(out + 4 * i, rest, static_cast<std::size_t>(counters - i) * 16);
  }
}

// Note: the same numbers on every processor
//
// Below, results depend on the order of operations that each round once, as IEEE 754 says: sums,
// products, quotients, roots, conversions. There is no fused multiplication and addition, which
// SSE4 does not have, and no function of a library, whose targets differ. Sources of kernels are
// compiled without contraction, so that none comes in by itself.

/// sum x^n + c_1 x^(n-1) + ... + c_n
template <class D, class V>
HWY_INLINE V polynomial(D, V, V sum) {
  return sum;
}
template <class D, class V, class... C>
HWY_INLINE V polynomial(D d, V x, V sum, hn::TFromD<D> next, C... rest) {
  return polynomial(d, x, hn::Add(hn::Mul(sum, x), hn::Set(d, next)), rest...);
}

/// The logarithm of normal numbers, to about one unit in the last place.
template <class D, class V>
HWY_INLINE V logarithm(D d, V x) {
  using T = hn::TFromD<D>;
  constexpr bool kIsFloat = sizeof(T) == 4;
  const hn::RebindToSigned<D> di;
  using I = hn::TFromD<decltype(di)>;
  constexpr int kFraction = kIsFloat ? 23 : 52;
  constexpr I kOne = kIsFloat ? I{0x3f800000} : static_cast<I>(0x3ff0000000000000);
  constexpr I kRootOfHalf = kIsFloat ? I{0x3f3504f3} : static_cast<I>(0x3fe6a09e667f3bcd);

  // x = 2^k (1 + f), with 1 + f from the root of a half to the root of two.
  const auto bits = hn::Add(hn::BitCast(di, x), hn::Set(di, kOne - kRootOfHalf));
  const auto exponent = hn::Sub(hn::ShiftRight<kFraction>(bits), hn::Set(di, kOne >> kFraction));
  const auto k = hn::ConvertTo(d, exponent);
  const auto fraction = hn::And(bits, hn::Set(di, (I{1} << kFraction) - 1));
  const auto f =
      hn::Sub(hn::BitCast(d, hn::Add(fraction, hn::Set(di, kRootOfHalf))), hn::Set(d, T{1}));

  // log(1 + f) = f - f^2 / 2 + s (f^2 / 2 + R(s^2)), with s = f / (2 + f) and the minimax
  // polynomial R of fdlibm; the logarithm of 2 in two parts, the first of which k divides evenly.
  const auto s = hn::Div(f, hn::Add(f, hn::Set(d, T{2})));
  const auto s2 = hn::Mul(s, s);
  constexpr T kLog2High =
      kIsFloat ? T{6.9313812256e-01f} : static_cast<T>(6.93147180369123816490e-01);
  constexpr T kLog2Low =
      kIsFloat ? T{9.0580006145e-06f} : static_cast<T>(1.90821492927058770002e-10);
  auto r = s2;
  if constexpr (kIsFloat) {
    r = polynomial(d, s2, hn::Set(d, 0.24279078841f), 0.28498786688f, 0.40000972152f,
                   0.66666662693f);
  } else {
    r = polynomial(d, s2, hn::Set(d, 1.479819860511658591e-01), 1.531383769920937332e-01,
                   1.818357216161805012e-01, 2.222219843214978396e-01, 2.857142874366239149e-01,
                   3.999999999940941908e-01, 6.666666666666735130e-01);
  }
  const auto half_square = hn::Mul(hn::Mul(hn::Set(d, T{0.5}), f), f);
  const auto small =
      hn::Add(hn::Mul(s, hn::Add(half_square, hn::Mul(s2, r))), hn::Mul(k, hn::Set(d, kLog2Low)));
  return hn::Add(hn::Sub(f, hn::Sub(half_square, small)), hn::Mul(k, hn::Set(d, kLog2High)));
}

/// Two independent standard normal numbers a lane, by Box and Muller, from two random integers.
template <class D, class VU>
HWY_INLINE void box_muller(D d, VU u1, VU u2, hn::Vec<D>& cosine, hn::Vec<D>& sine) {
  using T = hn::TFromD<D>;
  const hn::RebindToSigned<D> di;
  const hn::RebindToUnsigned<D> du;
  constexpr int kBits = 8 * sizeof(T);

  // In (0, 1], to 31 or 53 bits: the tails reach 6.5 or 8.5 deviations.
  constexpr int kCut = sizeof(T) == 4 ? 1 : 11;
  constexpr T kScale = sizeof(T) == 4 ? static_cast<T>(0x1p-31) : static_cast<T>(0x1p-53);
  const auto positive = hn::ConvertTo(d, hn::BitCast(di, hn::ShiftRight<kCut>(u1)));
  const auto uniform = hn::Mul(hn::Add(positive, hn::Set(d, T{1})), hn::Set(d, kScale));
  const auto radius = hn::Sqrt(hn::Mul(hn::Set(d, T{-2}), logarithm(d, uniform)));

  // The angle is u2 / 2^bits of a turn: the nearest quarter of a turn, and the signed rest.
  const auto quarter =
      hn::ShiftRight<kBits - 2>(hn::Add(u2, hn::Set(du, std::uint64_t{1} << (kBits - 3))));
  const auto rest = hn::BitCast(di, hn::Sub(u2, hn::ShiftLeft<kBits - 2>(quarter)));
  constexpr double kTurn = 6.283185307179586476925;
  constexpr double kUnit = sizeof(T) == 4 ? kTurn * 0x1p-32 : kTurn * 0x1p-64;
  const auto y = hn::Mul(hn::ConvertTo(d, rest), hn::Set(d, static_cast<T>(kUnit)));
  const auto y2 = hn::Mul(y, y);
  // Minimax polynomials of the Cephes library for |y| <= pi / 4.
  auto s = y2;
  auto c = y2;
  if constexpr (sizeof(T) == 4) {
    s = polynomial(d, y2, hn::Set(d, -1.9515295891e-4f), 8.3321608736e-3f, -1.6666654611e-1f, 0.0f);
    c = polynomial(d, y2, hn::Set(d, 2.443315711809948e-5f), -1.388731625493765e-3f,
                   4.166664568298827e-2f, -0.5f, 1.0f);
  } else {
    s = polynomial(d, y2, hn::Set(d, 1.58962301576546568060e-10), -2.50507477628578072866e-8,
                   2.75573136213857245213e-6, -1.98412698295895385996e-4, 8.33333333332211858878e-3,
                   -1.66666666666666307295e-1, 0.0);
    c = polynomial(d, y2, hn::Set(d, -1.13585365213876817300e-11), 2.08757008419747316778e-9,
                   -2.75573141792967388112e-7, 2.48015872888517045348e-5,
                   -1.38888888888730564116e-3, 4.16666666666665929218e-2, -0.5, 1.0);
  }
  s = hn::Add(hn::Mul(s, y), y);

  // Quarters 1 and 3 swap sine and cosine; 2 and 3 negate the sine, 1 and 2 the cosine.
  const auto one = hn::Set(du, 1);
  const auto swapped =
      hn::MaskFromVec(hn::BitCast(d, hn::Sub(hn::Zero(du), hn::And(quarter, one))));
  const auto sine_sign = hn::BitCast(d, hn::ShiftLeft<kBits - 1>(hn::ShiftRight<1>(quarter)));
  const auto cosine_sign = hn::BitCast(
      d,
      hn::ShiftLeft<kBits - 1>(hn::ShiftRight<1>(hn::And(hn::Add(quarter, one), hn::Set(du, 3)))));
  cosine = hn::Mul(radius, hn::Xor(hn::IfThenElse(swapped, s, c), cosine_sign));
  sine = hn::Mul(radius, hn::Xor(hn::IfThenElse(swapped, c, s), sine_sign));
}

template <class T>
HWY_INLINE void fill_normals(std::uint64_t seed, std::uint64_t first, std::int64_t n, T mean,
                             T deviation, T* out) {
  const hn::ScalableTag<T> d;
  const hn::RebindToUnsigned<decltype(d)> du;
  const D64 d64;
  constexpr std::int64_t kPerCounter = 16 / sizeof(T);
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d64));
  const auto store = [&](std::uint64_t counter, T* to) {
    const Words w = generate(seed, counter);
    // Doubles pair words 0, 1 with 2, 3; floats pair 0 with 1, and 2 with 3.
    const V64 u1 = sizeof(T) == 8 ? pack(w.x0, w.x1) : pack(w.x0, w.x2);
    const V64 u2 = sizeof(T) == 8 ? pack(w.x2, w.x3) : pack(w.x1, w.x3);
    hn::Vec<decltype(d)> cosine, sine;
    box_muller(d, hn::BitCast(du, u1), hn::BitCast(du, u2), cosine, sine);
    const auto scale = hn::Set(d, deviation);
    const auto shift = hn::Set(d, mean);
    hn::StoreInterleaved2(hn::Add(hn::Mul(cosine, scale), shift),
                          hn::Add(hn::Mul(sine, scale), shift), d, to);
  };
  const std::int64_t step = lanes * kPerCounter;
  for (; n >= step; n -= step, out += step, first += static_cast<std::uint64_t>(lanes)) {
    store(first, out);
  }
  if (n > 0) {
    HWY_ALIGN T rest[2 * HWY_MAX_BYTES / sizeof(T)];
    store(first, rest);
    std::memcpy(out, rest, static_cast<std::size_t>(n) * sizeof(T));
  }
}

void NormalsFloat(std::uint64_t seed, std::uint64_t first, std::int64_t n, float mean,
                  float deviation, float* out) {
  fill_normals(seed, first, n, mean, deviation, out);
}
void NormalsDouble(std::uint64_t seed, std::uint64_t first, std::int64_t n, double mean,
                   double deviation, double* out) {
  fill_normals(seed, first, n, mean, deviation, out);
}

}  // namespace HWY_NAMESPACE
}  // namespace tenure::kernels::philox
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenure::kernels::philox {

HWY_EXPORT(Words32);
HWY_EXPORT(NormalsFloat);
HWY_EXPORT(NormalsDouble);

void words(std::uint64_t seed, std::uint64_t first, std::int64_t counters, std::uint32_t* out) {
  HWY_DYNAMIC_DISPATCH(Words32)(seed, first, counters, out);
}

void normals(std::uint64_t seed, std::uint64_t first, std::int64_t n, float mean, float deviation,
             float* out) {
  HWY_DYNAMIC_DISPATCH(NormalsFloat)(seed, first, n, mean, deviation, out);
}

void normals(std::uint64_t seed, std::uint64_t first, std::int64_t n, double mean, double deviation,
             double* out) {
  HWY_DYNAMIC_DISPATCH(NormalsDouble)(seed, first, n, mean, deviation, out);
}

}  // namespace tenure::kernels::philox
#endif  // HWY_ONCE
