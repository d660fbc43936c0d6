#include "tenure/planner/elementary.h"

#include <gtest/gtest.h>

#include <cmath>

namespace tenure::planner {
namespace {

TEST(Elementary, IsCloseToTheRealFunctions) {
  for (int i = 1; i < 20'000; ++i) {
    const double x = 0.037 * i * i / 100;
    EXPECT_NEAR(logarithm(x), std::log(x), 1e-12 * (1 + std::abs(std::log(x))));
    const double y = 0.06 * (i - 10'000);
    EXPECT_NEAR(exponential(y) / std::exp(y), 1, 1e-12);
  }
  EXPECT_NEAR(power(25.0, 0.5), 5, 1e-11);
  EXPECT_EQ(exponential(0), 1);
  EXPECT_EQ(logarithm(1), 0);
}

TEST(Elementary, HasTheSameBitsEverywhere) {
  EXPECT_EQ(logarithm(0.3), -0x1.34378fcbda72p+0);
  EXPECT_EQ(logarithm(7), 0x1.f2272ae325a56p+0);
  EXPECT_EQ(exponential(-40), 0x1.39792499b1a2dp-58);
  EXPECT_EQ(exponential(12.5), 0x1.060c52565ba67p+18);
}

}  // namespace
}  // namespace tenure::planner
