#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tenure/tensor/tensor.h"

namespace tenure::test {

/// Checks type, shape and every element. NaN equals NaN.
template <Element T>
void expect_elements(const Tensor& got, const Shape& shape, const std::vector<T>& expected,
                     Site site = Site::current()) {
  const ::testing::ScopedTrace trace(site.file_name(), static_cast<int>(site.line()),
                                     "expected here");
  EXPECT_EQ(name_of(got.dtype()), name_of(dtype_of<T>()));
  ASSERT_EQ(got.shape(), shape);
  const std::vector<T> values = got.to_vector<T>();
  ASSERT_EQ(values.size(), expected.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    const T a = values[i];
    const T b = expected[i];
    EXPECT_TRUE(a == b || (a != a && b != b)) << "element " << i << ": " << static_cast<double>(a)
                                              << " instead of " << static_cast<double>(b);
  }
}

/// Checks that an exception of type E is thrown whose text has every one of `parts`.
template <class E, class F>
void expect_throws(const F& f, const std::vector<std::string>& parts, Site site = Site::current()) {
  const ::testing::ScopedTrace trace(site.file_name(), static_cast<int>(site.line()),
                                     "expected here");
  try {
    f();
    ADD_FAILURE() << "nothing was thrown";
  } catch (const E& error) {
    for (const std::string& part : parts) {
      EXPECT_NE(std::string(error.what()).find(part), std::string::npos)
          << "no '" << part << "' in: " << error.what();
    }
  }
}

}  // namespace tenure::test
