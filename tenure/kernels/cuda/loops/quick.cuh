#pragma once

#include "tenure/kernels/cuda/device/exponential.cuh"
#include "tenure/kernels/cuda/device/prelude.cuh"

// Words (ops/elementwise/words.h) for steps whose results are rounded to 16 bits at once: a few
// units of float32 do not show there. They take an instruction or two, and no branches.

namespace tenure::kernels::cuda::quick {

/// Two units off at most.
inline float over(float a, float b) {
#ifdef __CUDA_ARCH__
  float quotient;
  asm("div.full.f32 %0, %1, %2;" : "=f"(quotient) : "f"(a), "f"(b));
  return quotient;
#else
  return a / b;
#endif
}

inline float exp2(float x) {
#ifdef __CUDA_ARCH__
  float power;
  asm("ex2.approx.f32 %0, %1;" : "=f"(power) : "f"(x));
  return power;
#else
  return std::exp2(x);
#endif
}
/// Off by 2^-24 of the result for each unit of |x|, and some.
inline float exp(float x) { return exp2(x * 1.4426950408889634f); }

inline float sigmoid(float x) {
  const float e = exp(-std::fabs(x));
  return over(x < 0 ? e : 1.0f, e + 1.0f);
}

// Ops that are most of a network's elementwise work have words of their own: what gates-inl.h has
// in units of float32 takes twice the instructions.

/// 1 / x of a normal float.
inline float inverse(float x) {
#ifdef __CUDA_ARCH__
  float y;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
#else
  return 1 / x;
#endif
}

/// |x|, but no larger than `limit`. NaN stays.
inline float capped(float x, float limit) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  float y;
  asm("min.NaN.f32 %0, %1, %2;" : "=f"(y) : "f"(std::fabs(x)), "f"(limit));
  return y;
#else
  const float size = std::fabs(x);
  return size > limit ? limit : size;
#endif
}

/// Phi(-t) exp(t^2 / 2), 2^-22 off: a minimax polynomial in 2.5 / (t + 2.5) on [0, kNormalEnd].
inline float scaled_normal_tail(float t) {
  const float s = inverse(std::fma(t, 0.4f, 1.0f));
  float h = std::fma(-3.886256218e-02f, s, 1.974074817e-01f);
  h = std::fma(h, s, -3.678864942e-01f);
  h = std::fma(h, s, 2.452299599e-01f);
  h = std::fma(h, s, -9.002180530e-03f);
  h = std::fma(h, s, 1.572077204e-01f);
  h = std::fma(h, s, 1.560415100e-01f);
  h = std::fma(h, s, 1.598752513e-01f);
  return std::fma(h, s, -1.063509712e-05f);
}
/// Beyond it Phi(-t) is zero in float32, and so is its like by tanh.
inline constexpr float kNormalEnd = 15;
/// -log2(e) / 2
inline constexpr float kBellExponent = -0.72134752f;

/// x Phi(x)
inline float gelu(float x) {
  const float t = capped(x, kNormalEnd);
  const float tail = t * exp2(t * t * kBellExponent) * scaled_normal_tail(t);
  return x < 0 ? -tail : x - tail;
}

/// gradient (Phi(x) + x phi(x)), in units of the largest number.
inline float gelu_gradient(float gradient, float x) {
  const float t = capped(x, kNormalEnd);
  constexpr float kBell = 0.39894228f;  // 1 / sqrt(2 pi)
  const float power = quick_exp2(t * t * kBellExponent);
  const float rise = std::fma(t, kBell, -scaled_normal_tail(t)) * power;
  return gradient * (x < 0 ? -rise : rise + 1);
}

// v = sqrt(8 / pi) (t + 0.044715 t^3)
inline constexpr float kTanhLinear = 1.59576912f;
inline constexpr float kTanhCubic = 0.0713548163f;

/// v log2(e)
inline float tanh_exponent(float t) {
  return t * std::fma(t * t, 0.102943240f, 2.30220820f);
}

/// x sigmoid(v)
inline float gelu_tanh(float x) {
  const float t = capped(x, kNormalEnd);
  const float e = exp2(-tanh_exponent(t));
  return (x < 0 ? -t * e : x) * inverse(e + 1);
}

/// gradient (s + x s (1 - s) v'), s = sigmoid(v), in units of the largest number.
inline float gelu_tanh_gradient(float gradient, float x) {
  const float t = capped(x, kNormalEnd);
  const float e = quick_exp2(-tanh_exponent(t));
  const float whole = e + 1;
  const float share = inverse(whole);
  const float rise = t * std::fma(t * t, 3 * kTanhCubic, kTanhLinear);
  const float at_minus_t = (whole - rise) * e * share * share;
  return gradient * (x < 0 ? at_minus_t : 1 - at_minus_t);
}

}  // namespace tenure::kernels::cuda::quick
