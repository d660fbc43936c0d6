#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <vector>

#include "tests/support/make.h"

// Numbers that another library can be given too: expected values in tests that name it were
// computed from the same ones.

namespace tenure::test {

/// sin(1.3 i + phase) for element i, float64.
inline Tensor waves(const Shape& shape, double phase, Site site = Site::current()) {
  std::vector<double> values;
  for (std::int64_t i = 0; i < count(shape); ++i) {
    values.push_back(std::sin(1.3 * static_cast<double>(i) + phase));
  }
  return make<double>(shape, values, site);
}

/// Checks each element of a float64 tensor, to eight digits of the largest.
inline void expect_waves(const Tensor& got, const std::vector<double>& expected,
                         Site site = Site::current()) {
  const ::testing::ScopedTrace trace(site.file_name(), static_cast<int>(site.line()),
                                     "expected here");
  const std::vector<double> values = got.to_vector<double>();
  ASSERT_EQ(values.size(), expected.size());
  double largest = 1e-2;
  for (const double value : expected) largest = std::max(largest, std::abs(value));
  for (std::size_t i = 0; i < values.size(); ++i) {
    EXPECT_NEAR(values[i], expected[i], 1e-8 * largest) << "element " << i;
  }
}

}  // namespace tenure::test
