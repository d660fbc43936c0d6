#include "tenure/kernels/cpu/move/cast.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tenure/check/numbers.h"

namespace tenure::kernels {
namespace {

using check::largest;
using check::nearest;
using check::smallest;
using check::smallest_normal;
using check::to_text;
using check::wrapped;

constexpr long double kInfinity = std::numeric_limits<long double>::infinity();

/// What cast.h promises.
long double expected(DType from, DType to, long double value) {
  if (to == DType::boolean) return value != 0;
  if (is_floating(to)) return nearest(to, value);
  if (!is_floating(from)) return wrapped(to, value) + 0.0L;  // integers have no -0
  return std::isnan(value) ? 0 : nearest(to, std::trunc(value));
}

/// Elements of `from` around every place where some conversion changes its mind.
std::vector<long double> interesting(DType from) {
  std::vector<long double> values{0, 1, 2, 3, 100, 127, 128, 129, 255, 256, 300};
  for (int bits = 15; bits < 64; ++bits) {
    for (const long double offset : {-1.5L, -1.0L, 0.0L, 0.5L, 1.0L}) {
      values.push_back(std::ldexp(1.0L, bits) + offset);
    }
  }
  for (int e = -160; e < 130; e += 3) values.push_back(std::ldexp(1.2345L, e));
  for (int e = -30; e < 16; ++e) values.push_back(std::ldexp(1.0L + std::ldexp(1.0L, -11), e));
  for (const DType type : {DType::float16, DType::bfloat16}) {  // next to ties between two of them
    const long double unit = type == DType::float16 ? 0x1p-10L : 0x1p-7L;
    for (const long double near : {0x1p-40L, -0x1p-40L, 0x1p-30L, -0x1p-24L}) {
      for (const long double tie : {1 + unit / 2, 1 + unit * 1.5L}) {
        for (const int e : {-12, 0, 9, 40}) values.push_back(std::ldexp(tie + near, e));
      }
    }
  }
  values.push_back(65519.999999L);
  for (const long double half : {0.5L, 1.5L, 2.5L, 0.999999L}) values.push_back(half);
  for (const DType type : {DType::float16, DType::bfloat16, DType::float32, DType::float64}) {
    values.insert(values.end(), {largest(type), smallest(type), smallest_normal(type),
                                 check::overflow_from(type)});
  }
  values.push_back(kInfinity);
  const std::size_t n = values.size();
  for (std::size_t i = 0; i < n; ++i) values.push_back(-values[i]);
  if (is_floating(from)) values.push_back(std::numeric_limits<long double>::quiet_NaN());
  for (long double& value : values) value = nearest(from, value);
  return values;
}

class Cast : public testing::TestWithParam<int> {};

TEST_P(Cast, ConvertsEveryElementAsPromised) {
  const auto from = static_cast<DType>(GetParam() / kDTypes);
  const auto to = static_cast<DType>(GetParam() % kDTypes);
  const std::vector<long double> values = interesting(from);
  std::vector<std::byte> in(values.size() * size_of(from));
  for (std::size_t i = 0; i < values.size(); ++i) {
    check::write(from, in.data(), static_cast<std::int64_t>(i), values[i]);
  }
  // Lengths that are no multiple of a vector, and a byte behind that must stay.
  for (const std::size_t n : {std::size_t{0}, std::size_t{1}, std::size_t{13}, values.size()}) {
    std::vector<std::byte> out(n * size_of(to) + 1, std::byte{0x5a});
    cast_elements(from, in.data(), to, out.data(), n);
    ASSERT_EQ(out.back(), std::byte{0x5a});
    for (std::size_t i = 0; i < n; ++i) {
      const auto got = visit_dtype(to, [&]<class T>(TypeTag<T>) {
        return static_cast<long double>(reinterpret_cast<const T*>(out.data())[i]);
      });
      const long double want = expected(from, to, values[i]);
      ASSERT_TRUE(check::same(got, want))
          << to_text(values[i]) << " became " << to_text(got) << ", not " << to_text(want);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(AllPairs, Cast, testing::Range(0, kDTypes* kDTypes), [](const auto& info) {
  const auto from = static_cast<DType>(info.param / kDTypes);
  const auto to = static_cast<DType>(info.param % kDTypes);
  return std::string(name_of(from)) + "_to_" + std::string(name_of(to));
});

}  // namespace
}  // namespace tenure::kernels
