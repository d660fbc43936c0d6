#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include "tenure/tenure.h"
#include "tests/support/sanitized.h"
#include "tests/support/share.h"

// Random eager programs with tapes within budgets that evict: the same bits and never more than the
// budget, or a refusal after which all that there is can be used.

namespace tenure {
namespace {

using Numbers = std::vector<float>;

constexpr std::int64_t kSide = 96;  // 36 KiB: no small tensors

bool same_bits(const Numbers& a, const Numbers& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

/// One program, drawn from a seed, each time the same.
class Program {
 public:
  explicit Program(std::uint64_t seed) : random_(seed), seed_(seed) {}

  /// What it computed, as far as it came.
  std::vector<Numbers> run(bool& was_refused) {
    seed(seed_);
    const std::vector<Variable> weights = make_weights();
    values_.push_back(uniform({kSide, kSide}, -1, 1));
    values_.push_back(reshape(tensor(Numbers(kSide * kSide, 0.25f)), {kSide, kSide}));
    was_refused = false;
    try {
      for (int round = 0; round < 2; ++round) {
        GradientTape tape({.persistent = random_.below(4) == 0});
        for (const Tensor& value : values_) tape.watch(value);
        const std::int64_t steps = 10 + random_.below(30);
        for (std::int64_t i = 0; i < steps; ++i) step(weights);
        const Tensor loss = mean(square(values_.back()));
        std::vector<Tensor> gradients =
            tape.gradient(loss, weights, {.unconnected = Unconnected::zero});
        for (std::size_t i = 0; i < weights.size(); ++i) {
          weights[i].assign_sub(gradients[i] * 0.1);
          results_.push_back(gradients[i].to_vector<float>());
        }
        results_.push_back(loss.to_vector<float>());
      }
      for (const Tensor& value : values_) results_.push_back(value.to_vector<float>());
      for (const Variable& w : weights) results_.push_back(w.value().to_vector<float>());
    } catch (const OutOfMemory& error) {
      EXPECT_EQ(error.cause(), OutOfMemory::Cause::budget);
      was_refused = true;
    }
    return results_;
  }
  const std::vector<Tensor>& values() const { return values_; }

 private:
  static std::vector<Variable> make_weights() {
    std::vector<Variable> weights;
    for (int i = 0; i < 3; ++i) weights.emplace_back(uniform({kSide, kSide}, -0.1, 0.1));
    return weights;
  }

  const Tensor& any() {
    return values_[static_cast<std::size_t>(
        random_.below(static_cast<std::int64_t>(values_.size())))];
  }

  void step(const std::vector<Variable>& weights) {
    const Variable& w = weights[static_cast<std::size_t>(random_.below(3))];
    switch (random_.below(14)) {
      case 0:
        values_.push_back(tanh(matmul(any(), w.value()) + any()));
        break;
      case 1:
        values_.push_back(any() * any());
        break;
      case 2:
        values_.push_back(transpose(any()));
        break;
      case 3:
        values_.push_back(softmax(any()));
        break;
      case 4:
        values_.push_back(any() - mean(any(), {1}, true));
        break;
      case 5: {  // in place, where nobody else has it
        Tensor last = std::move(values_.back());
        values_.pop_back();
        values_.push_back(sigmoid(std::move(last)));
        break;
      }
      case 6:
        values_.push_back(any() * uniform({kSide, kSide}));
        break;
      case 7:
        values_.push_back(concat({slice(any(), 0, 0, 32), slice(any(), 0, 32, kSide)}, 0));
        break;
      case 8:
        if (values_.size() > 3) {
          values_.erase(values_.begin() +
                        random_.below(static_cast<std::int64_t>(values_.size()) - 1));
        }
        break;
      case 9:
        values_.push_back(tidy([&] { return relu(any() + 0.5) * 0.3; }));
        break;
      case 10:
        values_.push_back(clone(any()));
        break;
      case 11:
        values_.push_back(cumsum(any(), 0) * 0.01);
        break;
      case 12:
        values_.push_back(matmul(w.value(), any()) * 0.5);
        break;
      default: {  // what the host writes to, no tape has seen
        const Tensor fresh = zeros({kSide, kSide}) + 0.125;
        const Tensor before = fresh * 2;
        fresh.mutable_span<float>()[static_cast<std::size_t>(random_.below(100))] = 3;
        values_.push_back(any() + before);
        values_.push_back(any() - fresh);
      }
    }
  }

  test::Random random_;
  std::uint64_t seed_;
  std::vector<Tensor> values_;
  std::vector<Numbers> results_;
};

class EvictPrograms : public ::testing::TestWithParam<int> {};

/// The budget and the results of one run.
struct Outcome {
  std::vector<Numbers> results;
  std::size_t peak = 0;
  bool was_refused = false;
};

Outcome run_within(std::uint64_t seed, std::size_t limit, bool evict) {
  const MemoryStats before = memory();
  Outcome run;
  {
    const Budget budget("program", limit, {.evict = evict});
    Program program(seed);
    run.results = program.run(run.was_refused);
    run.peak = budget.peak();
    EXPECT_LE(run.peak, limit);
    if (run.was_refused) {
      for (const Tensor& value : program.values()) {
        try {
          EXPECT_EQ(value.to_vector<float>().size(), static_cast<std::size_t>(value.size()));
        } catch (const OutOfMemory& error) {
          EXPECT_EQ(error.cause(), OutOfMemory::Cause::budget);
        }
      }
    }
  }
  const MemoryStats after = memory();
  EXPECT_EQ(after.bytes, before.bytes);
  EXPECT_EQ(after.storages, before.storages);
  EXPECT_EQ(after.tensors, before.tensors);
  EXPECT_EQ(after.evicted_bytes, before.evicted_bytes);
  return run;
}

TEST_P(EvictPrograms, GiveTheSameBitsOrRefuse) {
  const auto first = static_cast<std::uint64_t>(GetParam()) * 12;
  const std::int64_t recomputations = memory().recomputations;
  int fitted = 0;
  for (std::uint64_t seed = first; seed < first + 12; ++seed) {
    const Outcome plain = run_within(seed, kNoLimit, false);
    ASSERT_FALSE(plain.was_refused);
    for (const std::size_t percent : {100u, 80u, 60u, 40u, 30u}) {
      const ::testing::ScopedTrace trace(
          __FILE__, __LINE__,
          "seed " + std::to_string(seed) + " in " + std::to_string(percent) + " %");
      const Outcome tight = run_within(seed, plain.peak * percent / 100, true);
      EXPECT_TRUE(percent < 100 || !tight.was_refused) << "what fits must fit";
      EXPECT_TRUE(percent < 60 || !tight.was_refused);
      if (percent == 40) fitted += tight.was_refused ? 0 : 1;
      ASSERT_LE(tight.results.size(), plain.results.size());
      EXPECT_TRUE(tight.was_refused || tight.results.size() == plain.results.size());
      for (std::size_t i = 0; i < tight.results.size(); ++i) {
        ASSERT_TRUE(same_bits(tight.results[i], plain.results[i])) << "result " << i;
      }
    }
  }
  EXPECT_GT(memory().recomputations, recomputations + 100);
  EXPECT_GT(fitted, 3) << "of 12 in 40 %";
}

INSTANTIATE_TEST_SUITE_P(Seeds, EvictPrograms, ::testing::Range(0, test::rounds(8)));

TEST(EvictProgramsOnThreads, EachHasItsOwnBudget) {
  test::on_threads(4, [&](int thread) {
    const Budget budget("thread", 12 * kSide * kSide * sizeof(float), {.evict = true});
    Tensor h = full({kSide, kSide}, 0.1 * (thread + 1));
    std::vector<Tensor> row{h};
    for (int i = 0; i < 40; ++i) row.push_back(sin(row.back() * 1.25 + 0.5));
    for (int i = 40; i-- > 0;) {
      const float expected =
          std::sin(row[static_cast<std::size_t>(i)].to_vector<float>()[3] * 1.25f + 0.5f);
      EXPECT_NEAR(row[static_cast<std::size_t>(i) + 1].to_vector<float>()[3], expected, 1e-5);
    }
    EXPECT_LE(budget.peak(), budget.limit());
  });
}

}  // namespace
}  // namespace tenure
