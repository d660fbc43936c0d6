#include "tenure/graph/passes/split.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "tenure/graph/passes/rematerialize.h"
#include "tenure/graph/place/arrange.h"
#include "tenure/planner/remat.h"
#include "tenure/tenure.h"
#include "tests/support/lowered_program.h"
#include "tests/support/random_network.h"
#include "tests/support/share.h"

// Programs that run in parts where a budget asks for it: the same bits, in what was promised.

namespace tenure::graph {
namespace {

using test::lower_ops;

std::vector<std::byte> bytes_of_tensor(const Tensor& tensor) {
  const std::vector<float> elements = tensor.to_vector<float>();
  std::vector<std::byte> bytes(elements.size() * sizeof(float));
  if (!bytes.empty()) std::memcpy(bytes.data(), elements.data(), bytes.size());
  return bytes;
}

int most_parts(const Plan& plan) {
  int most = 1;
  for (const Plan::Step& step : plan.steps) most = std::max(most, step.parts);
  return most;
}

TEST(Split, RandomNetworksHaveTheSameBitsInEveryBudget) {
  int in_parts = 0;
  const int networks = test::rounds(60);
  for (int i = 0; i < networks && !HasFailure(); ++i) {
    SCOPED_TRACE(i);
    seed(static_cast<std::uint64_t>(i));
    const test::RandomNetwork network(static_cast<std::uint64_t>(i));
    const auto traced = [&](const std::vector<Tensor>& in) { return network(in); };
    const auto plain = function(traced);
    const std::vector<Tensor> expected = plain(network.inputs());
    const Plan roomy = plain.plan(network.inputs());
    std::int64_t before = roomy.constants;
    for (const Plan::Value& input : roomy.inputs) before += input.bytes;
    std::int64_t least = 0;
    try {
      static_cast<void>(function(traced, {.budget = 0}).plan(network.inputs()));
      FAIL() << "nothing is no budget";
    } catch (const planner::BudgetError& error) {
      least = error.least();
    }
    EXPECT_THROW(static_cast<void>(function(traced, {.budget = least - 1}).plan(network.inputs())),
                 planner::BudgetError);
    const std::int64_t room = before + roomy.peak - least;
    for (const std::int64_t budget : {least, least + room / 4, least + room / 2}) {
      const auto tight = function(traced, {.budget = budget});
      const Plan plan = tight.plan(network.inputs());
      in_parts += most_parts(plan) > 1 ? 1 : 0;
      EXPECT_LE(before + plan.peak, budget);
      const MemoryRegion region;
      const std::vector<Tensor> results = tight(network.inputs());
      EXPECT_EQ(region.peak_bytes(), plan.peak);
      ASSERT_EQ(results.size(), expected.size());
      for (std::size_t r = 0; r < results.size(); ++r) {
        EXPECT_EQ(bytes_of_tensor(results[r]), bytes_of_tensor(expected[r])) << "result " << r;
      }
    }
  }
  EXPECT_GT(in_parts, networks / 2);
}

/// Two convolutions and what their gradients read, as the smallest op used to need it.
std::vector<Tensor> images_there_and_back(const std::vector<Tensor>& in) {
  GradientTape tape;
  tape.watch(in[1]);
  tape.watch(in[2]);
  const Tensor hidden = relu(conv2d(in[0], in[1]));
  const Tensor loss = mean(square(max_pool2d(conv2d(hidden, in[2]), 2)));
  return tape.gradient(loss, std::vector<Tensor>{in[1], in[2]});
}

std::unique_ptr<Lowered> two_convolutions(const CompileOptions& options = {}) {
  return lower_ops({{DType::float32, {16, 20, 20, 1}},
                    {DType::float32, {3, 3, 1, 8}},
                    {DType::float32, {3, 3, 8, 16}}},
                   images_there_and_back, {}, options);
}

TEST(Split, GoesFarBelowWhatOneOpNeeds) {
  const auto lowered = two_convolutions();
  std::int64_t inputs = 0;
  for (const ops::Spec& spec : lowered->inputs) inputs += bytes_of(spec);
  const std::int64_t plain = peak_of(*lowered, place(*lowered));
  // The gradient of the second convolution reads and makes as much at once.
  const std::int64_t at_once = std::int64_t{16} * (16 * 16 * 16 + 2 * 18 * 18 * 8) * 4;
  try {
    arrange(two_convolutions({.budget = 0}), 0);
    FAIL();
  } catch (const planner::BudgetError& error) {
    EXPECT_LT(error.least() - inputs, at_once / 3);
    EXPECT_LT(error.least() - inputs, plain / 3);
    EXPECT_LE(error.bound(), error.least());
    const Arranged made = arrange(two_convolutions({.budget = error.least()}), 0);
    EXPECT_FALSE(made.lowered->groups.empty());
    EXPECT_EQ(validate(*lowered, *made.lowered), std::nullopt);
    EXPECT_EQ(validate(*made.lowered, made.placement), std::nullopt);
  }
}

TEST(Split, ValidatorsNoticeWhatIsWrong) {
  const auto original = two_convolutions();
  std::int64_t least = 0;
  try {
    arrange(two_convolutions({.budget = 0}), 0);
  } catch (const planner::BudgetError& error) {
    least = error.least();
  }
  const Arranged made = arrange(two_convolutions({.budget = least}), 0);
  const auto changed = [&](const std::function<void(Lowered&)>& change) {
    Lowered copy = *made.lowered;
    for (Unit& unit : copy.units) {
      unit.node = copy.request.program.nodes.data() +
                  (unit.node - made.lowered->request.program.nodes.data());
    }
    change(copy);
    return copy;
  };
  const auto unit_with = [](Lowered& lowered, const auto& condition) -> Unit& {
    return *std::find_if(lowered.units.begin(), lowered.units.end(), condition);
  };
  const auto is_in_parts = [](const Unit& unit) { return unit.parts > 1; };
  const auto is_sum = [](const Unit& unit) { return unit.adds; };
  EXPECT_EQ(validate(*original, changed([](Lowered&) {})), std::nullopt);
  EXPECT_NE(validate(*original, changed([&](Lowered& l) { unit_with(l, is_in_parts).parts = 1; })),
            std::nullopt);
  EXPECT_NE(validate(*original,
                     changed([&](Lowered& l) { unit_with(l, is_in_parts).in[0].advance += 1; })),
            std::nullopt);
  EXPECT_NE(validate(*original, changed([&](Lowered& l) { unit_with(l, is_sum).adds = false; })),
            std::nullopt);
  EXPECT_NE(validate(*original, changed([&](Lowered& l) { l.groups.pop_back(); })), std::nullopt);
  // What a part leaves in the memory of a sum is in the way of the next part.
  const Lowered& lowered = *made.lowered;
  const auto sum = std::find_if(lowered.units.begin(), lowered.units.end(), is_sum);
  ASSERT_NE(sum, lowered.units.end());
  const int u = static_cast<int>(sum - lowered.units.begin());
  const auto group = std::find_if(lowered.groups.begin(), lowered.groups.end(),
                                  [&](const PartGroup& g) { return u >= g.begin && u < g.end; });
  ASSERT_NE(group, lowered.groups.end());
  Placement placement = made.placement;
  for (std::size_t b = 0; b < lowered.buffers.size(); ++b) {
    const Buffer& buffer = lowered.buffers[b];
    if (!buffer.is_of_part || buffer.unit < group->begin || buffer.unit >= u) continue;
    placement.buffers[b] = placement.buffers[at(sum->out[0].buffer)];
    break;
  }
  EXPECT_NE(validate(lowered, placement), std::nullopt);
}

/// Columns of a matrix are no piece of its memory: who reads them needs it until the last part.
TEST(Split, WhatIsReadByColumnsIsNotOverwritten) {
  const auto lowered = lower_ops(
      {{DType::float32, {10, 72}}, {DType::float32, {10, 13}}, {DType::float32, {10, 72}}},
      [](const std::vector<Tensor>& in) {
        const Tensor y = softmax(in[0]);
        const Tensor by_columns = matmul(transpose(y), in[1]);
        return std::vector<Tensor>{by_columns, softmax(in[2] * y)};
      });
  const auto place_of = [&](const char* op) {
    const auto found =
        std::find_if(lowered->units.begin(), lowered->units.end(),
                     [&](const Unit& unit) { return unit.node->op->name == std::string_view(op); });
    return static_cast<int>(found - lowered->units.begin());
  };
  // The product, and behind it what may be computed in the memory of y.
  const int begin = place_of("matmul");
  int end = begin + 1;
  while (end < static_cast<int>(lowered->units.size()) && lowered->units[at(end)].nodes == 0) ++end;
  const PartGroup group{begin, end + 1, 2};
  ASSERT_TRUE(can_split(*lowered, group));
  const auto split = split_units(*lowered, {group});
  EXPECT_EQ(validate(*split, place_in_order(*split)), std::nullopt);
}

TEST(Split, PlansSayInHowManyParts) {
  const auto model = [](const Tensor& x, const Tensor& w) {
    return sum(matmul(gelu(matmul(x, w)), transpose(w)));
  };
  const Tensor x = normal({64, 32});
  const Tensor w = normal({32, 512});
  const std::int64_t inputs = 64 * 32 * 4 + 32 * 512 * 4;
  const Plan plan = function(model, {.budget = inputs + 64 * 512 * 2}).plan(x, w);
  EXPECT_GT(most_parts(plan), 1);
  EXPECT_GT(plan.recomputed, 0);
  EXPECT_NE(to_string(plan).find(" parts along the first axis"), std::string::npos) << plan;
  EXPECT_EQ(to_string(function(model).plan(x, w)).find(" parts"), std::string::npos);
}

TEST(Split, NarrowSumsAreNotCut) {
  const auto gradient = [](DType type) {
    return lower_ops({{type, {8, 9, 9, 2}}, {type, {3, 3, 2, 4}}},
                     [](const std::vector<Tensor>& in) {
                       GradientTape tape;
                       tape.watch(in[1]);
                       return tape.gradient(mean(conv2d(in[0], in[1])), std::vector<Tensor>{in[1]});
                     });
  };
  const auto sums = [](const Lowered& lowered) {
    return std::count_if(lowered.units.begin(), lowered.units.end(), [](const Unit& unit) {
      const auto cut = cut_of(unit, 2);
      return cut && std::find(cut->out.begin(), cut->out.end(), false) != cut->out.end();
    });
  };
  EXPECT_EQ(sums(*gradient(DType::float32)), 1);
  EXPECT_EQ(sums(*gradient(DType::bfloat16)), 0);
}

TEST(Split, TrainersUpdateInPlacePartByPart) {
  const auto make = [] {
    seed(3);
    nn::Sequential model;
    model.push_back("in", nn::Dense(256, 512));
    model.push_back("relu", nn::Relu());
    model.push_back("out", nn::Dense(512, 10));
    return model;
  };
  const auto loss = [](const Tensor& y, const Tensor& t) { return cross_entropy(y, t); };
  const auto train = [&](const nn::TrainerOptions& options, Plan* plan) {
    const nn::Sequential model = make();
    const Tensor x = normal({32, 256});
    const Tensor target = randint(0, 10, {32});
    nn::Adam optimizer(model.parameters());
    nn::Trainer trainer(model, loss, optimizer, options);
    for (int i = 0; i < 3; ++i) trainer.step(x, target);
    *plan = trainer.plan(x, target).plan;
    std::vector<std::byte> all;
    for (const auto& [name, variable] : model.parameters()) {
      const std::vector<std::byte> bytes = bytes_of_tensor(variable.value());
      all.insert(all.end(), bytes.begin(), bytes.end());
    }
    return std::pair(all, trainer.plan(x, target).peak());
  };
  Plan plain;
  Plan tight;
  const auto [expected, peak] = train({}, &plain);
  // The gradient of the first layer's weights takes most of what a step adds.
  const std::int64_t budget = peak - plain.peak / 2;
  const auto [got, lower] = train({.budget = budget}, &tight);
  EXPECT_EQ(got, expected);
  EXPECT_LE(lower, budget);
  const bool updates_in_parts =
      std::any_of(tight.steps.begin(), tight.steps.end(), [](const Plan::Step& step) {
        return step.op == "adam_update" && step.parts > 1 && step.in_place;
      });
  EXPECT_TRUE(updates_in_parts) << tight;
}

}  // namespace
}  // namespace tenure::graph
