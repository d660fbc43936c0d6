#pragma once

#include <gtest/gtest.h>

#include "tenure/memory/ledger.h"
#include "tests/support/second_memory.h"

// A second memory beside the CPU's, which the host cannot touch: all that holds on the CPU holds
// there, and neither sees what happens on the other.

namespace tenure::test {

class SecondDevice : public testing::Test {
 protected:
  void SetUp() override {
    second_memory();
    trim();
    reset_peak(kSecond);
    before_ = memory(kSecond);
  }
  SecondMemory& source_ = second_memory();
  MemoryStats before_;
};

/// Checks that the numbers of a device are what they were.
class Unmoved {
 public:
  explicit Unmoved(Device device) : device_(device) {
    reset_peak(device), before_ = memory(device);
  }
  ~Unmoved() { check(); }
  void check() const {
    const MemoryStats now = memory(device_);
    EXPECT_EQ(now.tensors, before_.tensors);
    EXPECT_EQ(now.storages, before_.storages);
    EXPECT_EQ(now.bytes, before_.bytes);
    EXPECT_EQ(now.peak, before_.peak);
    EXPECT_EQ(now.allocations, before_.allocations);
    EXPECT_EQ(now.frees, before_.frees);
    EXPECT_EQ(now.foreign_bytes, before_.foreign_bytes);
    for (std::size_t i = 0; i < kCategories; ++i) {
      EXPECT_EQ(now.categories[i].storages, before_.categories[i].storages);
      EXPECT_EQ(now.categories[i].bytes, before_.categories[i].bytes);
      EXPECT_EQ(now.categories[i].peak, before_.categories[i].peak);
    }
  }

 private:
  Device device_;
  MemoryStats before_;
};

}  // namespace tenure::test
