#include "tenure/memory/pool/size_class.h"

#include <gtest/gtest.h>

#include "tenure/memory/pool/pool.h"

namespace tenure::mem {
namespace {

TEST(SizeClass, IsTheSmallestThatHolds) {
  for (std::size_t bytes = 1; bytes <= kSmallLimit; ++bytes) {
    const int index = size_class(bytes);
    ASSERT_GE(index, 0);
    ASSERT_LT(index, kSizeClasses) << bytes;
    ASSERT_GE(class_bytes(index), bytes);
    if (index > 0) {
      ASSERT_LT(class_bytes(index - 1), bytes);
    }
  }
}

TEST(SizeClass, RiseAreAlignedAndWasteLittle) {
  for (int i = 0; i < kSizeClasses; ++i) {
    EXPECT_EQ(class_bytes(i) % kAlignment, 0u);
    if (i == 0) continue;
    EXPECT_LT(class_bytes(i - 1), class_bytes(i));
    const std::size_t smallest = class_bytes(i - 1) + 1;
    if (smallest > kLinearLimit) {
      EXPECT_LE(class_bytes(i) - smallest, smallest / 8);
    }
  }
  EXPECT_EQ(class_bytes(0), kAlignment);
  EXPECT_EQ(class_bytes(kSizeClasses - 1), kSmallLimit);
}

TEST(SizeClass, ThreadsKeepAFewBlocksOfEachBin) {
  for (int bin = 0; bin < kBins; ++bin) {
    EXPECT_GE(bin_capacity(bin), 4u);
    EXPECT_LE(bin_capacity(bin), 256u);
    EXPECT_LE(bin_capacity(bin) * bin_bytes(bin), 128 * KiB);
    EXPECT_EQ(bin_bytes(bin) % kAlignment, 0u);
  }
}

}  // namespace
}  // namespace tenure::mem
