#pragma once

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

/// Off by 2^-24 of the result for each unit of |x|, and some.
inline float exp(float x) {
#ifdef __CUDA_ARCH__
  float power;
  asm("ex2.approx.f32 %0, %1;" : "=f"(power) : "f"(x * 1.4426950408889634f));
  return power;
#else
  return std::exp(x);
#endif
}

inline float sigmoid(float x) {
  const float e = exp(-std::fabs(x));
  return over(x < 0 ? e : 1.0f, e + 1.0f);
}

}  // namespace tenure::kernels::cuda::quick
