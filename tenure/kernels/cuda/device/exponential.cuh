#pragma once

#include "tenure/kernels/cuda/device/prelude.cuh"

// Powers that are computed by the billion, where an error of a few units of float32 does not show.

namespace tenure::kernels::cuda {

/// 2^x, a few units off, and 0 where it is subnormal.
inline float quick_exp2(float x) {
#ifdef __CUDACC_RTC__
  float power;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(power) : "f"(x));
  return power;
#else
  return std::exp2(x);
#endif
}
/// exp(x) of an x that is not positive.
inline float quick_exp(float x) { return quick_exp2(x * 1.4426950408889634f); }
inline double quick_exp(double x) { return std::exp(x); }

/// exp(x - shift) of many x, of which none is larger than the shift: up to a factor that is next to
/// one, and corrects what rounding the shift did to all of them.
template <class C>
struct PowersFrom {
  C shift;

  explicit PowersFrom(C from) : shift(from) {}
  C of(C x) const { return std::exp(x - shift); }
  C factor() const { return 1; }
};
template <>
struct PowersFrom<float> {
  static constexpr float kLog2 = 1.4426950408889634f;
  static constexpr float kLarge = 0x1p126f;  ///< what is less has an exponent that is finite
  float base;                                ///< 0, or the shift where it is larger
  float shift;                               ///< the rest of it
  float exponent;

  explicit PowersFrom(float from)
      : base(from < -kLarge || from > kLarge ? from : 0.0f),
        shift(base == 0 ? from : 0.0f),
        exponent(shift * kLog2) {}
  float of(float x) const { return quick_exp2(std::fma(x - base, kLog2, -exponent)); }
  float factor() const { return 1 - std::fma(shift, kLog2, -exponent) * 0.69314718f; }
};

}  // namespace tenure::kernels::cuda
