#pragma once

#include <gtest/gtest.h>

#include "tenure/tenure.h"

namespace tenure::test {

inline void expect_near(const Tensor& got, const Tensor& expected, double tolerance, int seed = 0) {
  ASSERT_EQ(got.shape(), expected.shape()) << seed;
  const auto a = got.to_vector<double>();
  const auto b = expected.to_vector<double>();
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (std::isnan(a[i]) && std::isnan(b[i])) continue;
    ASSERT_NEAR(a[i], b[i], tolerance * (1 + std::abs(b[i]))) << seed;
  }
}

}  // namespace tenure::test
