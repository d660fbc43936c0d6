// A SIMD vector of floats as a kind of value (ops/elementwise/value_kinds.h) and what else kernels
// do with it. Compiled once per instruction set, so it has no ordinary include guard.
#if defined(TENURE_KERNELS_CPU_ELEMENTWISE_VALUE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TENURE_KERNELS_CPU_ELEMENTWISE_VALUE_INL_H_
#undef TENURE_KERNELS_CPU_ELEMENTWISE_VALUE_INL_H_
#else
#define TENURE_KERNELS_CPU_ELEMENTWISE_VALUE_INL_H_
#endif

#include <hwy/highway.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

HWY_BEFORE_NAMESPACE();
namespace tenure::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// A vector of T = float or double, as wide as the target's registers.
template <class T>
struct Vec {
  using Scalar = T;
  using D = hn::ScalableTag<T>;
  using Raw = hn::Vec<D>;
  static constexpr bool is_float = true;

  HWY_INLINE Vec(Raw raw) : raw(raw) {}
  HWY_INLINE Vec(T value) : raw(hn::Set(D(), value)) {}
  HWY_INLINE Vec(int value) : Vec(static_cast<T>(value)) {}

  Raw raw;
};

template <class T>
struct Mask {
  hn::Mask<hn::ScalableTag<T>> raw;
};

#define TENURE_VEC_BINARY(symbol, function)                                \
  template <class T>                                                       \
  HWY_INLINE Vec<T> operator symbol(Vec<T> a, Vec<T> b) {                  \
    return hn::function(a.raw, b.raw);                                     \
  }                                                                        \
  template <class T>                                                       \
  HWY_INLINE Vec<T> operator symbol(Vec<T> a, std::type_identity_t<T> b) { \
    return a symbol Vec<T>(b);                                             \
  }                                                                        \
  template <class T>                                                       \
  HWY_INLINE Vec<T> operator symbol(std::type_identity_t<T> a, Vec<T> b) { \
    return Vec<T>(a) symbol b;                                             \
  }
TENURE_VEC_BINARY(+, Add)
TENURE_VEC_BINARY(-, Sub)
TENURE_VEC_BINARY(*, Mul)
TENURE_VEC_BINARY(/, Div)
#undef TENURE_VEC_BINARY

#define TENURE_VEC_COMPARE(symbol, function)                                \
  template <class T>                                                        \
  HWY_INLINE Mask<T> operator symbol(Vec<T> a, Vec<T> b) {                  \
    return {hn::function(a.raw, b.raw)};                                    \
  }                                                                         \
  template <class T>                                                        \
  HWY_INLINE Mask<T> operator symbol(Vec<T> a, std::type_identity_t<T> b) { \
    return {hn::function(a.raw, Vec<T>(b).raw)};                            \
  }
TENURE_VEC_COMPARE(==, Eq)
TENURE_VEC_COMPARE(<, Lt)
TENURE_VEC_COMPARE(<=, Le)
TENURE_VEC_COMPARE(>, Gt)
TENURE_VEC_COMPARE(>=, Ge)
#undef TENURE_VEC_COMPARE

template <class T>
HWY_INLINE Mask<T> operator&&(Mask<T> a, Mask<T> b) {
  return {hn::And(a.raw, b.raw)};
}
template <class T>
HWY_INLINE Mask<T> operator!(Mask<T> a) {
  return {hn::Not(a.raw)};
}
template <class T>
HWY_INLINE bool all(Mask<T> m) {
  return hn::AllTrue(hn::ScalableTag<T>(), m.raw);
}

