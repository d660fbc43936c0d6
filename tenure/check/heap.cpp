#include <cstdint>

#include "tenure/check/cases.h"
#include "tenure/check/checks.h"
#include "tenure/check/expect-inl.h"
#include "tenure/memory/default_device.h"
#include "tenure/ops/core/backend.h"

#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 33)
#include <malloc.h>
#define TENURE_SEES_HEAP 1
#endif

namespace tenure::check {
namespace {

/// What the process has from malloc; 0 where nobody knows.
std::int64_t heap_bytes() {
#ifdef TENURE_SEES_HEAP
  const struct mallinfo2 info = mallinfo2();
  return static_cast<std::int64_t>(info.uordblks + info.hblkhd);
#else
  return 0;
#endif
}

/// Whether calls leave something on the heap, each of them, again and again: caches fill, the C
/// library keeps some blocks that were freed, and other threads come and go, but a leak never ends.
bool grows(const Case& c, const std::vector<Tensor>& inputs) {
  constexpr int kCalls = 8;  // more than the C library keeps of one size
  constexpr int kTries = 3;
  constexpr std::int64_t kLeast = 16;  // bytes of a block
  ops::Backend& device = ops::backend(inputs.empty() ? default_device() : inputs[0].device());
  const auto growth = [&] {
    const std::int64_t before = heap_bytes();
    for (int i = 0; i < kCalls; ++i) run(c, inputs);
    device.wait();
    return heap_bytes() - before;
  };
  static_cast<void>(growth());
  for (int t = 0; t < kTries; ++t) {
    if (growth() < kCalls * kLeast) return false;
  }
  return true;
}

}  // namespace

void check_heap(const ops::OpRecord& op) {
  for (const Case& c : cases_of(op)) {
    CHECK_WITHIN(describe(c));
    CHECK_FALSE(grows(c, make_all(c))) << "every call leaves something on the heap";
  }
}

}  // namespace tenure::check
