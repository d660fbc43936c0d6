#pragma once

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <string_view>
#include <type_traits>
#include <utility>

#include "tenure/base/error.h"
#include "tenure/tensor/half.h"

namespace tenure {

/// Element types, in the order in which promotion prefers them.
enum class DType : std::uint8_t {
  boolean,
  uint8,
  int8,
  int16,
  int32,
  int64,
  float16,
  bfloat16,
  float32,
  float64
};
inline constexpr int kDTypes = 10;

inline constexpr DType boolean = DType::boolean;
inline constexpr DType uint8 = DType::uint8;
inline constexpr DType int8 = DType::int8;
inline constexpr DType int16 = DType::int16;
inline constexpr DType int32 = DType::int32;
inline constexpr DType int64 = DType::int64;
inline constexpr DType float16 = DType::float16;
inline constexpr DType bfloat16 = DType::bfloat16;
inline constexpr DType float32 = DType::float32;
inline constexpr DType float64 = DType::float64;

inline constexpr std::uint8_t kElementSizes[kDTypes] = {1, 1, 1, 2, 4, 8, 2, 2, 4, 8};
constexpr std::size_t size_of(DType dtype) { return kElementSizes[static_cast<int>(dtype)]; }
constexpr std::string_view name_of(DType dtype) {
  constexpr std::string_view names[kDTypes] = {"bool",    "uint8",  "int8",    "int16",
                                               "int32",   "int64",  "float16", "bfloat16",
                                               "float32", "float64"};
  return names[static_cast<int>(dtype)];
}
std::ostream& operator<<(std::ostream& out, DType dtype);
constexpr bool is_floating(DType dtype) { return dtype >= DType::float16; }
constexpr bool is_integral(DType dtype) { return dtype >= DType::uint8 && dtype <= DType::int64; }

/// The C++ type of an element: `TypeTag<float>{}` carries it through generic lambdas.
template <class T>
struct TypeTag {
  using type = T;
};

template <class T>
consteval DType dtype_of() {
  if constexpr (std::is_same_v<T, bool>) return DType::boolean;
  if constexpr (std::is_same_v<T, std::uint8_t>) return DType::uint8;
  if constexpr (std::is_same_v<T, std::int8_t>) return DType::int8;
  if constexpr (std::is_same_v<T, std::int16_t>) return DType::int16;
  if constexpr (std::is_same_v<T, std::int32_t>) return DType::int32;
  if constexpr (std::is_same_v<T, std::int64_t> || std::is_same_v<T, long long>) {
    return DType::int64;
  }
  if constexpr (std::is_same_v<T, Half>) return DType::float16;
  if constexpr (std::is_same_v<T, BFloat16>) return DType::bfloat16;
  if constexpr (std::is_same_v<T, float>) return DType::float32;
  if constexpr (std::is_same_v<T, double>) return DType::float64;
}

/// A C++ type that some DType stores.
template <class T>
concept Element = std::is_same_v<T, bool> || std::is_same_v<T, std::uint8_t> ||
    std::is_same_v<T, std::int8_t> || std::is_same_v<T, std::int16_t> ||
    std::is_same_v<T, std::int32_t> || std::is_same_v<T, std::int64_t> || std::is_same_v<T, Half> ||
    std::is_same_v<T, BFloat16> || std::is_same_v<T, float> || std::is_same_v<T, double>;

/// Calls `f(TypeTag<T>{})` with the element type of `dtype`. The one place that lists them.
template <class F>
decltype(auto) visit_dtype(DType dtype, F&& f) {
  switch (dtype) {
    case DType::boolean:
      return std::forward<F>(f)(TypeTag<bool>{});
    case DType::uint8:
      return std::forward<F>(f)(TypeTag<std::uint8_t>{});
    case DType::int8:
      return std::forward<F>(f)(TypeTag<std::int8_t>{});
    case DType::int16:
      return std::forward<F>(f)(TypeTag<std::int16_t>{});
    case DType::int32:
      return std::forward<F>(f)(TypeTag<std::int32_t>{});
    case DType::int64:
      return std::forward<F>(f)(TypeTag<std::int64_t>{});
    case DType::float16:
      return std::forward<F>(f)(TypeTag<Half>{});
    case DType::bfloat16:
      return std::forward<F>(f)(TypeTag<BFloat16>{});
    case DType::float32:
      return std::forward<F>(f)(TypeTag<float>{});
    case DType::float64:
      return std::forward<F>(f)(TypeTag<double>{});
  }
  throw InternalError("unknown dtype");
}

/// The type in which two element types meet. See docs/promotion.md for the rules and for where
/// NumPy 2 and PyTorch differ.
DType promote(DType a, DType b);

}  // namespace tenure
