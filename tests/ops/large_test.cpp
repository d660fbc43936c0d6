#include <gtest/gtest.h>

#include <cstdint>

#include "tenure/tenure.h"

// Results so large that they are written past the caches.

namespace tenure {
namespace {

constexpr std::int64_t kLarge = (5 << 19) + 13;
constexpr std::int64_t kMiddle = kLarge / 2;

TEST(LargeTensors, AreComputedToTheirLastElement) {
  const Tensor x = cast(sub(arange(kLarge), kMiddle), float32);
  const Tensor positive = relu(x);
  const Tensor twice = add(x, x);
  const Tensor scaled = mul(x, 0.5);
  const Tensor copied = clone(x);
  const Tensor wide = cast(add(x, 1), float64);
  for (std::int64_t i = 0; i < kLarge; ++i) {
    const auto at = static_cast<std::size_t>(i);
    const auto value = static_cast<float>(i - kMiddle);
    ASSERT_EQ(positive.span<float>()[at], value > 0 ? value : 0) << i;
    ASSERT_EQ(twice.span<float>()[at], 2 * value) << i;
    ASSERT_EQ(scaled.span<float>()[at], value / 2) << i;
    ASSERT_EQ(copied.span<float>()[at], value) << i;
    ASSERT_EQ(wide.span<double>()[at], value + 1) << i;
  }
}

TEST(LargeTensors, AreTransposed) {
  for (const Shape& shape : {Shape{2048, 1056}, Shape{1500, 1501}}) {
    for (const DType dtype : {float32, int64, int16, uint8}) {
      const Tensor x = cast(remainder(reshape(arange(shape[0] * shape[1]), shape), 251), dtype);
      const Tensor t = cast(clone(transpose(x)), int64);
      ASSERT_EQ(t.shape(), (Shape{shape[1], shape[0]}));
      for (std::int64_t i = 0; i < shape[1]; ++i) {
        for (std::int64_t j = 0; j < shape[0]; ++j) {
          const std::int64_t value = (j * shape[1] + i) % 251;
          ASSERT_EQ(t.span<std::int64_t>()[static_cast<std::size_t>(i * shape[0] + j)], value)
              << i << ' ' << j;
        }
      }
    }
  }
}

}  // namespace
}  // namespace tenure
