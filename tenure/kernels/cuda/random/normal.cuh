#pragma once

#include <bit>

#include "tenure/kernels/cuda/random/philox.cuh"

// Normal numbers with the bits that the CPU makes (kernels/cpu/random/philox.cpp): each operation
// rounds once, none is fused with another, and no function of a library takes part.

namespace tenure::kernels::cuda {

/// sum x^n + c_1 x^(n-1) + ... + c_n
template <class C>
inline C polynomial(C, C sum) {
  return sum;
}
template <class C, class... Rest>
inline C polynomial(C x, C sum, C next, Rest... rest) {
  return polynomial(x, sum * x + next, rest...);
}

/// The logarithm of normal numbers, to about one unit in the last place.
template <class C>
inline C plain_logarithm(C x) {
  constexpr bool kNarrow = sizeof(C) == 4;
  using I = std::conditional_t<kNarrow, std::int32_t, std::int64_t>;
  constexpr int kFraction = kNarrow ? 23 : 52;
  constexpr I kOne = kNarrow ? I{0x3f800000} : static_cast<I>(0x3ff0000000000000);
  constexpr I kRootOfHalf = kNarrow ? I{0x3f3504f3} : static_cast<I>(0x3fe6a09e667f3bcd);
  const I bits = std::bit_cast<I>(x) + (kOne - kRootOfHalf);
  const I exponent = (bits >> kFraction) - (kOne >> kFraction);
  const C k = static_cast<C>(exponent);
  const I fraction = bits & ((I{1} << kFraction) - 1);
  const C f = std::bit_cast<C>(fraction + kRootOfHalf) - C(1);

  const C s = f / (f + C(2));
  const C s2 = s * s;
  constexpr C kLog2High = kNarrow ? C(6.9313812256e-01f) : static_cast<C>(6.93147180369123816490e-01);
  constexpr C kLog2Low = kNarrow ? C(9.0580006145e-06f) : static_cast<C>(1.90821492927058770002e-10);
  C r = s2;
  if constexpr (kNarrow) {
    r = polynomial(s2, 0.24279078841f, 0.28498786688f, 0.40000972152f, 0.66666662693f);
  } else {
    r = polynomial(s2, 1.479819860511658591e-01, 1.531383769920937332e-01, 1.818357216161805012e-01,
                   2.222219843214978396e-01, 2.857142874366239149e-01, 3.999999999940941908e-01,
                   6.666666666666735130e-01);
  }
  const C half_square = C(0.5) * f * f;
  const C small = s * (half_square + s2 * r) + k * kLog2Low;
  return (f - (half_square - small)) + k * kLog2High;
}

template <class C>
struct NormalPair {
  C cosine;
  C sine;
};

/// Two independent standard normal numbers, by Box and Muller, from two random integers.
template <class C, class U>
inline NormalPair<C> box_muller(U u1, U u2) {
  constexpr bool kNarrow = sizeof(C) == 4;
  using I = std::conditional_t<kNarrow, std::int32_t, std::int64_t>;
  constexpr int kBits = 8 * sizeof(C);
  constexpr int kCut = kNarrow ? 1 : 11;
  constexpr C kScale = kNarrow ? static_cast<C>(0x1p-31) : static_cast<C>(0x1p-53);
  const C uniform = (static_cast<C>(static_cast<I>(u1 >> kCut)) + C(1)) * kScale;
  const C radius = std::sqrt(C(-2) * plain_logarithm(uniform));

  const U quarter = (u2 + (U{1} << (kBits - 3))) >> (kBits - 2);
  const I rest = static_cast<I>(u2 - (quarter << (kBits - 2)));
  constexpr double kTurn = 6.283185307179586476925;
  constexpr double kUnit = kNarrow ? kTurn * 0x1p-32 : kTurn * 0x1p-64;
  const C y = static_cast<C>(rest) * static_cast<C>(kUnit);
  const C y2 = y * y;
  C s = y2;
  C c = y2;
  if constexpr (kNarrow) {
    s = polynomial(y2, -1.9515295891e-4f, 8.3321608736e-3f, -1.6666654611e-1f, 0.0f);
    c = polynomial(y2, 2.443315711809948e-5f, -1.388731625493765e-3f, 4.166664568298827e-2f, -0.5f,
                   1.0f);
  } else {
    s = polynomial(y2, 1.58962301576546568060e-10, -2.50507477628578072866e-8,
                   2.75573136213857245213e-6, -1.98412698295895385996e-4, 8.33333333332211858878e-3,
                   -1.66666666666666307295e-1, 0.0);
    c = polynomial(y2, -1.13585365213876817300e-11, 2.08757008419747316778e-9,
                   -2.75573141792967388112e-7, 2.48015872888517045348e-5,
                   -1.38888888888730564116e-3, 4.16666666666665929218e-2, -0.5, 1.0);
  }
  s = s * y + y;
  // Quarters 1 and 3 swap sine and cosine; 2 and 3 negate the sine, 1 and 2 the cosine.
  const bool swaps = (quarter & 1) != 0;
  const C cosine = swaps ? s : c;
  const C sine = swaps ? c : s;
  const bool negates_sine = (quarter >> 1 & 1) != 0;
  const bool negates_cosine = ((quarter + 1) >> 1 & 1) != 0;
  return {radius * (negates_cosine ? -cosine : cosine), radius * (negates_sine ? -sine : sine)};
}

}  // namespace tenure::kernels::cuda
