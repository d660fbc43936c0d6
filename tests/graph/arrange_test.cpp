#include "tenure/graph/place/arrange.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <functional>
#include <limits>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "tenure/graph/passes/rematerialize.h"
#include "tenure/graph/place/bound.h"
#include "tenure/graph/place/ladder.h"
#include "tenure/graph/place/ladder_cache.h"
#include "tenure/planner/remat.h"
#include "tenure/tenure.h"
#include "tests/support/lowered_program.h"
#include "tests/support/share.h"
#include "tests/support/threads.h"

namespace tenure::graph {
namespace {

using test::deep_program;
using test::lower_ops;
using test::lowered_program;

/// One program, as often as it is wanted.
using Make = std::function<std::unique_ptr<Lowered>(const CompileOptions&)>;

std::int64_t input_bytes(const Lowered& lowered) {
  std::int64_t bytes = 0;
  for (const ops::Spec& spec : lowered.inputs) {
    bytes += count(spec.shape) * static_cast<std::int64_t>(size_of(spec.dtype));
  }
  return bytes;
}

struct Outcome {
  bool is_held = false;
  std::int64_t peak = 0;  ///< with the inputs
  double recomputed = 0;
  std::int64_t least = 0;
  std::int64_t bound = 0;
  std::vector<Place> places{};
};

Outcome outcome_of(const Make& make, const CompileOptions& options) {
  const auto original = make(options);
  try {
    const Arranged made = arrange(make(options), 0);
    const auto misplaced = validate(*made.lowered, made.placement);
    EXPECT_FALSE(misplaced) << *misplaced;
    if (made.recomputed > 0) {
      const auto wrong = validate(*original, *made.lowered);
      EXPECT_FALSE(wrong) << *wrong;
    }
    return {.is_held = true,
            .peak = peak_of(*made.lowered, made.placement) + input_bytes(*original),
            .recomputed = made.recomputed,
            .places = made.placement.buffers};
  } catch (const planner::BudgetError& error) {
    EXPECT_EQ(error.budget(), options.budget);
    return {.least = error.least(), .bound = error.bound()};
  }
}

struct Reach {
  std::int64_t plain = 0;  ///< what it takes without a budget
  std::int64_t least = 0;
  std::int64_t bound = 0;
};

/// Holds a program to all that arrange.h promises.
Reach check_promises(const Make& make, int effort = 1) {
  const auto with = [&](std::int64_t budget) {
    return outcome_of(make, {.budget = budget, .effort = effort});
  };
  const Outcome plain = outcome_of(make, {});
  const Outcome none = with(-1);
  EXPECT_FALSE(none.is_held);
  EXPECT_LE(none.bound, none.least);
  EXPECT_LE(none.least, plain.peak);
  const std::int64_t room = plain.peak - none.least;
  const std::int64_t gap = none.least - none.bound;
  double recomputed = std::numeric_limits<double>::infinity();
  for (const std::int64_t budget :
       {none.bound - 1, none.bound, none.bound + gap / 2, none.least - 1, none.least,
        none.least + room / 5, none.least + room / 2, none.least + room * 4 / 5, plain.peak,
        plain.peak + 4096}) {
    const Outcome outcome = with(budget);
    EXPECT_EQ(outcome.is_held, budget >= none.least) << budget << " of " << none.least;
    if (!outcome.is_held) {
      EXPECT_EQ(outcome.least, none.least);
      EXPECT_EQ(outcome.bound, none.bound);
      continue;
    }
    EXPECT_LE(outcome.peak, budget);
    EXPECT_LE(outcome.recomputed, budget >= plain.peak ? 0 : recomputed) << budget;
    recomputed = outcome.recomputed;
  }
  return {.plain = plain.peak, .least = none.least, .bound = none.bound};
}

/// Values of many sizes, of which most are read a second time, the last ones first, as gradients
/// do.
std::unique_ptr<Lowered> there_and_back(std::uint64_t seed, const CompileOptions& options) {
  std::mt19937_64 random(seed);
  const auto draw = [&](std::size_t n) { return random() % n; };
  const std::int64_t rows = 1 + static_cast<std::int64_t>(draw(20));
  std::vector<ops::Spec> specs{{DType::float32, {rows, 1 + static_cast<std::int64_t>(draw(50))}}};
  const std::size_t steps = 4 + draw(14);
  for (std::size_t i = 0; i < 3; ++i) {
    specs.push_back({DType::float32, {1, 1 + static_cast<std::int64_t>(draw(70))}});
  }
  const auto ops = [&](const std::vector<Tensor>& in) {
    std::vector<Tensor> values{in[0]};
    for (std::size_t i = 0; i < steps; ++i) {
      const Tensor& a = values[values.size() - 1 - draw(std::min<std::size_t>(values.size(), 3))];
      switch (draw(6)) {
        case 0:
          values.push_back(softmax(a, -1));
          break;
        case 1:
          values.push_back(sum(a, {1}, true) * in[1 + draw(3)]);
          break;
        case 2:
          values.push_back(cumsum(a, 0));
          break;
        case 3:
          values.push_back(matmul(a, transpose(a, 0, 1)));
          break;
        case 4:
          values.push_back(concat({a, values[draw(values.size())]}, 1));
          break;
        default:
          values.push_back(tanh(a) * 2);
      }
    }
    Tensor total = sum(values.back());
    std::vector<Tensor> results;
    for (std::size_t i = values.size() - 1; i-- > 0;) {
      if (draw(5) == 0) continue;
      const Tensor mixed = cumsum(values[i] * total, 1);
      if (draw(8) == 0) results.push_back(mixed);
      total = sum(mixed) + total;
    }
    results.push_back(total);
    return results;
  };
  return lower_ops(specs, ops, {}, options);
}

TEST(Arrange, HoldsOrRefusesWithWhatSuffices) {
  const auto check = [](std::uint64_t programs, const auto& make) {
    struct {
      int lowered = 0;
      int exact = 0;
    } found;
    for (std::uint64_t seed = 0; seed < programs; ++seed) {
      SCOPED_TRACE("program " + std::to_string(seed));
      const Reach reach =
          check_promises([&](const CompileOptions& options) { return make(seed, options); });
      found.lowered += reach.least < reach.plain ? 1 : 0;
      found.exact += reach.least == reach.bound ? 1 : 0;
      if (HasFailure()) break;
    }
    return found;
  };
  const int programs = test::rounds(1500);
  const auto any = check(static_cast<std::uint64_t>(programs),
                         [](std::uint64_t seed, const CompileOptions& options) {
                           return lowered_program(seed, seed % 3 == 0, options);
                         });
  EXPECT_GT(any.lowered, test::kSanitized ? 0 : 20);
  EXPECT_GT(any.exact, programs / 4);  // the bound says something
  const int ways = test::rounds(40);
  const auto back = check(static_cast<std::uint64_t>(ways), there_and_back);
  EXPECT_GT(back.lowered, test::kSanitized ? 0 : 15);  // there is something to compute again
}

TEST(Arrange, HoldsDeepProgramsToo) {
  for (const int layers : {3, 5, 9, 16}) {
    if (test::kSanitized && layers > 9) continue;
    SCOPED_TRACE(layers);
    const Reach reach = check_promises(
        [&](const CompileOptions& options) { return deep_program(layers, options); });
    EXPECT_LE(reach.least, layers > 8 ? reach.plain * 3 / 4 : reach.plain);
  }
}

TEST(Arrange, PlansWhatNoMachineHolds) {
  for (const std::int64_t size : {100'000, 1'000'000, 100'000'000}) {
    SCOPED_TRACE(size);
    const auto ops = [](const std::vector<Tensor>& in) {
      const Tensor a = matmul(in[0], in[0]);
      const Tensor b = matmul(a, in[0]);
      const Tensor c = matmul(b, in[0]);
      return std::vector<Tensor>{sum(matmul(c, b) * matmul(in[0], a))};
    };
    const Reach reach = check_promises([&](const CompileOptions& options) {
      return lower_ops({{DType::float32, {size, size}}}, ops, {}, options);
    });
    EXPECT_LT(reach.least, reach.plain);
  }
}

TEST(Arrange, RefusesBudgetsBelowNothing) {
  const Make make = [](const CompileOptions& options) { return deep_program(3, options); };
  const Outcome none = outcome_of(make, {.budget = 0});
  for (const std::int64_t budget :
       {std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::min() + 1,
        std::int64_t{-1}}) {
    const Outcome outcome = outcome_of(make, {.budget = budget});
    EXPECT_FALSE(outcome.is_held);
    EXPECT_EQ(outcome.least, none.least);
    EXPECT_EQ(outcome.bound, none.bound);
  }
  EXPECT_TRUE(outcome_of(make, {.budget = std::numeric_limits<std::int64_t>::max()}).is_held);
}

TEST(Arrange, BoundIsExactForOneStep) {
  const Make twice = [](const CompileOptions& options) {
    return lower_ops(
        {{DType::float32, {4}}}, [](const auto& in) { return std::vector<Tensor>{in[0] * 2}; }, {},
        options);
  };
  const Reach reach = check_promises(twice);
  EXPECT_EQ(reach.least, 32);
  EXPECT_EQ(reach.bound, 32);
  // In the memory of a donated input nothing is added.
  const auto donated = lower_ops({{DType::float32, {4}}},
                                 [](const auto& in) { return std::vector<Tensor>{in[0] * 2}; },
                                 {true}, {.budget = 16});
  EXPECT_EQ(least_conceivable(*donated), 0);
  // A result may lie where an operand was.
  const auto product = lower_ops({{DType::float32, {8, 8}}}, [](const auto& in) {
    return std::vector<Tensor>{sum(tanh(matmul(in[0], in[0]))), matmul(in[0], in[0] + 1)};
  });
  EXPECT_GE(least_conceivable(*product), 256 + 4 + 256);
}

/// Sorting, convolutions and attention take room for each thread.
std::vector<Make> threaded_programs() {
  std::vector<Make> all;
  const auto add = [&](std::vector<ops::Spec> specs, test::TracedOps ops) {
    all.emplace_back(
        [=](const CompileOptions& options) { return lower_ops(specs, ops, {}, options); });
  };
  add({{DType::float32, {2, 12, 12, 3}}, {DType::float32, {3, 3, 3, 8}}},
      [](const std::vector<Tensor>& in) {
        const Tensor y = conv2d(in[0], in[1]);
        const Tensor z = tanh(y) * relu(y);
        return std::vector<Tensor>{sum(conv2d(in[0] * 2, in[1] * sum(z)) * z)};
      });
  add({{DType::float32, {40, 60}}}, [](const std::vector<Tensor>& in) {
    const Tensor a = sort(in[0] * 2);
    const Tensor b = sort(tanh(a), 0);
    return std::vector<Tensor>{matmul(a, transpose(b, 0, 1)), sum(b * a)};
  });
  add({{DType::float32, {2, 4, 24, 8}}}, [](const std::vector<Tensor>& in) {
    const Tensor a = attention(in[0], in[0] * 2, in[0]);
    return std::vector<Tensor>{sum(attention(a, tanh(a), in[0]) * a)};
  });
  return all;
}

TEST(Arrange, TheNumberOfThreadsDoesNotChangeWhatFits) {
  const test::Threads restore;
  for (const Make& make : threaded_programs()) {
    std::optional<Reach> first;
    for (const int threads : {1, 2, 3, 4, 8, 16}) {
      SCOPED_TRACE(threads);
      set_num_threads(threads);
      const Reach reach = check_promises(make);
      if (!first) first = reach;
      EXPECT_EQ(reach.least, first->least);
      EXPECT_EQ(reach.bound, first->bound);
      EXPECT_GE(reach.plain, first->plain);
    }
  }
}

TEST(Arrange, MoreEffortIsNeverWorse) {
  for (const int layers : {3, 7}) {
    const Make make = [&](const CompileOptions& options) { return deep_program(layers, options); };
    const Reach little = check_promises(make, 1);
    const Reach much = check_promises(make, 4);
    EXPECT_LE(much.least, little.least);
    EXPECT_EQ(much.bound, little.bound);
    for (int i = 0; i <= 10; ++i) {
      const std::int64_t budget = little.least + (little.plain - little.least) * i / 10;
      EXPECT_LE(outcome_of(make, {.budget = budget, .effort = 4}).recomputed,
                outcome_of(make, {.budget = budget}).recomputed);
    }
  }
}

TEST(Arrange, AShareOfTimeAndABudgetAreOneSearch) {
  for (const int layers : {5, 12}) {
    const Make make = [&](const CompileOptions& options) { return deep_program(layers, options); };
    std::int64_t peak = outcome_of(make, {}).peak;
    for (const double share : {0.05, 0.2, 0.5, 1.0, 1000.0}) {
      const Outcome cheap = outcome_of(make, {.recompute = share});
      EXPECT_LE(cheap.recomputed, share);
      EXPECT_LE(cheap.peak, peak);
      peak = cheap.peak;
      const Outcome held = outcome_of(make, {.budget = cheap.peak});
      ASSERT_TRUE(held.is_held);
      EXPECT_LE(held.recomputed, cheap.recomputed);
    }
    EXPECT_FALSE(outcome_of(make, {.budget = peak - 1}).is_held);
  }
}

TEST(Arrange, SearchesOncePerProgram) {
  const Make make = [&](const CompileOptions& options) { return deep_program(11, options); };
  const std::int64_t before = ladders_made();
  const Outcome none = outcome_of(make, {.budget = 0});
  for (const std::int64_t more : {0, 1000, 20000}) {
    EXPECT_TRUE(outcome_of(make, {.budget = none.least + more}).is_held);
  }
  static_cast<void>(outcome_of(make, {.recompute = 0.3}));
  EXPECT_EQ(ladders_made(), before + 1);
}

TEST(Arrange, ChildrenOfForkPlanToo) {
  if (test::kSanitized) GTEST_SKIP() << "a child may hang on the sanitizer's own locks";
  std::vector<std::unique_ptr<Lowered>> programs;
  for (const int layers : {3, 4, 5, 6}) programs.push_back(deep_program(layers));
  std::atomic<bool> stop{false};
  std::vector<std::thread> planning;
  for (int i = 0; i < 3; ++i) {
    planning.emplace_back([&] {
      for (std::size_t k = 0; !stop; ++k) ladder_of(*programs[k % programs.size()], 1);
    });
  }
  int hung = 0;
  for (int i = 0; i < 200 && hung == 0; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      alarm(20);
      ladder_of(*programs.front(), 1);
      _exit(0);
    }
    int status = -1;
    if (child < 0 || waitpid(child, &status, 0) != child || status != 0) ++hung;
  }
  stop = true;
  for (std::thread& thread : planning) thread.join();
  EXPECT_EQ(hung, 0);
}

}  // namespace
}  // namespace tenure::graph
