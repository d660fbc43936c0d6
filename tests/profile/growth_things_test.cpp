#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "tenure/profile/growth.h"
#include "tenure/tenure.h"
#include "tests/profile/growth_of.h"
#include "tests/profile/read_recording.h"

// Growth of other things than tensors: what tapes save, nodes of graphs.

namespace tenure {
namespace {

using profile::Growth;
using profile::Loop;
using test::judged;
using test::line_of;
using test::Recording;
using test::this_line;

TEST(Growth, ATapeThatGoesOnIsFound) {
  const Tensor w = ones({8});
  const Recording r([&] {
    std::optional<GradientTape> tape;
    for (int i = 1; i <= 200; ++i) {
      if (i == 51) tape.emplace().watch(w);
      const Tensor loss = sum(w * w);
      mark_step("train");
    }
  });
  const Loop loop = judged(r);
  const auto values = std::find_if(loop.growing.begin(), loop.growing.end(),
                                   [](const Growth& one) { return one.what == "tape value"; });
  ASSERT_NE(values, loop.growing.end()) << judgement(loop, r.recorded);
  EXPECT_GE(values->things_per_step, 1);
  EXPECT_NEAR(static_cast<double>(values->since_step), 51, 1);
}

/// Which tape it is, and what its notes take: more than the numbers that it saves, of small
/// tensors.
TEST(Growth, ATapeThatHoldsWhatGrowsIsNamed) {
  for (const bool is_marked : {true, false}) {
    Site made;
    std::optional<GradientTape> tape;
    const int steps = is_marked ? 200 : 40000;  // without marks, looked at every 50 us
    const Recording r([&] {
      const GradientTape other;  // has no more and more
      const Tensor w = full({4}, 0.5);
      Tensor state = ones({4});
      tape.emplace(made = this_line()).watch(w);
      for (int i = 0; i < steps; ++i) {
        state = tanh(state * w);
        if (is_marked) mark_step("train");
      }
    });
    tape.reset();
    // Two tensors are saved in a step.
    const auto held = static_cast<std::int64_t>(2 * (sizeof(TensorBody) + sizeof(Tensor)));
    const Loop loop = judged(r);
    ASSERT_GE(loop.growing.size(), 2u) << judgement(loop, r.recorded);
    const Growth& numbers = loop.growing[0];
    ASSERT_FALSE(numbers.holders.empty());
    EXPECT_EQ(numbers.holders[0].kind, HolderKind::tape);
    ASSERT_NE(numbers.holders[0].tape, 0u);
    EXPECT_EQ(r.recorded.origin(numbers.holders[0].tape).line, made.line());
    const auto values = std::find_if(loop.growing.begin(), loop.growing.end(),
                                     [](const Growth& one) { return one.what == "tape value"; });
    ASSERT_NE(values, loop.growing.end());
    EXPECT_GE(values->thing_bytes, steps * held * 8 / 10);
    const std::string text = judgement(loop, r.recorded);
    const std::string place = "growth_things_test.cpp:" + std::to_string(made.line());
    EXPECT_NE(text.find(", held by the tape of " + place + ", for "), text.npos) << text;
    EXPECT_NE(text.find(" more tape values of " + place + " take "), text.npos) << text;
  }
}

TEST(Growth, AGraphThatGrowsFromRunToRunIsFoundWithoutMarks) {
  Graph graph("model");
  Session session(graph);
  Site line;
  const Recording r([&] {
    const Tensor x = graph.placeholder("x", float32, {4});
    const Tensor value = ones({4});
    for (int i = 0; i < 300; ++i) {
      const Tensor y = mul(Operand(x, line = this_line()), i);
      session.run(y, {{x, value}});
    }
  });
  const Loop loop = judged(r);
  ASSERT_FALSE(loop.growing.empty()) << judgement(loop, r.recorded);
  EXPECT_FALSE(loop.is_marked);
  EXPECT_EQ(loop.growing[0].what, "graph node");
  EXPECT_EQ(line_of(r, loop.growing[0]), line.line()) << judgement(loop, r.recorded);
}

TEST(Growth, GraphNodesAndTracesAreFound) {
  Graph graph("model");
  std::vector<Tensor> symbols;
  const Recording r([&] {
    const Tensor x = graph.placeholder("x", float32, {4});
    for (int i = 0; i < 200; ++i) {
      if (i >= 100) symbols.push_back(x * static_cast<double>(i));
      mark_step("build");
    }
  });
  const Loop loop = judged(r);
  ASSERT_FALSE(loop.growing.empty());
  const auto node = std::find_if(loop.growing.begin(), loop.growing.end(),
                                 [](const Growth& one) { return one.what == "graph node"; });
  ASSERT_NE(node, loop.growing.end()) << judgement(loop, r.recorded);
  EXPECT_GE(node->things_per_step, 1);
  EXPECT_NEAR(static_cast<double>(node->since_step), 101, 1);
}

}  // namespace
}  // namespace tenure
