#include "tenure/graph/place/placement.h"

#include <gtest/gtest.h>

#include <random>

#include "tenure/graph/passes/rematerialize.h"
#include "tenure/planner/remat.h"
#include "tests/support/lowered_program.h"
#include "tests/support/sanitized.h"

namespace tenure::graph {
namespace {

using test::deep_program;
using test::lowered_program;

TEST(Placement, EveryUnitFindsWhatWasWrittenForIt) {
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    const auto lowered = lowered_program(seed, seed % 3 != 0);
    const auto problem = validate(*lowered, place(*lowered));
    ASSERT_FALSE(problem) << seed << ": " << *problem;
  }
}

TEST(Placement, ValidatorSeesWrongOnes) {
  std::mt19937 random(1);
  int mutated = 0;
  int refused = 0;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    const auto lowered = lowered_program(seed, seed % 2 != 0);
    Placement placement = place(*lowered);
    if (placement.order.size() < 2) continue;
    ++mutated;
    switch (random() % 3) {
      case 0:  // the last unit first
        std::rotate(placement.order.begin(), placement.order.end() - 1, placement.order.end());
        break;
      case 1:
        placement.order.pop_back();
        break;
      case 2: {  // the first result where the last one is
        const auto place_of = [&](int u) -> Place& {
          return placement.buffers[static_cast<std::size_t>(
              lowered->units[static_cast<std::size_t>(u)].out[0].buffer)];
        };
        place_of(placement.order.front()) = {.base = 0, .offset = placement.arena};
        break;
      }
    }
    refused += validate(*lowered, placement).has_value() ? 1 : 0;
  }
  EXPECT_GT(mutated, 50);
  // A unit that needs nothing of the others may well come first.
  EXPECT_GT(refused, mutated * 7 / 10);
}

/// Which units run, one after the other, some more than once, so that the budget holds.
auto rematerialized_steps(const Lowered& lowered, std::int64_t budget) {
  constexpr std::int64_t kSearch = 100'000;
  return planner::rematerialize(dag_of(lowered), budget, {.steps = kSearch}).steps;
}

TEST(Rematerialize, EveryCopyFindsWhatItReads) {
  int repeated = 0;
  const auto check = [&](const Lowered& lowered, double share) {
    const std::int64_t plain = peak_of(lowered, place(lowered));
    try {
      const auto budget = static_cast<std::int64_t>(share * static_cast<double>(plain));
      const auto made = repeat_units(lowered, rematerialized_steps(lowered, budget));
      const auto problem = validate(lowered, *made);
      ASSERT_FALSE(problem) << *problem;
      const auto misplaced = validate(*made, place_in_order(*made));
      ASSERT_FALSE(misplaced) << *misplaced;
      repeated += made->units.size() > lowered.units.size() ? 1 : 0;
    } catch (const planner::BudgetError&) {
    }
  };
  for (const int layers : {3, 6, 10}) {
    if (test::kSanitized && layers > 6) continue;
    const auto lowered = deep_program(layers);
    for (const double share : {1.0, 0.8, 0.6, 0.4}) check(*lowered, share);
  }
  EXPECT_GE(repeated, test::kSanitized ? 2 : 5);
  const auto programs = static_cast<std::uint64_t>(test::rounds(40));
  for (std::uint64_t seed = 0; seed < programs; ++seed) check(*lowered_program(seed, false), 0.8);
}

TEST(Rematerialize, ValidatorSeesWrongOnes) {
  const auto lowered = deep_program(6);
  const auto steps = rematerialized_steps(*lowered, peak_of(*lowered, place(*lowered)) * 6 / 10);
  const auto problem_of = [&](const auto& break_it) {
    const auto made = repeat_units(*lowered, steps);
    Lowered& broken = *made;
    EXPECT_GT(broken.units.size(), lowered->units.size());
    break_it(broken);
    return validate(*lowered, broken).value_or("none");
  };
  const auto has = [](const std::string& text, const char* part) {
    return text.find(part) != std::string::npos;
  };
  EXPECT_EQ(problem_of([](Lowered&) {}), "none");
  EXPECT_PRED2(has, problem_of([](Lowered& l) { l.units.erase(l.units.begin()); }), "find");
  EXPECT_PRED2(has, problem_of([](Lowered& l) { l.units.pop_back(); }), "unit");
  EXPECT_PRED2(has, problem_of([](Lowered& l) { std::swap(l.units[0], l.units[1]); }), "find");
  EXPECT_PRED2(has, problem_of([](Lowered& l) { l.units[3].origin = 99; }), "no unit");
  EXPECT_PRED2(has, problem_of([](Lowered& l) { l.units[3].origin = 0; }), "something else");
  EXPECT_PRED2(has, problem_of([](Lowered& l) { l.units[2].in[0].offset = 1; }), "another way");
  // A copy that writes where another result still waits for its reader.
  EXPECT_PRED2(has,
               problem_of([](Lowered& l) { l.units[1].out[0].buffer = l.units[0].out[0].buffer; }),
               "find");
}

}  // namespace
}  // namespace tenure::graph
