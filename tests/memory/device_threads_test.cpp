#include "tenure/memory/pool/devices.h"

#include <gtest/gtest.h>

#include <vector>

#include "tenure/memory/ledger.h"
#include "tenure/memory/pool/pool.h"
#include "tenure/memory/region.h"
#include "tests/memory/second_device.h"
#include "tests/support/share.h"

// A second memory that threads share.

namespace tenure {
namespace {

using test::kSecond;
using test::on_threads;
using test::Random;
using test::room_on;
using test::SecondDevice;
using test::Unmoved;

TEST_F(SecondDevice, ThreadsShareIt) {
  const Unmoved here(cpu);
  constexpr int kThreads = 4;
  std::vector<std::vector<Tensor>> kept(kThreads);
  on_threads(kThreads, [&](int t) {
    Random random(static_cast<std::uint64_t>(t) + 1);
    std::vector<Tensor> mine;
    for (int i = 0; i < test::rounds(2000); ++i) {
      if (mine.size() < 20) mine.push_back(room_on(kSecond, random.below(50'000)));
      const auto at =
          static_cast<std::size_t>(random.below(static_cast<std::int64_t>(mine.size())));
      EXPECT_TRUE(mine[at].device() == kSecond);
      if (random.below(2) == 0) mine.erase(mine.begin() + static_cast<std::ptrdiff_t>(at));
      if (random.below(200) == 0) trim(kSecond);
    }
    kept[static_cast<std::size_t>(t)] = std::move(mine);
  });
  std::int64_t bytes = 0;
  std::int64_t tensors = 0;
  for (const auto& mine : kept) {
    for (const Tensor& tensor : mine)
      bytes += static_cast<std::int64_t>(tensor.nbytes()), ++tensors;
  }
  EXPECT_EQ(memory(kSecond).bytes, before_.bytes + bytes);
  EXPECT_EQ(memory(kSecond).tensors, before_.tensors + tensors);
  kept.clear();
  EXPECT_EQ(memory(kSecond).bytes, before_.bytes);
  EXPECT_EQ(memory(kSecond).tensors, before_.tensors);
}

TEST_F(SecondDevice, ItsPeakIsExactOnAnyNumberOfThreads) {
  on_threads(4, [](int) { const Tensor one = room_on(kSecond, 10); });
  const MemoryRegion region(kSecond);
  std::vector<Tensor> one_each(4);
  on_threads(4, [&](int t) { one_each[static_cast<std::size_t>(t)] = room_on(kSecond, 1000); });
  EXPECT_EQ(region.peak_bytes(), 4000);
}

}  // namespace
}  // namespace tenure
