#include "tenure/profile/paths.h"

#include <gtest/gtest.h>

namespace tenure::profile {
namespace {

TEST(Paths, AsSeenFromTheFolderOfTheProject) {
  EXPECT_EQ(seen_from("/home/ann/net", "/home/ann/net/src/train.cpp"), "src/train.cpp");
  EXPECT_EQ(seen_from("/home/ann/net/build", "/home/ann/net/src/train.cpp"), "../src/train.cpp");
  EXPECT_EQ(seen_from("/home/ann/net/", "/home/ann/net/a/../train.cpp"), "train.cpp");
}

TEST(Paths, WhatIsNobodysOwnStays) {
  EXPECT_EQ(seen_from("/home/ann", "/usr/include/vector"), "/usr/include/vector");
  EXPECT_EQ(seen_from("/home/ann", "src/train.cpp"), "src/train.cpp");
  EXPECT_EQ(seen_from("", "/home/ann/train.cpp"), "/home/ann/train.cpp");
  EXPECT_EQ(seen_from("/", "/home/ann/train.cpp"), "/home/ann/train.cpp");
  EXPECT_EQ(seen_from("/home/ann", ""), "");
}

}  // namespace
}  // namespace tenure::profile
