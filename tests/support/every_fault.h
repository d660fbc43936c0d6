#pragma once

#include <gtest/gtest.h>

#include "tenure/memory/fault.h"
#include "tenure/memory/ledger.h"

namespace tenure::test {

/// Runs `f` with its first allocation failing, then its second, and so on until none fails: each
/// time it must throw OutOfMemory and leave nothing behind. Returns how many failed.
template <class F>
int survive_every_fault(const F& f) {
  for (int n = 1;; ++n) {
    const MemoryStats before = memory();
    const FaultInjection fault(n);
    bool threw = false;
    try {
      f();
    } catch (const OutOfMemory&) {
      threw = true;
    }
    EXPECT_EQ(threw, fault.fired()) << "allocation " << n;
    EXPECT_EQ(memory().tensors, before.tensors) << "allocation " << n;
    EXPECT_EQ(memory().bytes, before.bytes) << "allocation " << n;
    EXPECT_EQ(memory().foreign_bytes, before.foreign_bytes) << "allocation " << n;
    if (!fault.fired()) return n - 1;
  }
}

}  // namespace tenure::test