template <class T>
HWY_INLINE Vec<T> operator-(Vec<T> a) {
  return hn::Neg(a.raw);
}
template <class T>
HWY_INLINE Vec<T> select(Mask<T> m, Vec<T> a, std::type_identity_t<Vec<T>> b) {
  return hn::IfThenElse(m.raw, a.raw, b.raw);
}
template <class T>
HWY_INLINE Vec<T> select(Mask<T> m, T a, Vec<T> b) {
  return select(m, Vec<T>(a), b);
}
template <class T>
HWY_INLINE Vec<T> fma(Vec<T> a, std::type_identity_t<Vec<T>> b, std::type_identity_t<Vec<T>> c) {
  return hn::MulAdd(a.raw, b.raw, c.raw);
}
/// c - a b, rounded once where the processor can.
template <class T>
HWY_INLINE Vec<T> minus_product(Vec<T> a, std::type_identity_t<Vec<T>> b,
                                std::type_identity_t<Vec<T>> c) {
  return hn::NegMulAdd(a.raw, b.raw, c.raw);
}
template <class T>
HWY_INLINE Mask<T> is_nan(Vec<T> a) {
  return {hn::IsNaN(a.raw)};
}
template <class T>
HWY_INLINE Vec<T> abs(Vec<T> a) {
  return hn::Abs(a.raw);
}
/// -abs(a) in one instruction.
template <class T>
HWY_INLINE Vec<T> minus_abs(Vec<T> a) {
  return hn::Or(a.raw, hn::SignBit(hn::ScalableTag<T>()));
}
template <class T>
HWY_INLINE Vec<T> sqrt(Vec<T> a) {
  return hn::Sqrt(a.raw);
}
template <class T>
HWY_INLINE Vec<T> floor(Vec<T> a) {
  return hn::Floor(a.raw);
}
template <class T>
HWY_INLINE Vec<T> ceil(Vec<T> a) {
  return hn::Ceil(a.raw);
}
template <class T>
HWY_INLINE Vec<T> trunc(Vec<T> a) {
  return hn::Trunc(a.raw);
}
/// To the nearest integer, halves to even.
template <class T>
HWY_INLINE Vec<T> round(Vec<T> a) {
  return hn::Round(a.raw);
}
template <class T>
HWY_INLINE Vec<T> copy_sign(Vec<T> magnitude, Vec<T> sign) {
  return hn::CopySign(magnitude.raw, sign.raw);
}
/// NaN if either is, as NumPy and PyTorch have it.
template <class T>
HWY_INLINE Vec<T> max(Vec<T> a, std::type_identity_t<Vec<T>> b) {
  return select(is_nan(a), a, select(is_nan(b), b, Vec<T>(hn::Max(a.raw, b.raw))));
}
template <class T>
HWY_INLINE Vec<T> min(Vec<T> a, std::type_identity_t<Vec<T>> b) {
  return select(is_nan(a), a, select(is_nan(b), b, Vec<T>(hn::Min(a.raw, b.raw))));
}

/// max and min for a limit that is a number, in one instruction. NaN if x is: of a number and then
/// a NaN, x86 takes the second and Arm the NaN.
template <class T>
HWY_INLINE Vec<T> at_least(T low, Vec<T> x) {
  return hn::Max(Vec<T>(low).raw, x.raw);
}
template <class T>
HWY_INLINE Vec<T> at_most(T high, Vec<T> x) {
  return hn::Min(Vec<T>(high).raw, x.raw);
}
/// |x|, but no larger than `limit`. NaN becomes the limit.
template <class T>
HWY_INLINE Vec<T> capped(Vec<T> x, T limit) {
  return hn::Min(hn::Abs(x.raw), hn::Set(hn::ScalableTag<T>(), limit));
}
/// a * b - product, exactly; `product` is a * b rounded.
template <class T>
HWY_INLINE Vec<T> product_error(Vec<T> a, Vec<T> b, Vec<T> product) {
#if HWY_NATIVE_FMA
  return hn::MulSub(a.raw, b.raw, product.raw);
#else  // Dekker's product of halves
  constexpr T kSplit = sizeof(T) == sizeof(float) ? T(0x1p12 + 1) : T(0x1p27 + 1);
  const auto upper = [](Vec<T> v) HWY_ATTR { return v * kSplit - (v * kSplit - v); };
  const Vec<T> a1 = upper(a);
  const Vec<T> b1 = upper(b);
  const Vec<T> a2 = a - a1;
  const Vec<T> b2 = b - b1;
  return ((a1 * b1 - product) + a1 * b2 + a2 * b1) + a2 * b2;
#endif
}
/// A whole number k in the last bits of an integer. Those above mean nothing.
template <class T>
HWY_INLINE auto last_bits(Vec<T> k) {
  constexpr T kWhole = T(3) * (std::uint64_t{1} << (std::numeric_limits<T>::digits - 2));
  return hn::BitCast(hn::RebindToUnsigned<hn::ScalableTag<T>>(), (k + kWhole).raw);
}
/// 2^k for a whole number k in the range of exponents, given its last bits.
template <class T, class Bits>
HWY_INLINE Vec<T> power_of_two(Bits k) {
  const hn::ScalableTag<T> d;
  const auto one = hn::BitCast(hn::RebindToUnsigned<decltype(d)>(), hn::Set(d, T(1)));
  return hn::BitCast(d, hn::Add(hn::ShiftLeft<std::numeric_limits<T>::digits - 1>(k), one));
}
/// The whole number k next to x * factor, at most 2^21 in size, and 2^k for |k| <= 126: what an
/// addition leaves in the last bits becomes the exponent.
class NearestPower {
 public:
  HWY_INLINE NearestPower(Vec<float> x, float factor) : shifted_(fma(x, factor, kWhole)) {}
  HWY_INLINE Vec<float> k() const { return shifted_ - kWhole; }
  HWY_INLINE Vec<float> power() const {
    const hn::ScalableTag<float> d;
    const auto bits = hn::BitCast(hn::RebindToUnsigned<decltype(d)>(), shifted_.raw);
    return hn::BitCast(d, hn::ShiftLeft<23>(bits));
  }

