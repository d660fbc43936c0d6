#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "tenure/tensor/tensor.h"

namespace tenure::test {

/// Type, shape and every bit of the elements.
inline void expect_same_bits(const Tensor& got, const Tensor& expected) {
  ASSERT_EQ(got.shape(), expected.shape());
  ASSERT_EQ(got.dtype(), expected.dtype());
  visit_dtype(got.dtype(), [&]<class T>(TypeTag<T>) {
    const std::vector<T> a = got.to_vector<T>();
    const std::vector<T> b = expected.to_vector<T>();
    for (std::size_t i = 0; i < a.size(); ++i) {
      const T x = a[i];  // of bool there is no element to point to
      const T y = b[i];
      ASSERT_EQ(std::memcmp(&x, &y, sizeof x), 0) << "element " << i;
    }
  });
}

}  // namespace tenure::test
