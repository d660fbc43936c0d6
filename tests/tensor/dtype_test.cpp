#include "tenure/tensor/dtype.h"

#include <gtest/gtest.h>

#include <array>
#include <limits>
#include <sstream>
#include <string>

namespace tenure {
namespace {

constexpr std::array<DType, kDTypes> kAll{boolean, uint8,   int8,     int16,   int32,
                                          int64,   float16, bfloat16, float32, float64};

TEST(DType, NamesSizesAndKinds) {
  constexpr std::array<const char*, kDTypes> names{"bool",    "uint8",  "int8",    "int16",
                                                   "int32",   "int64",  "float16", "bfloat16",
                                                   "float32", "float64"};
  constexpr std::array<std::size_t, kDTypes> sizes{1, 1, 1, 2, 4, 8, 2, 2, 4, 8};
  for (std::size_t i = 0; i < kDTypes; ++i) {
    EXPECT_EQ(static_cast<std::size_t>(kAll[i]), i);
    EXPECT_EQ(name_of(kAll[i]), names[i]);
    EXPECT_EQ(size_of(kAll[i]), sizes[i]);
    EXPECT_EQ(is_floating(kAll[i]), i >= 6);
    EXPECT_EQ(is_integral(kAll[i]), i >= 1 && i <= 5);
    visit_dtype(kAll[i], [&]<class T>(TypeTag<T>) {
      EXPECT_EQ(dtype_of<T>(), kAll[i]);
      EXPECT_EQ(sizeof(T), sizes[i]);
      EXPECT_TRUE(Element<T>);
    });
  }
  EXPECT_EQ(dtype_of<long long>(), int64);
  EXPECT_FALSE(Element<char>);
  EXPECT_FALSE(Element<unsigned>);
}

// The whole table, written out. NumPy 2 and PyTorch agree with each other but for 16-bit floats
// with integers, where this is PyTorch's.
TEST(DType, PromotionTable) {
  const std::array<std::string, kDTypes> table{
      // b  u8 i8 16 32 64 h  bf f  d
      "b u s h i l e z f d",  // bool
      "u u h h i l e z f d",  // uint8
      "s h s h i l e z f d",  // int8
      "h h h h i l e z f d",  // int16
      "i i i i i l e z f d",  // int32
      "l l l l l l e z f d",  // int64
      "e e e e e e e f f d",  // float16
      "z z z z z z f z f d",  // bfloat16
      "f f f f f f f f f d",  // float32
      "d d d d d d d d d d",  // float64
  };
  const std::string letters = "bushilezfd";
  for (std::size_t i = 0; i < kDTypes; ++i) {
    for (std::size_t j = 0; j < kDTypes; ++j) {
      EXPECT_EQ(promote(kAll[i], kAll[j]), kAll[letters.find(table[i][2 * j])])
          << name_of(kAll[i]) << " with " << name_of(kAll[j]);
    }
  }
}

TEST(DType, PromotionIsALattice) {
  for (const DType a : kAll) {
    EXPECT_EQ(promote(a, a), a);
    for (const DType b : kAll) {
      EXPECT_EQ(promote(a, b), promote(b, a));
      EXPECT_EQ(promote(a, promote(a, b)), promote(a, b));
      for (const DType c : kAll) {
        EXPECT_EQ(promote(promote(a, b), c), promote(a, promote(b, c)))
            << name_of(a) << ", " << name_of(b) << ", " << name_of(c);
      }
    }
  }
}

TEST(DType, PrintsItsName) {
  std::ostringstream out;
  out << float32 << ' ' << DType::boolean;
  EXPECT_EQ(out.str(), "float32 bool");
}

}  // namespace
}  // namespace tenure
