#include <gtest/gtest.h>

#include <vector>

#include "tests/cuda/emulated.h"
#include "tests/support/training_faults.h"

// A GPU that has no more memory: whatever was asked of it throws, all that there was stays valid,
// and the process goes on.

namespace tenure {
namespace {

using test::emulated_gpu;
using test::emulators;

/// From so many calls of the driver on that take memory, there is none; -1: there is.
void set_calls_until_short(std::int64_t calls) {
  emulators<void(std::int64_t)>("emulate_no_memory_after")(calls);
}

/// Tensors in all the room that the pool of the default device has left, so that whatever is made
/// next takes memory of the driver's.
std::vector<Tensor> fill_the_pool() {
  trim();
  std::vector<Tensor> filling;
  for (std::int64_t bytes = 64 << 20; bytes >= 512; bytes /= 2) {
    while (memory().cached_bytes >= bytes) {
      const std::int64_t reserved = memory().reserved_bytes;
      filling.push_back(zeros({bytes}, uint8));
      if (memory().reserved_bytes == reserved) continue;
      filling.pop_back();
      trim();
      break;
    }
  }
  return filling;
}

TEST(ShortMemory, AtEachAllocationOfAStep) {
  EXPECT_GT(test::survive_faults_in_training(emulated_gpu()), 20);
}

TEST(ShortMemory, AtEachCallOfTheDriver) {
  const Device device = emulated_gpu();
  const std::vector<double> expected = test::undisturbed_losses(device, 5);
  test::FaultyTraining training(device);
  const std::vector<Tensor> filling = fill_the_pool();
  int failed = 0;
  for (const double loss : expected) {
    failed += training.survive(
        loss,
        [](int n) {
          trim();
          set_calls_until_short(n - 1);
        },
        [] { set_calls_until_short(-1); });
  }
  EXPECT_GT(failed, 0);
}

/// What could not leave the GPU's addresses for want of an event leaves later.
TEST(ShortMemory, LosesNothingOfTheDrivers) {
  const DeviceScope scope(emulated_gpu());
  trim();
  const std::int64_t outside = memory_outside().bytes;
  for (int turn = 0; turn < 4; ++turn) {
    std::vector<Tensor> many;
    for (int i = 0; i < 6; ++i) many.push_back(zeros({20 << 20}, uint8));
    many.clear();
    set_calls_until_short(0);
    trim();
    set_calls_until_short(-1);
  }
  const Tensor whole = zeros({440 << 20}, uint8);
  EXPECT_EQ(memory_outside().bytes, outside);
}

}  // namespace
}  // namespace tenure
