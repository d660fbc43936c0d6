#pragma once

#include <cmath>

// exp and exp2 of float32, less than one unit in the last place off; those of CUDA are up to 1.63.
// They use what host and device have alike, so that a test on the host can look at every float.

namespace tenure::kernels::cuda {

/// x 2^k, rounded once: in two steps, as 2^k may be no normal float.
inline float times_power_of_two(float x, int k) {
  const int bias = k > 0 ? 0 : static_cast<int>(0x83000000u);
  const float first = __builtin_bit_cast(float, 0x7f000000 + bias);
  const float second =
      __builtin_bit_cast(float, static_cast<int>(static_cast<unsigned>(k) << 23) - bias);
  return x * first * second;
}

/// The nearest whole number of a float that is at most 2^21 in size.
inline float nearest_whole(float x) { return x + 0x1.8p23f - 0x1.8p23f; }

/// 2^k e^rest, where k is the nearest whole number to x log2(e).
inline float float_exp(float x) {
  const float size = x < 0 ? -x : x;
  if (size > 104.0f) return x > 0 ? __builtin_bit_cast(float, 0x7f800000) : 0.0f;
  const float k = nearest_whole(x * 1.44269504f);
  float rest = fmaf(k, -6.93145752e-1f, x);
  rest = fmaf(k, -1.42860677e-6f, rest);
  float power = 1.37805939e-3f;
  power = fmaf(power, rest, 8.37312452e-3f);
  power = fmaf(power, rest, 4.16695364e-2f);
  power = fmaf(power, rest, 1.66664720e-1f);
  power = fmaf(power, rest, 4.99999851e-1f);
  power = fmaf(power, rest, 1.0f);
  power = fmaf(power, rest, 1.0f);
  return x == x ? times_power_of_two(power, static_cast<int>(k)) : x;
}

/// 2^k 2^rest, where k is the nearest whole number to x.
inline float float_exp2(float x) {
  const float size = x < 0 ? -x : x;
  if (size > 151.0f) return x > 0 ? __builtin_bit_cast(float, 0x7f800000) : 0.0f;
  const float k = nearest_whole(x);
  const float rest = x - k;
  float power = 1.54531629e-04f;
  power = fmaf(power, rest, 1.33908634e-03f);
  power = fmaf(power, rest, 9.61808256e-03f);
  power = fmaf(power, rest, 5.55035711e-02f);
  power = fmaf(power, rest, 2.40226508e-01f);
  power = fmaf(power, rest, 6.93147188e-01f);
  power = fmaf(power, rest, 1.0f);
  return x == x ? times_power_of_two(power, static_cast<int>(k)) : x;
}

}  // namespace tenure::kernels::cuda
