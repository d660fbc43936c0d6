#pragma once

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <iterator>
#include <string_view>
#include <type_traits>
#include <utility>

#include "tenure/base/error.h"
#include "tenure/tensor/half.h"

namespace tenure {

/// Element types, in the order in which promotion prefers them, floats last.
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

/// All of them in that order, each with the C++ type of an element and its name in texts. Whatever
/// differs from type to type is made of this list.
#define TENURE_ELEMENT_TYPES(X)     \
  X(boolean, bool, "bool")          \
  X(uint8, std::uint8_t, "uint8")   \
  X(int8, std::int8_t, "int8")      \
  X(int16, std::int16_t, "int16")   \
  X(int32, std::int32_t, "int32")   \
  X(int64, std::int64_t, "int64")   \
  X(float16, Half, "float16")       \
  X(bfloat16, BFloat16, "bfloat16") \
  X(float32, float, "float32")      \
  X(float64, double, "float64")

/// What is known of an element type before any element is there.
struct ElementType {
  std::string_view name;
  std::uint8_t size;
  bool is_unsigned;
  FloatFormat format;  ///< of 0 bits for what is no float
};
inline constexpr ElementType kElementTypes[] = {
#define TENURE_ELEMENT(dtype, T, name) {name, sizeof(T), std::is_unsigned_v<T>, float_format<T>()},
    TENURE_ELEMENT_TYPES(TENURE_ELEMENT)
#undef TENURE_ELEMENT
};
inline constexpr int kDTypes = static_cast<int>(std::size(kElementTypes));

constexpr const ElementType& element_type(DType dtype) {
  return kElementTypes[static_cast<int>(dtype)];
}
constexpr std::size_t size_of(DType dtype) { return element_type(dtype).size; }
constexpr std::string_view name_of(DType dtype) { return element_type(dtype).name; }
/// Integers without a sign, and bool.
constexpr bool is_unsigned(DType dtype) { return element_type(dtype).is_unsigned; }
std::ostream& operator<<(std::ostream& out, DType dtype);
constexpr bool is_floating(DType dtype) { return dtype >= DType::float16; }
/// Stored in fewer bits than anything computes in.
constexpr bool is_narrow_float(DType dtype) { return is_floating(dtype) && size_of(dtype) < 4; }
constexpr bool is_integral(DType dtype) { return dtype >= DType::uint8 && dtype < DType::float16; }

/// The C++ type of an element: `TypeTag<float>{}` carries it through generic lambdas.
template <class T>
struct TypeTag {
  using type = T;
};

template <class T>
consteval bool is_element() {
#define TENURE_ELEMENT(dtype, U, name) \
  if (std::is_same_v<T, U>) return true;
  TENURE_ELEMENT_TYPES(TENURE_ELEMENT)
#undef TENURE_ELEMENT
  return false;
}
/// A C++ type that some DType stores.
template <class T>
concept Element = is_element<T>();

template <class T>
consteval DType dtype_of() {
#define TENURE_ELEMENT(dtype, U, name) \
  if constexpr (std::is_same_v<T, U>) return DType::dtype;
  TENURE_ELEMENT_TYPES(TENURE_ELEMENT)
#undef TENURE_ELEMENT
  if constexpr (std::is_same_v<T, long long>) return DType::int64;
}

/// Calls `f(TypeTag<T>{})` with the element type of `dtype`.
template <class F>
decltype(auto) visit_dtype(DType dtype, F&& f) {
  switch (dtype) {
#define TENURE_ELEMENT(dtype, T, name) \
  case DType::dtype:                   \
    return std::forward<F>(f)(TypeTag<T>{});
    TENURE_ELEMENT_TYPES(TENURE_ELEMENT)
#undef TENURE_ELEMENT
  }
  throw InternalError("unknown dtype");
}

/// The type in which two element types meet. See docs/promotion.md for the rules and for where
/// NumPy 2 and PyTorch differ.
DType promote(DType a, DType b);

}  // namespace tenure
