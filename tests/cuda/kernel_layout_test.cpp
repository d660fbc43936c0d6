#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include "tenure/graph/function.h"
#include "tenure/graph/passes/rematerialize.h"
#include "tenure/graph/passes/split.h"
#include "tenure/graph/place/placement.h"
#include "tests/cuda/emulated.h"
#include "tests/cuda/layouts.h"
#include "tests/support/lowered_program.h"
#include "tests/support/same_bits.h"

// Programs whose kernels choose how their results lie: rows with gaps behind them, matrices the
// other way round. They compute what is computed without that, take what is planned, and never
// read a gap.

namespace tenure {
namespace {

using test::Draws;
using test::emulated_gpu;
using test::expect_same_bits;

/// Leaves memory in which nothing is a number where the next arena will be.
void poison(Device device) {
  constexpr std::int64_t kElements = std::int64_t{4} << 20;
  static_cast<void>(full({kElements}, std::numeric_limits<float>::quiet_NaN(), float32).to(device));
}

using Program = std::function<std::vector<Tensor>(const std::vector<Tensor>&)>;

/// Whether some results have more bytes than elements of theirs would.
bool has_gaps(const Plan& plan, std::int64_t dense_row) {
  return std::any_of(plan.steps.begin(), plan.steps.end(), [&](const Plan::Step& step) {
    return step.bytes > 16 && step.bytes % dense_row != 0 && step.bytes % 16 == 0;
  });
}

template <class Compiled>
void expect_run(const Compiled& compiled, const std::vector<Tensor>& inputs,
                const std::vector<Tensor>& expected) {
  const Device gpu = inputs[0].device();
  const Plan plan = compiled.plan(inputs);
  for (int round = 0; round < 2; ++round) {
    poison(gpu);
    const MemoryRegion region(gpu);
    const std::vector<Tensor> got = compiled(inputs);
    EXPECT_EQ(region.peak_bytes(), plan.peak) << plan;
    ASSERT_EQ(got.size(), expected.size());
    for (std::size_t i = 0; i < got.size(); ++i) expect_same_bits(got[i], expected[i]);
  }
}

/// Runs a program as one, without and with the least budget, which computes what its calls do.
Plan expect_same(const Program& program, const std::vector<Tensor>& inputs) {
  const auto traced = [&](const std::vector<Tensor>& in) { return program(in); };
  const std::vector<Tensor> expected = program(inputs);
  const auto compiled = function(traced);
  expect_run(compiled, inputs, expected);
  try {
    static_cast<void>(function(traced, {.budget = 0}).plan(inputs));
  } catch (const planner::BudgetError& error) {
    expect_run(function(traced, {.budget = error.least()}), inputs, expected);
  }
  return compiled.plan(inputs);
}

/// Of a head whose matrix is a table: rows, the table, classes.
std::vector<Tensor> head_gradients(const std::vector<Tensor>& in) {
  GradientTape tape;
  tape.watch(in[0]);
  tape.watch(in[1]);
  Tensor loss;
  {
    const Autocast autocast;
    loss = cross_entropy(matmul(in[0], transpose(in[1], 0, 1)), in[2]);
  }
  const std::vector<Tensor> gradients = tape.gradient(loss, {in[0], in[1]});
  return {loss, gradients[0], gradients[1] * 2.f + in[1]};
}

/// Matrices of sizes that are no multiples of anything, and what may be made of them.
class Drawing {
 public:
  Drawing(std::uint32_t seed, const std::vector<Tensor>& in) : draws_(seed), values_(in) {
    for (int step = 0; step < 14; ++step) take_step();
  }
  /// The last of them, of which some are read by others.
  std::vector<Tensor> results() const { return {values_.end() - 4, values_.end()}; }

 private:
  const Tensor& any() {
    return values_[static_cast<std::size_t>(
        draws_.below(static_cast<std::int64_t>(values_.size())))];
  }
  void add(Tensor t) { values_.push_back(std::move(t)); }

  void take_step() {
    const Tensor x = any();
    switch (draws_.below(16)) {
      case 0:
        return add(transpose(x));
      case 1:
        return add(cast(x, x.dtype() == bfloat16 ? float32 : bfloat16));
      case 2:
        return add(tanh(x) * 0.5f);
      case 3:
        return add(softmax(x, -1));
      case 4:
        return add(x - sum(x, static_cast<int>(draws_.below(2)), true));
      case 5:
        return add(reshape(flatten(x), x.shape()));
      case 6:
        return add_entropy(x);
      default:
        return add_product(x);
    }
  }
  void add_product(const Tensor& x) {
    for (int tries = 0; tries < 20; ++tries) {
      const Tensor& y = any();
      if (y.dtype() != x.dtype()) continue;
      if (y.dim(0) == x.dim(1)) return add(matmul(x, y));
      if (y.dim(1) == x.dim(1)) return add(matmul(x, transpose(y)));
    }
  }
  void add_entropy(const Tensor& x) {
    GradientTape tape;
    tape.watch(x);
    const Tensor classes = (arange(x.dim(0)).to(x.device()) * 7) % x.dim(1);
    const Tensor loss = cross_entropy(x * 1.f, cast(classes, int32));
    add(tape.gradient(loss, x));
  }

