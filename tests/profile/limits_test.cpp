#include "tenure/profile/limits.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <thread>
#include <vector>

#include "tenure/memory/pool/pool.h"
#include "tenure/tenure.h"
#include "tests/profile/read_recording.h"
#include "tests/support/share.h"

// Budgets, refusals, pools and holders, told from recordings.

namespace tenure {
namespace {

using profile::PoolSample;
using profile::RefusalSeen;
using test::Recording;

Site here(Site site = Site::current()) { return site; }

TEST(Limits, ARefusalHasItsRequesterBudgetAndHolders) {
  Site line;
  const Recording r([&] {
    const Budget outer("process part", 1 * MiB);
    const Budget inner("request", 40 * KiB);
    const NameScope name("model");
    const Tensor kept = ones({8 * 1024});
    try {
      const Tensor more = zeros({4 * 1024}, float32, line = here());
    } catch (const OutOfMemory&) {
    }
  });
  ASSERT_EQ(r.history.refusals.size(), 1u);
  const RefusalSeen& refusal = r.history.refusals[0];
  EXPECT_EQ(refusal.cause, RefusalSeen::Cause::budget);
  EXPECT_EQ(refusal.requested, 16 * 1024);
  EXPECT_EQ(refusal.used, 32 * 1024);
  const profile::Origin& asked = r.recorded.origin(refusal.origin);
  EXPECT_EQ(asked.op, "zeros");
  EXPECT_EQ(asked.line, line.line());
  EXPECT_EQ(asked.scope, "model");
  ASSERT_NE(refusal.budget, 0u);
  EXPECT_EQ(r.history.budgets[refusal.budget - 1].name, "request");
  const auto holders = holders_at(r.history, refusal);
  ASSERT_EQ(holders.size(), 1u);
  EXPECT_EQ(r.recorded.origin(holders[0].origin).op, "ones");
  EXPECT_EQ(holders[0].bytes, 32 * 1024);
}

TEST(Limits, AnInjectedFaultAndTheSystemRefuseToo) {
  const Recording r([] {
    const FaultInjection fault(1);
    EXPECT_THROW(ones({100}), OutOfMemory);
    EXPECT_THROW(ones({std::int64_t{1} << 44}), OutOfMemory);
  });
  ASSERT_EQ(r.history.refusals.size(), 2u);
  EXPECT_EQ(r.history.refusals[0].cause, RefusalSeen::Cause::injected);
  EXPECT_EQ(r.history.refusals[1].cause, RefusalSeen::Cause::system);
  EXPECT_EQ(r.history.refusals[1].requested, std::int64_t{1} << 46);
  for (const RefusalSeen& refusal : r.history.refusals) {
    EXPECT_EQ(r.recorded.origin(refusal.origin).op, "ones");
    EXPECT_EQ(refusal.budget, 0u);
  }
}

/// Random nested budgets on two threads: what is charged to each is as it says itself.
TEST(Limits, WhatIsChargedIsExact) {
  for (unsigned seed = 0; seed < 10; ++seed) {
    std::vector<std::pair<std::string, std::size_t>> peaks;
    std::size_t refused = 0;
    const Recording r([&] {
      std::mt19937 random(seed);
      const auto work = [&](std::mt19937& dice, const std::string& name, int depth,
                            const auto& again) -> void {
        const Budget budget(name, (64 + dice() % 64) * KiB);
        std::vector<Tensor> kept;
        for (int i = 0; i < 20; ++i) {
          try {
            kept.push_back(ones({static_cast<std::int64_t>(1 + dice() % 4000)}));
          } catch (const OutOfMemory&) {
            ++refused;
            kept.clear();
          }
          if (dice() % 5 == 0 && !kept.empty()) kept.erase(kept.begin());
          if (depth < 2 && dice() % 8 == 0) {
            again(dice, name + "/" + std::to_string(i), depth + 1, again);
          }
        }
        peaks.emplace_back(name, budget.peak());
      };
      work(random, "a", 0, work);
      std::thread([&] { work(random, "b", 0, work); }).join();
    });
    EXPECT_EQ(r.history.refusals.size(), refused) << "seed " << seed;
    ASSERT_EQ(r.history.budgets.size(), peaks.size());
    for (const profile::BudgetUse& use : budget_uses(r.history)) {
      const profile::BudgetSeen& budget = r.history.budgets[use.number - 1];
      const auto told = std::find_if(peaks.begin(), peaks.end(),
                                     [&](const auto& each) { return each.first == budget.name; });
      ASSERT_NE(told, peaks.end());
      EXPECT_EQ(use.peak, static_cast<std::int64_t>(told->second))
          << "seed " << seed << ", budget " << budget.name;
      EXPECT_LE(use.peak, budget.limit);
      EXPECT_NE(budget.end_ns, profile::kNever);
    }
  }
}

TEST(Limits, BudgetsThatAreAlikeAreOne) {
  const Recording r([] {
    for (int i = 1; i <= 5; ++i) {
      const Budget budget("request", 64 * KiB);
      const Tensor x = test::room(i * 1000);
      const Budget other("other", 64 * KiB);
      EXPECT_THROW(test::room(128 * 1024), OutOfMemory);
    }
    const Budget wide("request", 1 * MiB);
    const Budget::Options plain{};
    const Budget first("side by side", 64 * KiB, plain);
    const Tensor x = test::room(2000);
  });
  const std::vector<profile::BudgetGroup> groups = budget_groups(r.history);
  ASSERT_EQ(groups.size(), 4u);
  const auto of = [&](std::int64_t limit, const std::string& name) {
    return *std::find_if(groups.begin(), groups.end(), [&](const profile::BudgetGroup& each) {
      const profile::BudgetSeen& budget = r.history.budgets[each.numbers.front() - 1];
      return budget.limit == limit && budget.name == name;
    });
  };
  const profile::BudgetGroup requests = of(64 * KiB, "request");
  EXPECT_EQ(requests.numbers.size(), 5u);
  EXPECT_EQ(requests.most.peak, 5000);
  EXPECT_EQ(of(64 * KiB, "other").refusals, 5);
  EXPECT_EQ(groups[0].refusals, 5) << "those that refused come first";
  // On one axis: what the fullest has.
  std::int64_t highest = 0;
  for (const profile::Charged& each : charged_to(r.history, requests.numbers)) {
    highest = std::max(highest, each.bytes);
  }
  EXPECT_EQ(highest, 5000);
  EXPECT_EQ(charged_to(r.history, requests.numbers).back().bytes, 0);
}

TEST(Limits, TheProcessBudgetCountsAll) {
  const Recording r([] {
    const Tensor before = ones({1000});
    set_process_budget(static_cast<std::size_t>(memory().bytes) + 64 * KiB);
    const Tensor x = ones({1024});
    EXPECT_THROW(ones({1024 * 1024}), OutOfMemory);
    set_process_budget(kNoLimit);
  });
  ASSERT_EQ(r.history.budgets.size(), 1u);
  const profile::BudgetSeen& budget = r.history.budgets[0];
  EXPECT_TRUE(budget.is_of_process);
  EXPECT_EQ(budget.limits.size(), 2u);
  ASSERT_EQ(r.history.refusals.size(), 1u);
  EXPECT_EQ(r.history.refusals[0].budget, 1u);
  const auto levels = charged_to(r.history, 1);
  ASSERT_FALSE(levels.empty());
  const auto at = std::find_if(levels.rbegin(), levels.rend(), [&](const profile::Charged& level) {
    return level.time_ns <= r.history.refusals[0].time_ns;
  });
  EXPECT_EQ(at->bytes, r.history.refusals[0].used);
}

/// A random program of large and small storages on two threads: at every moment the pool has what
/// is live and what it says itself.
TEST(Limits, ThePoolsLineIsExact) {
  for (unsigned seed = 0; seed < 8; ++seed) {
    struct Seen {
      std::size_t reserved;
      double fragmentation;
    };
    std::vector<Seen> seen;  // at the marks
    trim();
    const Recording r([&] {
      std::mt19937 random(100 + seed);
      std::vector<Tensor> kept;
      const auto work = [&] {
        for (int i = 0; i < 60; ++i) {
          const auto n = static_cast<std::int64_t>(random() % 4 == 0 ? 1 + random() % 3'000'000
                                                                     : 1 + random() % 3000);
          kept.push_back(ones({n}));
          if (random() % 3 != 0 && !kept.empty()) {
            kept.erase(kept.begin() + static_cast<std::ptrdiff_t>(random() % kept.size()));
          }
          if (random() % 20 == 0) trim();
          const mem::PoolStats stats = mem::pool_stats(cpu);
          seen.push_back({stats.reserved, stats.fragmentation});
          mark_step();
        }
      };
      work();
      std::thread(work).join();
    });
    ASSERT_EQ(r.history.steps.size(), seen.size());
    // Every change is a sample if there are more parts than that.
    const std::vector<PoolSample> levels = pool_levels(r.history, cpu, 1'000'000);
    ASSERT_FALSE(levels.empty());
    for (std::size_t i = 0; i < seen.size(); ++i) {
      const std::int64_t time = r.history.steps[i].time_ns;
      const auto after =
          std::upper_bound(levels.begin(), levels.end(), time,
                           [](std::int64_t t, const PoolSample& one) { return t < one.time_ns; });
      ASSERT_NE(after, levels.begin());
      EXPECT_EQ((after - 1)->reserved, static_cast<std::int64_t>(seen[i].reserved))
          << "seed " << seed << ", mark " << i;
      EXPECT_NEAR((after - 1)->fragmentation, seen[i].fragmentation, 1e-9)
          << "seed " << seed << ", mark " << i;
    }
    for (const PoolSample& sample : levels) {
      std::int64_t live = 0;
      for (const profile::StorageLife& life : r.history.storages) {
        if (life.birth_ns <= sample.time_ns && life.death_ns > sample.time_ns) live += life.bytes;
      }
      EXPECT_GE(sample.reserved, live);
    }
    std::int64_t full = 0;
    const std::int64_t at = peak(r.history).time_ns;
    for (const profile::SegmentUse& use : segments_at(r.history, cpu, at)) {
      EXPECT_LE(use.used, use.segment->bytes);
      EXPECT_LE(use.small, use.slabs);
      full += use.used;
    }
    EXPECT_GE(full, peak(r.history).bytes - r.history.base_bytes);
  }
}

TEST(Limits, SharersOfAStorageAreToldWithTheirTimes) {
  const Recording r([] {
    const Tensor base = ones({64});
    const Tensor view = slice(base, 0, 0, 8);
    base.dispose();
    const Tensor other = reshape(view, {2, 4});
    mark_step("all");
  });
  ASSERT_EQ(r.history.steps.size(), 1u);
  const std::int64_t at = r.history.steps[0].time_ns;
  std::vector<std::string> holders;
  for (const profile::TensorLife& tensor : r.history.tensors) {
    if (tensor.holds_at(at)) holders.emplace_back(r.recorded.origin(tensor.origin).op);
  }
  EXPECT_EQ(holders, (std::vector<std::string>{"slice", "reshape"}));
  EXPECT_EQ(r.history.tensors[0].storage, r.history.tensors[2].storage);
  EXPECT_TRUE(r.history.tensors[0].was_disposed);
}

}  // namespace
}  // namespace tenure
