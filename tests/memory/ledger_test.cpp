#include "tenure/memory/ledger.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <barrier>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "tenure/base/units.h"
#include "tenure/memory/region.h"
#include "tenure/memory/scope.h"
#include "tests/support/make.h"
#include "tests/support/share.h"

namespace tenure {
namespace {

using test::on_thread;
using test::on_threads;
using test::Random;
using test::room;
using test::share;

TEST(Ledger, CountsExactly) {
  reset_peak();
  const MemoryStats before = memory();
  EXPECT_EQ(before.peak, before.bytes);
  Tensor a = room(100);
  Tensor b = room(1'000'000);
  const Tensor copy = a;
  MemoryStats now = memory();
  EXPECT_EQ(now.tensors, before.tensors + 2);
  EXPECT_EQ(now.storages, before.storages + 2);
  EXPECT_EQ(now.bytes, before.bytes + 1'000'100);
  EXPECT_EQ(now.allocations, before.allocations + 2);
  EXPECT_EQ(now.frees, before.frees);
  b = Tensor();
  a.dispose();
  now = memory();
  EXPECT_EQ(now.tensors, before.tensors) << "a disposed tensor with handles counts no more";
  EXPECT_EQ(now.storages, before.storages);
  EXPECT_EQ(now.bytes, before.bytes);
  EXPECT_EQ(now.frees, before.frees + 2);
  EXPECT_EQ(now.peak, before.bytes + 1'000'100);
  reset_peak();
  EXPECT_EQ(memory().peak, before.bytes);
}

TEST(Ledger, ViewsAddATensorAndNoBytes) {
  const Tensor a = room(5000);
  const MemoryStats before = memory();
  std::vector<Tensor> views;
  for (int i = 0; i < 10; ++i) views.push_back(share(a));
  EXPECT_EQ(memory().tensors, before.tensors + 10);
  EXPECT_EQ(memory().bytes, before.bytes);
  EXPECT_EQ(memory().storages, before.storages);
  EXPECT_EQ(memory().allocations, before.allocations);
  a.dispose();
  EXPECT_EQ(memory().bytes, before.bytes) << "the views hold the data";
  views.clear();
  EXPECT_EQ(memory().bytes, before.bytes - 5000);
}

TEST(Ledger, ForeignMemoryIsCountedApart) {
  std::vector<float> mine(250);
  int deleted = 0;
  const MemoryStats before = memory();
  {
    const Tensor tensor = test::borrow(mine, [&](void*) { ++deleted; });
    EXPECT_EQ(memory().foreign_bytes, before.foreign_bytes + 1000);
    EXPECT_EQ(memory().bytes, before.bytes);
    EXPECT_EQ(memory().allocations, before.allocations);
    EXPECT_EQ(memory().tensors, before.tensors + 1);
    const Tensor view = share(tensor);
    tensor.dispose();
    EXPECT_EQ(deleted, 0);
  }
  EXPECT_EQ(deleted, 1);
  EXPECT_EQ(memory().foreign_bytes, before.foreign_bytes);
  EXPECT_EQ(memory().frees, before.frees);
}

TEST(Ledger, EmptyTensorsAreStorages) {
  const MemoryStats before = memory();
  const Tensor empty = room(0);
  EXPECT_EQ(memory().storages, before.storages + 1);
  EXPECT_EQ(memory().bytes, before.bytes);
}

TEST(Ledger, CategoriesAreCountedApart) {
  reset_peak();
  const MemoryStats before = memory();
  Tensor kept;
  {
    const CategoryScope parameters(Category::parameter);
    kept = room(300);
    {
      const CategoryScope gradients(Category::gradient);
      const Tensor gradient = room(70'000);
      EXPECT_EQ(memory()[Category::gradient].bytes, before[Category::gradient].bytes + 70'000);
    }
    const Tensor again = room(10);
    EXPECT_EQ(memory()[Category::parameter].storages, before[Category::parameter].storages + 2);
  }
  const MemoryStats now = memory();
  EXPECT_EQ(now[Category::parameter].bytes, before[Category::parameter].bytes + 300);
  EXPECT_EQ(now[Category::parameter].peak, before[Category::parameter].bytes + 310);
  EXPECT_EQ(now[Category::gradient].bytes, before[Category::gradient].bytes);
  EXPECT_EQ(now[Category::gradient].peak, before[Category::gradient].bytes + 70'000);
  EXPECT_EQ(now[Category::activation].bytes, before[Category::activation].bytes);
  // Freed outside of the scope, a storage is still of its category.
  kept = Tensor();
  EXPECT_EQ(memory()[Category::parameter].bytes, before[Category::parameter].bytes);
}

TEST(Ledger, PeakOfManySmallAllocationsIsExact) {
  for (const int n : {1, 10, 600, 700, 10'000}) {
    const MemoryRegion region;
    {
      std::vector<Tensor> all;
      for (int i = 0; i < n; ++i) all.push_back(room(100));
      EXPECT_EQ(region.peak_bytes(), n * 100);
    }
    EXPECT_EQ(region.peak_bytes(), n * 100);
    EXPECT_EQ(region.left_bytes(), 0);
    EXPECT_EQ(region.allocations(), n);
    EXPECT_EQ(region.frees(), n);
  }
}

TEST(Ledger, PeakSeesASpikeBetweenFrees) {
  Tensor large = room(10'000'000);
  const MemoryRegion region;
  large = Tensor();
  { const Tensor spike = room(3'000'000); }
  EXPECT_EQ(region.peak_bytes(), 0) << "it never rose above the beginning";
  EXPECT_EQ(region.left_bytes(), -10'000'000);
  { const Tensor spike = room(10'000'001); }
  EXPECT_EQ(region.peak_bytes(), 1);
}

TEST(Ledger, RegionsNestAndOverlap) {
  std::optional<MemoryRegion> a(std::in_place);
  { const Tensor t = room(50'000); }
  std::optional<MemoryRegion> b(std::in_place);
  { const Tensor t = room(1000); }
  std::optional<MemoryRegion> c(std::in_place);
  { const Tensor t = room(20); }
  EXPECT_EQ(a->peak_bytes(), 50'000);
  EXPECT_EQ(b->peak_bytes(), 1000);
  EXPECT_EQ(c->peak_bytes(), 20);
  b.reset();  // neither the first nor the last of them
  const Tensor left = room(60'000);
  EXPECT_EQ(a->peak_bytes(), 60'000);
  EXPECT_EQ(c->peak_bytes(), 60'000);
  a.reset();
  reset_peak();
  EXPECT_EQ(c->peak_bytes(), 60'000) << "reset_peak() is not for regions";
  EXPECT_EQ(c->left_tensors(), 1);
}

/// What the ledger should say, done in the plainest way.
struct Model {
  std::int64_t bytes = 0;
  std::int64_t peak = 0;
  std::int64_t allocations = 0;
  std::array<std::int64_t, kCategories> category{};
  std::array<std::int64_t, kCategories> category_peak{};
  void add(Category c, std::int64_t change) {
    bytes += change;
    category[static_cast<std::size_t>(c)] += change;
    allocations += change >= 0 ? 1 : 0;
    raise();
  }
  void raise() {
    peak = std::max(peak, bytes);
    for (std::size_t i = 0; i < kCategories; ++i) {
      category_peak[i] = std::max(category_peak[i], category[i]);
    }
  }
};

TEST(Ledger, AgreesWithAModelInRandomPrograms) {
  struct Watched {
    explicit Watched(std::int64_t now) : begin(now), peak(now) {}
    MemoryRegion region;
    std::int64_t begin;
    std::int64_t peak;
  };
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    Random random(seed);
    reset_peak();
    const MemoryStats start = memory();
    Model model;
    std::vector<std::pair<Tensor, Category>> live;
    std::deque<Watched> watched;
    for (int step = 0; step < test::rounds(2000); ++step) {
      if (live.empty() || random.below(5) < 3) {
        const auto category = static_cast<Category>(random.below(kCategories));
        const std::int64_t limit = random.below(20) == 0 ? 300'000 : 3000;
        const std::int64_t bytes = random.below(limit);
        const CategoryScope scope(category);
        live.emplace_back(room(bytes), category);
        model.add(category, bytes);
      } else {
        const auto at =
            static_cast<std::size_t>(random.below(static_cast<std::int64_t>(live.size())));
        std::swap(live[at], live.back());
        model.bytes -= static_cast<std::int64_t>(live.back().first.nbytes());
        model.category[static_cast<std::size_t>(live.back().second)] -=
            static_cast<std::int64_t>(live.back().first.nbytes());
        live.pop_back();
      }
      for (Watched& w : watched) w.peak = std::max(w.peak, model.bytes);
      if (random.below(100) == 0) watched.emplace_back(model.bytes);
      if (!watched.empty() && random.below(200) == 0) watched.pop_front();
      if (random.below(300) == 0) {
        reset_peak();
        model.peak = model.bytes;
        model.category_peak = model.category;
      }
      if (random.below(50) != 0) continue;
      const MemoryStats now = memory();
      ASSERT_EQ(now.bytes - start.bytes, model.bytes) << "seed " << seed << ", step " << step;
      ASSERT_EQ(now.peak - start.bytes, model.peak) << "seed " << seed << ", step " << step;
      ASSERT_EQ(now.tensors - start.tensors, static_cast<std::int64_t>(live.size()));
      ASSERT_EQ(now.allocations - start.allocations, model.allocations);
      for (std::size_t i = 0; i < kCategories; ++i) {
        ASSERT_EQ(now.categories[i].bytes - start.categories[i].bytes, model.category[i]);
        ASSERT_EQ(now.categories[i].peak - start.categories[i].bytes, model.category_peak[i]);
      }
      for (const Watched& w : watched) ASSERT_EQ(w.region.peak_bytes(), w.peak - w.begin);
    }
  }
}

TEST(Ledger, SumsOfManyThreadsAreRightAtRest) {
  const MemoryStats before = memory();
  std::array<std::vector<Tensor>, 4> left;
  on_threads(4, [&](int i) {
    Random random(static_cast<std::uint64_t>(i) + 1);
    std::vector<Tensor>& mine = left[static_cast<std::size_t>(i)];
    for (int step = 0; step < test::rounds(5000); ++step) {
      mine.push_back(room(random.below(step % 50 == 0 ? 200'000 : 500)));
      if (mine.size() > 20) mine.erase(mine.begin());
    }
  });
  std::int64_t bytes = 0;
  for (const auto& list : left) {
    for (const Tensor& tensor : list) bytes += static_cast<std::int64_t>(tensor.nbytes());
  }
  EXPECT_EQ(memory().bytes, before.bytes + bytes);
  EXPECT_EQ(memory().tensors, before.tensors + 80);
  // Freed by other threads than those that allocated.
  on_threads(4, [&](int i) { left[static_cast<std::size_t>((i + 1) % 4)].clear(); });
  const MemoryStats after = memory();
  EXPECT_EQ(after.bytes, before.bytes);
  EXPECT_EQ(after.tensors, before.tensors);
  EXPECT_EQ(after.storages, before.storages);
  EXPECT_EQ(after.allocations - before.allocations, after.frees - before.frees);
}

TEST(Ledger, PeakOfSeveralThreadsIsTheirSum) {
  const MemoryRegion region;
  std::barrier all_hold(3);
  on_threads(3, [&](int) {
    const Tensor mine = room(1'000'000);
    all_hold.arrive_and_wait();
  });
  EXPECT_EQ(region.peak_bytes(), 3'000'000);
  EXPECT_EQ(region.left_bytes(), 0);
}

TEST(Ledger, AThreadThatEndedIsNotSeenOnTopOfLaterLevels) {
  const MemoryRegion region;
  on_thread([] { const Tensor tensor = room(40'000); });
  EXPECT_EQ(region.peak_bytes(), 40'000);
  { const Tensor later = room(1'000'000); }
  EXPECT_EQ(region.peak_bytes(), 1'000'000);
  const MemoryRegion after;
  EXPECT_EQ(after.peak_bytes(), 0);
}

TEST(Ledger, TextAndErrors) {
  const CategoryScope category(Category::optimizer);
  const Tensor tensor = room(2048);
  const std::string text = to_string(memory());
  for (const char* part : {"tensors on", "live, peak", "allocations", "reserved", "optimizer"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << " is missing in\n" << text;
  }
  EXPECT_THROW(memory(Device{Device::Kind::cuda, 0}), ValueError);
  EXPECT_THROW(reset_peak(Device{Device::Kind::cuda, 0}), ValueError);
}

TEST(Units, Bytes) {
  EXPECT_EQ(format_bytes(0), "0 B");
  EXPECT_EQ(format_bytes(1023), "1023 B");
  EXPECT_EQ(format_bytes(-5), "-5 B");
  EXPECT_EQ(format_bytes(1536), "1.50 KiB");
  EXPECT_EQ(format_bytes(-2048), "-2.00 KiB");
  EXPECT_EQ(format_bytes(64 << 20), "64.00 MiB");
  EXPECT_EQ(format_bytes(std::int64_t{1} << 62), "4194304.00 TiB");
}

}  // namespace
}  // namespace tenure
