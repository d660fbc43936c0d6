#include "tenure/memory/pool/chunk_heap.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <random>
#include <utility>
#include <vector>

#include "tenure/base/units.h"
#include "tests/support/share.h"

namespace tenure::mem {
namespace {

using test::Random;

std::uintptr_t begin_of(const Chunk* chunk) {
  return reinterpret_cast<std::uintptr_t>(ChunkHeap::address(chunk));
}

TEST(ChunkHeap, RoundsToPagesAndAligns) {
  ChunkHeap heap(system_source());
  for (const std::size_t bytes : {0ul, 1ul, 4095ul, 4096ul, 4097ul, 8 * MiB, 8 * MiB + 1}) {
    Chunk* const chunk = heap.allocate(bytes);
    ASSERT_NE(chunk, nullptr);
    EXPECT_GE(ChunkHeap::bytes(chunk), bytes);
    EXPECT_LT(ChunkHeap::bytes(chunk), bytes + 4097);
    EXPECT_EQ(begin_of(chunk) % system_source().granularity(), 0u);
    std::memset(ChunkHeap::address(chunk), 1, ChunkHeap::bytes(chunk));
    heap.free(chunk);
  }
}

TEST(ChunkHeap, SplitsAndMergesInEveryOrder) {
  for (int order = 0; order < 6; ++order) {
    ChunkHeap heap(system_source());
    std::vector<Chunk*> chunks;
    for (int i = 0; i < 3; ++i) chunks.push_back(heap.allocate(1 * MiB));
    const std::uintptr_t first = begin_of(chunks[0]);
    EXPECT_EQ(begin_of(chunks[1]), first + 1 * MiB);
    EXPECT_EQ(begin_of(chunks[2]), first + 2 * MiB);
    const int a = order / 2;
    const int b = (a + 1 + order % 2) % 3;
    for (const int i : {a, b, 3 - a - b}) heap.free(chunks[static_cast<std::size_t>(i)]);
    const ChunkHeap::Stats stats = heap.stats();
    EXPECT_EQ(stats.mapped, 8 * MiB);
    EXPECT_EQ(stats.free, 8 * MiB) << "order " << order;
    EXPECT_EQ(stats.largest_free, 8 * MiB) << "neighbours were not merged";
    Chunk* const whole = heap.allocate(8 * MiB);
    EXPECT_EQ(begin_of(whole), first);
    heap.free(whole);
  }
}

TEST(ChunkHeap, TakesTheBestFit) {
  ChunkHeap heap(system_source());
  std::vector<Chunk*> holes;
  std::vector<Chunk*> walls;
  for (const std::size_t size : {3 * MiB, 1 * MiB, 2 * MiB}) {
    holes.push_back(heap.allocate(size));
    walls.push_back(heap.allocate(64 * KiB));
  }
  const std::uintptr_t one = begin_of(holes[1]);
  const std::uintptr_t two = begin_of(holes[2]);
  for (Chunk* hole : holes) heap.free(hole);
  Chunk* const a = heap.allocate(1 * MiB - 5000);
  Chunk* const b = heap.allocate(1900 * KiB);  // the segment's rest is smaller
  EXPECT_EQ(begin_of(a), one);
  EXPECT_EQ(begin_of(b), two);
  for (Chunk* chunk : {a, b, walls[0], walls[1], walls[2]}) heap.free(chunk);
  EXPECT_EQ(heap.stats().largest_free, heap.stats().mapped);
}

TEST(ChunkHeap, CountsWhatIsResidentAndDoesNotDrift) {
  ChunkHeap heap(system_source());
  for (int i = 0; i < 100; ++i) {
    Chunk* const chunk = heap.allocate(64 * KiB);
    EXPECT_EQ(heap.stats().cached, 0u) << "round " << i;
    heap.free(chunk);
    EXPECT_EQ(heap.stats().cached, 64 * KiB) << "round " << i;
  }
}

TEST(ChunkHeap, TrimUnmapsWholeSegmentsAndDropsPagesOfOthers) {
  ChunkHeap heap(system_source());
  Chunk* const alone = heap.allocate(8 * MiB);
  Chunk* const part = heap.allocate(4 * MiB);
  Chunk* const rest = heap.allocate(4 * MiB);
  EXPECT_EQ(heap.stats().mapped, 16 * MiB);
  std::memset(ChunkHeap::address(part), 7, 4 * MiB);
  std::memset(ChunkHeap::address(rest), 7, 4 * MiB);
  heap.free(alone);
  heap.free(part);
  EXPECT_EQ(heap.stats().cached, 12 * MiB);
  heap.trim(0);
  EXPECT_EQ(heap.stats().mapped, 8 * MiB);
  EXPECT_EQ(heap.stats().cached, 0u);
  EXPECT_EQ(heap.stats().free, 4 * MiB);
  EXPECT_EQ(static_cast<char*>(ChunkHeap::address(rest))[0], 7) << "memory in use was dropped";
  heap.free(rest);
  heap.trim(0);
  EXPECT_EQ(heap.stats().mapped, 0u);
  EXPECT_EQ(heap.stats().free, 0u);
}

TEST(ChunkHeap, KeepsToItsCacheLimit) {
  ChunkHeap heap(system_source());
  heap.set_cache_limit(10 * MiB);
  std::vector<Chunk*> chunks;
  for (int i = 0; i < 5; ++i) chunks.push_back(heap.allocate(8 * MiB));
  for (Chunk* chunk : chunks) {
    heap.free(chunk);
    EXPECT_LE(heap.stats().cached, 10 * MiB);
  }
  EXPECT_GT(heap.stats().cached, 0u) << "it should keep something";
  heap.set_cache_limit(0);
  EXPECT_EQ(heap.stats().cached, 0u);
  heap.free(heap.allocate(100));
  EXPECT_EQ(heap.stats().cached, 0u);
  EXPECT_EQ(heap.cache_limit(), 0u);
}

TEST(ChunkHeap, RefusesTheAbsurd) {
  ChunkHeap heap(system_source());
  Chunk* const before = heap.allocate(1 * MiB);
  for (const int bits : {48, 57, 62, 63}) {
    EXPECT_EQ(heap.allocate(std::size_t{1} << bits), nullptr) << bits;
  }
  EXPECT_EQ(heap.allocate(static_cast<std::size_t>(-1)), nullptr);
  EXPECT_EQ(heap.stats().mapped, 8 * MiB);
  EXPECT_EQ(heap.stats().free, 7 * MiB);
  heap.free(before);
}

/// As a device's, whose small blocks are chunks: it is never touched.
class Addresses final : public Source {
 public:
  void* map(std::size_t bytes) noexcept override {
    if (mapped_ + bytes > kMost) return nullptr;
    mapped_ += bytes;
    return std::exchange(next_, next_ + bytes);
  }
  void unmap(void* /*begin*/, std::size_t bytes) noexcept override { mapped_ -= bytes; }
  std::size_t mapped() const { return mapped_; }

