#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "tenure/tenure.h"
#include "tests/support/threads.h"

// Calls that are alike are given other numbers of threads now and then, to see which are faster.

namespace tenure {
namespace {

std::vector<float> bits_of(const Tensor& x) {
  const Tensor whole = contiguous(x);
  const auto values = whole.span<float>();
  return {values.begin(), values.end()};
}

TEST(ThreadChoice, WhateverIsTriedBitsStay) {
  const test::Threads setting(4);
  const Tensor a = normal({256, 256});
  const Tensor x = normal({1024, 96});
  const Tensor images = normal({4, 20, 20, 32});
  const Tensor weights = normal({3, 3, 32, 32});
  const Tensor heads = normal({2, 4, 64, 32});
  const std::vector<std::pair<std::string, std::function<Tensor()>>> calls{
      {"matmul", [&] { return matmul(a, a); }},
      {"qr", [&] { return qr(a).q; }},
      {"solve", [&] { return solve(a, a + 1); }},
      {"softmax", [&] { return softmax(x); }},
      {"sum", [&] { return sum(x, 0); }},
      {"cumsum", [&] { return cumsum(x, 0); }},
      {"tanh", [&] { return tanh(x); }},
      {"conv2d", [&] { return conv2d(images, weights); }},
      {"attention", [&] { return attention(heads, heads, heads); }},
      {"gradient of layer_norm", [&] {
         GradientTape tape;
         tape.watch(x);
         const Tensor y = sum(layer_norm(x) * x);
         return tape.gradient(y, x);
       }}};
  for (const auto& [name, call] : calls) {
    const std::vector<float> first = bits_of(call());
    for (int i = 1; i < 80; ++i) {
      const std::vector<float> again = bits_of(call());
      ASSERT_EQ(again.size(), first.size());
      ASSERT_EQ(std::memcmp(again.data(), first.data(), first.size() * sizeof(float)), 0)
          << name << ", call " << i;
    }
  }
}

}  // namespace
}  // namespace tenure
