#include <gtest/gtest.h>

#include "tests/cuda/emulated.h"
#include "tests/support/expect.h"

// What holds of a GPU, on the emulated one.

namespace tenure {
namespace {

using test::emulated_gpu;
using test::expect_elements;

TEST(Gpu, Adds) {
  const Device device = emulated_gpu();
  const Tensor a = copy_to(tensor({1.0f, 2.0f, 3.0f}), device);
  const Tensor b = copy_to(tensor({10.0f, 20.0f, 30.0f}), device);
  const Tensor c = a + b;
  EXPECT_TRUE(c.device() == device);
  expect_elements<float>(c, {3}, {11, 22, 33});
}

}  // namespace
}  // namespace tenure
