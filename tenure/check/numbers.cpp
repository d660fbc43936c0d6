#include "tenure/check/numbers.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

#include "tenure/ops/core/backend.h"
#include "tenure/tensor/host.h"
#include "tenure/tensor/strided.h"

namespace tenure::check {
namespace {

template <class T>
T element(long double value) {
  if constexpr (std::is_same_v<T, bool>) {
    return value != 0;
  } else if constexpr (NarrowFloat<T>) {
    return T(static_cast<float>(value));
  } else if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(std::clamp(std::nearbyint(value),
                                     static_cast<long double>(std::numeric_limits<T>::min()),
                                     static_cast<long double>(std::numeric_limits<T>::max())));
  } else {
    return static_cast<T>(value);
  }
}

}  // namespace

long double nearest(DType dtype, long double value) {
  if (is_narrow_float(dtype)) {  // by definition: a float would round it first
    if (!std::isfinite(value) || value == 0) return value;
    if (std::abs(value) >= overflow_from(dtype)) {
      return std::copysign(std::numeric_limits<long double>::infinity(), value);
    }
    const long double unit = ulp(dtype, value);
    return std::nearbyint(value / unit) * unit;
  }
  return visit_dtype(
      dtype, [&]<class T>(TypeTag<T>) { return static_cast<long double>(element<T>(value)); });
}

long double ulp(DType dtype, long double value) {
  const FloatFormat format = element_type(dtype).format;
  const int exponent = value == 0 ? format.lowest() : std::max(std::ilogb(value), format.lowest());
  return std::ldexp(1.0L, exponent - format.fraction_bits);
}

long double largest(DType dtype) {
  const FloatFormat format = element_type(dtype).format;
  return std::ldexp(2 - std::ldexp(1.0L, -format.fraction_bits), format.highest());
}
long double smallest_normal(DType dtype) {
  return std::ldexp(1.0L, element_type(dtype).format.lowest());
}
long double smallest(DType dtype) { return ulp(dtype, 0); }
long double overflow_from(DType dtype) {
  const long double end = largest(dtype);
  return end + ulp(dtype, end) / 2;
}

long double wrapped(DType dtype, long double value) {
  const long double range = std::ldexp(1.0L, 8 * static_cast<int>(size_of(dtype)));
  const long double low = is_unsigned(dtype) ? 0 : -range / 2;
  long double rest = std::fmod(value, range);
  if (rest < low) rest += range;
  if (rest >= low + range) rest -= range;
  return rest + 0.0L;  // no negative zero
}

bool same(long double a, long double b) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  return a == b && std::signbit(a) == std::signbit(b);
}

void write(DType dtype, void* data, std::int64_t at, long double value) {
  visit_dtype(dtype, [&]<class T>(TypeTag<T>) { static_cast<T*>(data)[at] = element<T>(value); });
}

std::vector<long double> values_of(const Tensor& tensor) {
  TensorBody& body = tensor.body("values_of()");
  const Pin pin(body, "values_of()", Site::current());
  const HostElements elements(pin);
  std::vector<long double> values;
  values.reserve(static_cast<std::size_t>(tensor.size()));
  visit_dtype(body.dtype, [&]<class T>(TypeTag<T>) {
    const auto* const data = static_cast<const T*>(elements.data());
    for_each_offset(body.shape, body.strides,
                    [&](std::int64_t i) { values.push_back(static_cast<long double>(data[i])); });
  });
  return values;
}

std::vector<std::byte> bytes_of(const Tensor& tensor) {
  const Pin pin(tensor.body("bytes_of()"), "bytes_of()", Site::current());
  std::vector<std::byte> bytes(pin.storage()->bytes());
  ops::backend(tensor.device()).read(bytes.data(), pin.storage()->data(), bytes.size());
  return bytes;
}

std::string to_text(long double value) { return fmt::format("{:.21g}", value); }

}  // namespace tenure::check
