#pragma once

// What sources that host and device share include of the standard library, for NVRTC, which has
// none: <cstdint>, <cmath>, <limits>, <type_traits>, <bit>, <concepts> and their like are this file
// there (CMakeLists.txt).

#include "tenure/kernels/cuda/device/powers.cuh"

#define INFINITY (__builtin_bit_cast(float, 0x7f800000u))
#define NAN (__builtin_bit_cast(float, 0x7fc00000u))

namespace std {

using size_t = decltype(sizeof(0));
using ptrdiff_t = long;
using int8_t = signed char;
using uint8_t = unsigned char;
using int16_t = short;
using uint16_t = unsigned short;
using int32_t = int;
using uint32_t = unsigned int;
using int64_t = long;
using uint64_t = unsigned long;
enum class byte : unsigned char {};

template <bool value_>
struct bool_constant {
  static constexpr bool value = value_;
};
template <class A, class B>
inline constexpr bool is_same_v = false;
template <class A>
inline constexpr bool is_same_v<A, A> = true;
template <class A, class B>
concept same_as = is_same_v<A, B>;

template <class T>
inline constexpr bool is_floating_point_v = is_same_v<T, float> || is_same_v<T, double>;
template <class T>
concept floating_point = is_floating_point_v<T>;
template <class T>
inline constexpr bool is_integral_v =
    is_same_v<T, bool> || is_same_v<T, char> || is_same_v<T, int8_t> || is_same_v<T, uint8_t> ||
    is_same_v<T, int16_t> || is_same_v<T, uint16_t> || is_same_v<T, int32_t> ||
    is_same_v<T, uint32_t> || is_same_v<T, int64_t> || is_same_v<T, uint64_t> ||
    is_same_v<T, long long> || is_same_v<T, unsigned long long>;
template <class T>
concept integral = is_integral_v<T>;
template <class T>
inline constexpr bool is_arithmetic_v = is_integral_v<T> || is_floating_point_v<T>;
template <class T>
inline constexpr bool is_signed_v = is_arithmetic_v<T> && T(-1) < T(0);
template <class T>
inline constexpr bool is_unsigned_v = is_integral_v<T> && !is_signed_v<T>;

template <bool condition, class A, class B>
struct conditional {
  using type = A;
};
template <class A, class B>
struct conditional<false, A, B> {
  using type = B;
};
template <bool condition, class A, class B>
using conditional_t = typename conditional<condition, A, B>::type;

template <class T>
using make_unsigned_t = conditional_t<
    sizeof(T) == 1, uint8_t,
    conditional_t<sizeof(T) == 2, uint16_t, conditional_t<sizeof(T) == 4, uint32_t, uint64_t>>>;

template <class To, class From>
constexpr To bit_cast(const From& from) {
  static_assert(sizeof(To) == sizeof(From));
  return __builtin_bit_cast(To, from);
}

template <class T>
struct numeric_limits {
  static constexpr bool is_integer = is_integral_v<T>;
  static constexpr int digits = static_cast<int>(8 * sizeof(T)) - (is_signed_v<T> ? 1 : 0);
  static constexpr T max() {
    if constexpr (is_same_v<T, bool>) {
      return true;
    } else {
      return static_cast<T>(~uint64_t{0} >> (64 - digits));
    }
  }
  static constexpr T min() {
    return is_signed_v<T> ? static_cast<T>(-max() - 1) : static_cast<T>(0);
  }
  static constexpr T lowest() { return min(); }
};
template <>
struct numeric_limits<float> {
  static constexpr bool is_integer = false;
  static constexpr int digits = 24;
  static constexpr float max() { return 0x1.fffffep+127f; }
  static constexpr float lowest() { return -max(); }
  static constexpr float min() { return 0x1p-126f; }
  static constexpr float epsilon() { return 0x1p-23f; }
  static constexpr float infinity() { return INFINITY; }
  static constexpr float quiet_NaN() { return NAN; }
};
template <>
struct numeric_limits<double> {
  static constexpr bool is_integer = false;
  static constexpr int digits = 53;
  static constexpr double max() { return 0x1.fffffffffffffp+1023; }
  static constexpr double lowest() { return -max(); }
  static constexpr double min() { return 0x1p-1022; }
  static constexpr double epsilon() { return 0x1p-52; }
  static constexpr double infinity() { return static_cast<double>(INFINITY); }
  static constexpr double quiet_NaN() { return static_cast<double>(NAN); }
};

using ::abs;
using ::ceil;
using ::copysign;
using ::cos;
using ::erf;
using ::erfc;
using ::expm1;
using ::fabs;
using ::floor;
using ::fma;
using ::fmod;
using ::isfinite;
using ::isinf;
using ::isnan;
using ::log;
using ::log1p;
using ::pow;
using ::round;
using ::sin;
using ::sqrt;
using ::tan;

inline double exp(double x) { return ::exp(x); }
inline float exp(float x) { return tenure::kernels::cuda::float_exp(x); }
inline double exp2(double x) { return ::exp2(x); }
inline float exp2(float x) { return tenure::kernels::cuda::float_exp2(x); }

}  // namespace std