 private:
  static constexpr float kWhole = 0x1.8p23F + 127;
  // Alone: of two vectors in a struct compilers write one to memory that nobody reads.
  Vec<float> shifted_;
};
/// y 2^k for a whole number k of up to twice the range of exponents. Rounded once, also where the
/// result is subnormal; infinite where it overflows.
template <class T>
HWY_INLINE Vec<T> scale(Vec<T> y, Vec<T> k) {
#if HWY_TARGET <= HWY_AVX3
  if constexpr (sizeof(T) == sizeof(float)) {
    return typename Vec<T>::Raw{_mm512_scalef_ps(y.raw.raw, k.raw.raw)};
  } else {
    return typename Vec<T>::Raw{_mm512_scalef_pd(y.raw.raw, k.raw.raw)};
  }
#else
  // By two factors, since 2^k may lie outside the range of exponents although the result lies in.
  const auto bits = last_bits(k);
  const auto half = hn::ShiftRight<1>(bits);
  return y * power_of_two<T>(half) * power_of_two<T>(hn::Sub(bits, half));
#endif
}

/// `f` on every lane. For functions that are rare enough to leave to the C library.
template <class T, class F, class... More>
HWY_INLINE Vec<T> map_lanes(const F& f, Vec<T> first, More... more) {
  const hn::ScalableTag<T> d;
  constexpr std::size_t kLanes = HWY_MAX_BYTES / sizeof(T);
  HWY_ALIGN T out[kLanes];
  HWY_ALIGN T in[1 + sizeof...(More)][kLanes];
  std::size_t i = 0;
  hn::Store(first.raw, d, in[i++]);
  (hn::Store(more.raw, d, in[i++]), ...);
  for (std::size_t lane = 0; lane < hn::Lanes(d); ++lane) {
    if constexpr (sizeof...(More) == 0) {
      out[lane] = f(in[0][lane]);
    } else {
      out[lane] = f(in[0][lane], in[1][lane]);
    }
  }
  return hn::Load(d, out);
}

/// Lanes where `fast` is not valid are taken from `exact`, so that a lane's result never depends on
/// its neighbours.
template <class T, class F>
HWY_INLINE Vec<T> guarded(Mask<T> valid, Vec<T> fast, const F& exact, Vec<T> x) {
  if (HWY_LIKELY(all(valid))) return fast;
  return select(valid, fast, map_lanes(exact, x));
}

}  // namespace HWY_NAMESPACE
}  // namespace tenure::kernels
HWY_AFTER_NAMESPACE();

#endif  // include guard
