#include "tenure/ops/random/domain.h"

#include <fmt/format.h>

#include <cmath>
#include <string_view>
#include <type_traits>
#include <utility>

#include "tenure/base/error.h"

namespace tenure::ops {
namespace {

void require_floating(std::string_view op, DType dtype) {
  if (is_floating(dtype)) return;
  throw DTypeError(op, fmt::format("makes floating types, not {}", name_of(dtype)));
}

}  // namespace

void check_uniform(DType dtype, double low, double high) {
  require_floating("uniform", dtype);
  // In the type in which the numbers are made.
  const auto is_finite = [&](double x) {
    return dtype == DType::float64 ? std::isfinite(x) : std::isfinite(static_cast<float>(x));
  };
  if (low <= high && is_finite(low) && is_finite(high - low)) return;
  throw ValueError(
      fmt::format("uniform: [{}, {}) is no finite range of {}", low, high, name_of(dtype)));
}

void check_normal(DType dtype, double deviation) {
  if (!(deviation >= 0)) {
    throw ValueError(fmt::format("normal: the deviation {} is negative", deviation));
  }
  require_floating("normal", dtype);
}

void check_bernoulli(double p) {
  if (p >= 0 && p <= 1) return;
  throw ValueError(fmt::format("bernoulli: {} is no probability", p));
}

void check_randint(DType dtype, std::int64_t low, std::int64_t high) {
  if (low >= high) {
    throw ValueError(fmt::format("randint: no integer lies in [{}, {})", low, high));
  }
  visit_dtype(dtype, [&]<class T>(TypeTag<T>) {
    if constexpr (!std::is_integral_v<T> || std::is_same_v<T, bool>) {
      throw DTypeError("randint", fmt::format("makes integers, not {}", name_of(dtype)));
    } else if (!std::in_range<T>(low) || !std::in_range<T>(high - 1)) {
      throw ValueError(
          fmt::format("randint: [{}, {}) does not fit into {}", low, high, name_of(dtype)));
    }
  });
}

void check_permutation(DType dtype, std::int64_t n) {
  if (dtype == DType::int64) return;
  if (dtype != DType::int32) {
    throw DTypeError("permutation", fmt::format("makes int32 or int64, not {}", name_of(dtype)));
  }
  if (n <= std::int64_t{1} << 31) return;
  throw ValueError(fmt::format("permutation: int32 does not hold the integers below {}", n));
}

}  // namespace tenure::ops
