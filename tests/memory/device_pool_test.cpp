#include "tenure/memory/pool/devices.h"

#include <gtest/gtest.h>

#include "tenure/base/error.h"
#include "tenure/memory/fault.h"
#include "tenure/memory/ledger.h"
#include "tenure/memory/pool/pool.h"
#include "tenure/memory/recording.h"
#include "tests/memory/second_device.h"
#include "tests/support/share.h"

// The pool of a second memory, and what it refuses.

namespace tenure {
namespace {

using test::kSecond;
using test::room_on;
using test::SecondDevice;
using test::Unmoved;

TEST_F(SecondDevice, GivesSegmentsBack) {
  const Unmoved here(cpu);
  const std::size_t mapped = source_.mapped();
  {
    const Tensor large = room_on(kSecond, 20'000'000);
    EXPECT_GE(memory(kSecond).reserved_bytes, before_.reserved_bytes + 20'000'000);
    const std::int64_t cached = memory().cached_bytes;
    trim(kSecond);
    EXPECT_EQ(memory().cached_bytes, cached) << "the CPU's pool is another";
    EXPECT_GT(source_.mapped(), mapped) << "it is in use";
  }
  EXPECT_GE(memory(kSecond).cached_bytes, before_.cached_bytes + 20'000'000);
  trim();
  EXPECT_EQ(source_.mapped(), mapped);
  EXPECT_EQ(memory(kSecond).reserved_bytes, before_.reserved_bytes);
}

TEST_F(SecondDevice, WhatCannotBeGivenBackStaysCached) {
  const Tensor wall = room_on(kSecond, 1000);
  { const Tensor large = room_on(kSecond, 1'000'000); }
  const std::int64_t cached = memory(kSecond).cached_bytes;
  EXPECT_GE(cached, before_.cached_bytes + 1'000'000);
  trim(kSecond);
  EXPECT_EQ(memory(kSecond).cached_bytes, cached) << "a part of a segment has not left";
}

TEST_F(SecondDevice, KeepsToACacheLimitOfItsOwn) {
  const std::size_t usual = cache_limit();
  const std::size_t all = cache_limit(kSecond);
  set_cache_limit(0, kSecond);
  const std::size_t mapped = source_.mapped();
  { const Tensor large = room_on(kSecond, 20'000'000); }
  EXPECT_EQ(source_.mapped(), mapped);
  EXPECT_EQ(cache_limit(), usual);
  set_cache_limit(all, kSecond);
}

TEST_F(SecondDevice, AFaultNamesIt) {
  const Unmoved there(kSecond);
  const FaultInjection fault(1);
  try {
    room_on(kSecond, 100);
    ADD_FAILURE() << "it was to fail";
  } catch (const OutOfMemory& error) {
    EXPECT_EQ(error.cause(), OutOfMemory::Cause::injected);
    EXPECT_EQ(error.device(), "test:0");
  }
}

TEST_F(SecondDevice, ATensorThatCannotBeLeavesNothing) {
  const Unmoved here(cpu);
  const FaultInjection fault(2);  // the tensor's own record
  try {
    room_on(kSecond, 100);
    ADD_FAILURE() << "it was to fail";
  } catch (const OutOfMemory& error) {
    EXPECT_EQ(error.device(), "cpu") << "where records lie";
  }
  EXPECT_EQ(memory(kSecond).bytes, before_.bytes);
  EXPECT_EQ(memory(kSecond).tensors, before_.tensors);
}

}  // namespace
}  // namespace tenure
