#pragma once

#include "tenure/kernels/cuda/device/prelude.cuh"

// Powers that are computed by the billion, where an error of a few units of float32 does not show.

namespace tenure::kernels::cuda {

/// exp(x) of an x that is not positive. That of float32 is a few units off, and 0 where it is
/// subnormal.
inline float quick_exp(float x) {
  const float exponent = x * 1.4426950408889634f;
#ifdef __CUDACC_RTC__
  float power;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(power) : "f"(exponent));
  return power;
#else
  return std::exp2(exponent);
#endif
}
inline double quick_exp(double x) { return std::exp(x); }

}  // namespace tenure::kernels::cuda