 private:
  static constexpr std::size_t kMost = 24 * MiB;
  std::byte* next_ = reinterpret_cast<std::byte*>(std::size_t{1} << 40);
  std::size_t mapped_ = 0;
};

std::size_t total_of(const std::vector<Chunk*>& chunks) {
  std::size_t bytes = 0;
  for (const Chunk* const chunk : chunks) bytes += ChunkHeap::bytes(chunk);
  return bytes;
}

/// A small chunk that was freed is there for the next of its size, and counts as free.
TEST(ChunkHeap, HasSmallChunksAtHand) {
  Addresses source;
  ChunkHeap heap(source);
  std::vector<Chunk*> chunks;
  for (int i = 0; i < 100; ++i) chunks.push_back(heap.allocate(4096));
  for (const int i : {50, 20, 80}) {
    Chunk* const chunk = chunks[static_cast<std::size_t>(i)];
    const std::uintptr_t begin = begin_of(chunk);
    heap.free(chunk);
    Chunk* const again = heap.allocate(4000);
    EXPECT_EQ(begin_of(again), begin);
    chunks[static_cast<std::size_t>(i)] = again;
  }
  heap.free(chunks.back());
  chunks.pop_back();
  const ChunkHeap::Stats stats = heap.stats();
  EXPECT_EQ(stats.free, 8 * MiB - total_of(chunks));
  EXPECT_EQ(stats.cached, 4096u) << "the rest was never used";
  for (Chunk* const chunk : chunks) heap.free(chunk);
}

/// What lies at hand is no reason to ask for more memory, and goes back with the rest.
TEST(ChunkHeap, MergesSmallChunksBeforeItAsksForMore) {
  Addresses source;
  ChunkHeap heap(source);
  for (const std::size_t small : {512ul, 4096ul, 32 * KiB, 40 * KiB}) {
    std::vector<Chunk*> chunks;
    while (total_of(chunks) + small <= 8 * MiB) chunks.push_back(heap.allocate(small));
    EXPECT_EQ(source.mapped(), 8 * MiB);
    for (Chunk* const chunk : chunks) heap.free(chunk);
    Chunk* const whole = heap.allocate(8 * MiB);
    EXPECT_EQ(source.mapped(), 8 * MiB) << small;
    heap.free(whole);
    for (Chunk*& chunk : chunks) chunk = heap.allocate(small);
    for (Chunk* const chunk : chunks) heap.free(chunk);
    heap.trim(0);
    EXPECT_EQ(source.mapped(), 0u) << small;
  }
}

/// A source that has no more refuses when all of it is in use, not sooner.
TEST(ChunkHeap, HasAllOfItsSourceInAnyOrder) {
  Addresses source;
  ChunkHeap heap(source);
  Random random(11);
  for (int round = 0; round < 20; ++round) {
    std::vector<Chunk*> chunks;
    while (Chunk* const chunk =
               heap.allocate(static_cast<std::size_t>(random.below(random.below(60'000) + 1)))) {
      chunks.push_back(chunk);
    }
    EXPECT_GT(total_of(chunks), 23 * MiB);
    std::shuffle(chunks.begin(), chunks.end(), std::mt19937(static_cast<unsigned>(round)));
    for (Chunk* const chunk : chunks) heap.free(chunk);
    for (int i = 0; i < 3; ++i) {
      Chunk* const whole = heap.allocate(8 * MiB);
      ASSERT_NE(whole, nullptr) << "round " << round;
      chunks[static_cast<std::size_t>(i)] = whole;
    }
    for (int i = 0; i < 3; ++i) heap.free(chunks[static_cast<std::size_t>(i)]);
  }
}

TEST(ChunkHeap, KeepsSmallChunksToItsCacheLimit) {
  Addresses source;
  ChunkHeap heap(source);
  heap.free(heap.allocate(4096));
  EXPECT_EQ(heap.stats().cached, 4096u);
  heap.set_cache_limit(0);
  EXPECT_EQ(source.mapped(), 0u);
  heap.free(heap.allocate(4096));
  EXPECT_EQ(source.mapped(), 0u);
}

// After pytorch's test_allocator_fuzz and xla's BFC stress test: blocks never overlap, keep their
// contents, and all memory is there again in one piece at the end.
TEST(ChunkHeap, SurvivesRandomUse) {
  ChunkHeap heap(system_source());
  Random random(7);
  std::map<std::uintptr_t, Chunk*> live;
  for (int i = 0; i < test::rounds(20000); ++i) {
    if (live.size() < 60 && random.below(2) == 0) {
      const auto bytes =
          static_cast<std::size_t>(random.below(random.below(10) == 0 ? 20'000'000 : 300'000));
      Chunk* const chunk = heap.allocate(bytes);
      ASSERT_NE(chunk, nullptr);
      const auto [it, added] = live.emplace(begin_of(chunk), chunk);
      ASSERT_TRUE(added);
      if (const auto next = std::next(it); next != live.end()) {
        ASSERT_LE(it->first + ChunkHeap::bytes(chunk), next->first);
      }
      if (it != live.begin()) {
        const auto previous = std::prev(it);
        ASSERT_LE(previous->first + ChunkHeap::bytes(previous->second), it->first);
      }
      std::memcpy(ChunkHeap::address(chunk), &it->first, sizeof it->first);
    } else if (!live.empty()) {
      const auto it = std::next(live.begin(), random.below(static_cast<std::int64_t>(live.size())));
      ASSERT_EQ(std::memcmp(ChunkHeap::address(it->second), &it->first, sizeof it->first), 0);
      heap.free(it->second);
      live.erase(it);
    }
    if (random.below(500) == 0) heap.trim(static_cast<std::size_t>(random.below(50'000'000)));
    const ChunkHeap::Stats stats = heap.stats();
    std::size_t used = 0;
    for (const auto& [begin, chunk] : live) used += ChunkHeap::bytes(chunk);
    ASSERT_EQ(stats.mapped, stats.free + used);
    ASSERT_LE(stats.cached, stats.free);
    ASSERT_LE(stats.largest_free, stats.free);
  }
  for (const auto& [begin, chunk] : live) heap.free(chunk);
  heap.trim(0);
  EXPECT_EQ(heap.stats().mapped, 0u);
}

}  // namespace
}  // namespace tenure::mem
