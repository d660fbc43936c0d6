#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "tenure/tenure.h"
#include "tests/support/share.h"

// Ops on tensors that other threads dispose, move and list meanwhile: see
// tests/memory/threads_test.

namespace tenure {
namespace {

using test::on_threads;
using test::Random;

TEST(OpThreads, ComputeWhileOthersDispose) {
  const mem::Counts before = mem::counts();
  {
    constexpr int kSlots = 6;
    struct Slot {
      std::mutex mutex;
      Tensor tensor;
    };
    std::array<Slot, kSlots> slots;
    std::atomic<int> refused{0};
    on_threads(4, [&](int thread) {
      Random random(static_cast<std::uint64_t>(thread) + 5);
      for (int i = 0; i < test::rounds(20'000); ++i) {
        const Scope scope;
        Slot& slot = slots[static_cast<std::size_t>(random.below(kSlots))];
        Tensor x;
        {
          const std::lock_guard lock(slot.mutex);
          if (!slot.tensor.defined() || slot.tensor.is_disposed()) {
            slot.tensor = keep(full({40}, 2.0));
          }
          x = slot.tensor;
          if (random.below(8) == 0) slot.tensor = Tensor();
        }
        try {
          switch (random.below(6)) {
            case 0:
              x.dispose();
              break;
            case 1:
              EXPECT_EQ(sum(x * x).item<float>(), 160);
              break;
            case 2:
              EXPECT_EQ(slice(x + 1, 0, 3).to_vector<float>()[0], 3);
              break;
            case 3:
              EXPECT_EQ(tanh(std::move(x) * 0.0).to_vector<float>()[39], 0);
              break;
            case 4:
              EXPECT_EQ(concat({x, x}).size(), 80);
              break;
            default:
              EXPECT_EQ(reshape(x, {8, 5}).to_vector<float>()[7], 2);
          }
        } catch (const DisposedError& error) {
          EXPECT_NE(std::string(error.what()).find("threads_test.cpp"), std::string::npos);
          ++refused;
        }
      }
    });
  }
  const mem::Counts after = mem::counts();
  EXPECT_EQ(after.bytes, before.bytes);
  EXPECT_EQ(after.tensors, before.tensors);
}

TEST(OpThreads, MovedOutOfAScopeThatEnds) {
  const mem::Counts before = mem::counts();
  std::atomic<int> round{-1};
  Tensor handed;
  const int rounds = test::rounds(10'000);
  std::thread other([&] {
    for (int i = 0; i < rounds; ++i) {
      while (round != i) std::this_thread::yield();
      Tensor mine = std::move(handed);
      round = -1;
      try {
        const Tensor y = relu(std::move(mine)) * 2 + 1;
        EXPECT_EQ(y.to_vector<float>()[99], 2 * static_cast<float>(i) + 1);
      } catch (const DisposedError&) {
      }
    }
  });
  for (int i = 0; i < rounds; ++i) {
    {
      const Scope scope;
      handed = full({100}, static_cast<float>(i));
      round = i;
      while (round == i) std::this_thread::yield();
    }
    EXPECT_EQ(full({100}, -1.0).to_vector<float>()[99], -1);
  }
  other.join();
  EXPECT_EQ(mem::counts().bytes, before.bytes);
  EXPECT_EQ(mem::counts().tensors, before.tensors);
}

TEST(OpThreads, SharedInputsAreOnlyRead) {
  const Tensor w = full({16, 16}, 0.5);
  std::array<float, 4> results{};
  on_threads(4, [&](int thread) {
    Tensor x = ones({1, 16});
    for (int i = 0; i < test::rounds(2000); ++i) x = matmul(x, w) * 0.125;
    results[static_cast<std::size_t>(thread)] = x.to_vector<float>()[3];
  });
  for (const float result : results) EXPECT_EQ(result, 1);
  EXPECT_TRUE(w.is_sole_holder());
}

}  // namespace
}  // namespace tenure