  Draws draws_;
  std::vector<Tensor> values_;
};

}  // namespace

TEST(KernelLayouts, AHeadOfAnyNumberOfTokensHasAlignedRows) {
  const Device gpu = emulated_gpu();
  Draws draws(5);
  for (int round = 0; round < 4; ++round) {
    const std::int64_t tokens = 130 + 8 * draws.below(20) + 1 + draws.below(6);
    const std::int64_t width = 64 + draws.below(20);
    const Shape batch = draws.coin() ? Shape{2, 70} : Shape{140};
    Shape rows = batch;
    rows.push_back(width);
    const Plan plan = expect_same(
        head_gradients,
        {normal(rows).to(gpu), normal({tokens, width}).to(gpu), randint(0, tokens, batch).to(gpu)});
    EXPECT_TRUE(has_gaps(plan, 2 * tokens)) << plan;
    for (const Plan::Step& step : plan.steps) EXPECT_NE(step.op, "copy") << plan;
  }
}

TEST(KernelLayouts, AreNoMatterToAnyProgram) {
  const Device gpu = emulated_gpu();
  int with_gaps = 0;
  for (std::uint32_t seed = 1; seed <= 12; ++seed) {
    const auto matrix = [&](const Shape& shape, DType type) {
      return cast(normal(shape) * 0.3f, type).to(gpu);
    };
    const std::vector<Tensor> inputs{matrix({131, 70}, bfloat16), matrix({70, 129}, bfloat16),
                                     matrix({129, 131}, bfloat16), matrix({131, 129}, bfloat16)};
    const Plan plan = expect_same(
        [seed](const std::vector<Tensor>& in) { return Drawing(seed, in).results(); }, inputs);
    if (testing::Test::HasFailure()) FAIL() << "seed " << seed << '\n' << plan;
    with_gaps += std::any_of(plan.steps.begin(), plan.steps.end(), [](const Plan::Step& step) {
      const std::int64_t pairs[] = {131 * 70, 70 * 129, 129 * 131, 131 * 131, 129 * 129, 70 * 70};
      return step.bytes > 10000 && std::none_of(std::begin(pairs), std::end(pairs), [&](auto n) {
               return step.bytes == 2 * n || step.bytes == 4 * n;
             });
    });
  }
  EXPECT_GT(with_gaps, 3);
}

/// Whatever runs in parts, in groups of up to four, is what it was and lies where nothing else
/// does.
TEST(KernelLayouts, HavePartsThatAreRangesOfBytes) {
  const DeviceScope device(emulated_gpu());
  int in_parts = 0;
  for (const std::int64_t width : {64, 72}) {
    const auto lowered = test::lower_ops(
        {{float32, {8, 20, width}}, {float32, {132 + 3, width}}, {int32, {8, 20}}}, head_gradients);
    std::vector<int> word(lowered->units.size());
    std::iota(word.begin(), word.end(), 0);
    const auto whole = graph::repeat_units(*lowered, word);
    for (int begin = 0; begin < static_cast<int>(word.size()); ++begin) {
      for (int end = begin + 1; end <= std::min<int>(begin + 4, static_cast<int>(word.size()));
           ++end) {
        for (const int parts : {2, 4, 8}) {
          const graph::PartGroup group{begin, end, parts};
          if (!graph::can_split(*whole, group)) continue;
          ++in_parts;
          const auto split = graph::split_units(*whole, {group});
          EXPECT_EQ(graph::validate(*lowered, *split), std::nullopt) << begin << ' ' << end;
          EXPECT_EQ(graph::validate(*split, graph::place_in_order(*split)), std::nullopt);
        }
      }
    }
  }
  EXPECT_GT(in_parts, 4);
}

TEST(KernelLayouts, LongRowsWithGapsHaveTheirLosses) {
  // Strips of theirs are others than those of rows that follow each other. The longest are too long
  // for shared memory.
  const Device gpu = emulated_gpu();
  const Program program = [](const std::vector<Tensor>& in) {
    GradientTape tape;
    tape.watch(in[0]);
    const Tensor loss = cross_entropy(matmul(in[0], in[1]), in[2], {.reduction = Reduction::none});
    return std::vector<Tensor>{loss, tape.gradient(sum(loss), in[0])};
  };
  for (const std::int64_t classes : {9003, 60005}) {
    const std::vector<Tensor> inputs{cast(normal({24, 8}), bfloat16).to(gpu),
                                     cast(normal({8, classes}), bfloat16).to(gpu),
                                     randint(0, classes, {24}).to(gpu)};
    const std::vector<Tensor> expected = program(inputs);
    const auto compiled = function([&](const std::vector<Tensor>& in) { return program(in); });
    EXPECT_TRUE(has_gaps(compiled.plan(inputs), 2 * classes)) << compiled.plan(inputs);
    poison(gpu);
    const std::vector<Tensor> got = compiled(inputs);
    for (std::size_t i = 0; i < got.size(); ++i) {
      const Tensor a = cast(copy_to(got[i], cpu), float32);
      const Tensor b = cast(copy_to(expected[i], cpu), float32);
      EXPECT_LT(max(abs(a - b)).item<float>(), 5e-3f * max(abs(b)).item<float>()) << classes;
    }
  }
}

}  // namespace tenure
