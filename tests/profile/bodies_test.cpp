// What lies in the bodies of branches and loops, which are a part of the arena around them.

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "tenure/profile/exports.h"
#include "tenure/profile/plan_moments.h"
#include "tenure/profile/report.h"
#include "tenure/profile/rows.h"
#include "tests/profile/read_recording.h"
#include "tests/support/small_net.h"

namespace tenure {
namespace {

using profile::History;
using profile::Origin;
using profile::PlanPositions;
using profile::RecordedPlan;
using test::Recording;

constexpr int kNoBody = RecordedPlan::kNoBody;

/// A few runs of a loop with a branch in it, recorded.
struct Nested {
  const RecordedPlan& plan() const { return recording.recorded.plans().at(0); }
  const Origin& origin(std::uint32_t number) const { return recording.recorded.origin(number); }

  Tensor x = full({32, 32}, 0.01);
  decltype(function(test::looped)) model = function(test::looped);
  Recording recording{[this] {
    for (int i = 0; i < 3; ++i) model(x);
  }};
};

TEST(Bodies, EveryBufferHasItsOpLayerLineAndType) {
  const Nested t;
  const RecordedPlan& plan = t.plan();
  std::map<std::string, std::set<std::string>> layers;  // by body
  for (const RecordedPlan::Buffer& buffer : plan.buffers) {
    const Origin& origin = t.origin(buffer.origin);
    EXPECT_EQ(buffer.op.find("while_loop, workspace"), std::string_view::npos);
    EXPECT_EQ(buffer.op.find("cond, workspace"), std::string_view::npos);
    EXPECT_TRUE(std::string(origin.file).ends_with("small_net.h")) << origin.file << buffer.op;
    const bool is_plain = buffer.op.ends_with(", workspace");
    EXPECT_EQ(buffer.layout.empty(), is_plain) << buffer.op;
    layers[body_text(plan, buffer.body)].emplace(origin.scope);
  }
  EXPECT_TRUE(layers["loop body"].contains("outer/cell"));
  EXPECT_TRUE(layers["then branch in loop body"].contains("outer/cell/wide"));
  EXPECT_TRUE(layers["else branch in loop body"].contains("outer/cell/narrow"));
  EXPECT_TRUE(layers.contains("condition"));
  const auto states =
      std::count_if(plan.buffers.begin(), plan.buffers.end(),
                    [](const auto& buffer) { return buffer.op == "while_loop, next state"; });
  EXPECT_EQ(states, 1);
}

TEST(Bodies, WhatIsPredictedIsMeasuredAndNoEventIsAdded) {
  const Nested t;
  const profile::PlanRuns& runs = t.recording.history.runs.at(t.plan().id);
  EXPECT_EQ(runs.lowest, t.plan().peak);
  EXPECT_EQ(runs.highest, t.plan().peak);
  std::size_t kernels = 0;
  t.recording.recorded.for_each([&](const profile::Event& event) {
    kernels += event.kind == profile::EventKind::kernel ? 1 : 0;
    return true;
  });
  EXPECT_EQ(kernels, 3 * t.plan().steps.size());
}

TEST(Bodies, StepsOfBodiesStandInThePlaceOfTheStepThatRunsThem) {
  const Nested t;
  const RecordedPlan& plan = t.plan();
  const PlanPositions positions(plan);
  std::set<std::string> labels;
  for (const profile::PlanMoment& moment : positions.moments()) {
    EXPECT_LT(moment.begin, moment.end);
    EXPECT_TRUE(labels.insert(moment.label).second) << moment.label;
    const auto depth = std::count(moment.label.begin(), moment.label.end(), '.');
    EXPECT_EQ(depth == 0, moment.body == kNoBody) << moment.label;
  }
  for (std::size_t i = 0; i < plan.buffers.size(); ++i) {
    const RecordedPlan::Buffer& a = plan.buffers[i];
    EXPECT_LT(positions.begin_of(a), positions.end_of(a)) << a.op;
    EXPECT_LE(a.offset + a.bytes, plan.arena);
    for (std::size_t j = 0; j < i; ++j) {
      const RecordedPlan::Buffer& b = plan.buffers[j];
      const bool are_apart = positions.end_of(a) <= positions.begin_of(b) ||
                             positions.end_of(b) <= positions.begin_of(a);
      EXPECT_TRUE(are_apart || a.offset + a.bytes <= b.offset || b.offset + b.bytes <= a.offset)
          << a.op << " and " << b.op;
    }
  }
}

TEST(Bodies, AStepIsShownAsAtItsFullestMoment) {
  const Nested t;
  const RecordedPlan& plan = t.plan();
  const PlanPositions positions(plan);
  // By position, all that lives there; the fullest of those of the loop is what is shown.
  std::map<int, std::int64_t> live;
  std::int64_t shown = 0;
  const auto loop = std::find_if(plan.bodies.begin(), plan.bodies.end(),
                                 [](const auto& body) { return body.around == kNoBody; });
  ASSERT_NE(loop, plan.bodies.end());
  for (const RecordedPlan::Buffer& buffer : plan.buffers) {
    if (buffer.first > loop->step || buffer.last < loop->step) continue;
    shown += buffer.is_shown ? buffer.bytes : 0;
    for (int p = positions.begin_of(buffer); p < positions.end_of(buffer); ++p) {
      live[p] += buffer.bytes;
    }
  }
  std::int64_t most = 0;
  for (const profile::PlanMoment& moment : positions.moments()) {
    if (moment.body != kNoBody || moment.step != loop->step) continue;
    for (int p = moment.begin; p < moment.end; ++p) most = std::max(most, live[p]);
  }
  EXPECT_EQ(shown, most);
  std::set<std::string> bodies;
  for (const RecordedPlan::Buffer& buffer : plan.buffers) {
    if (buffer.is_shown) bodies.insert(body_text(plan, buffer.body));
  }
  EXPECT_TRUE(bodies.contains("then branch in loop body")) << "the fuller one";
  EXPECT_FALSE(bodies.contains("else branch in loop body"));
  EXPECT_FALSE(bodies.contains("condition"));
}

TEST(Bodies, EveryByteIsSomebodysAtEveryMoment) {
  const Nested t;
  const History& history = t.recording.history;
  const auto levels_of = [](const auto& lives) {
    std::map<std::int64_t, std::int64_t> changes;
    for (const auto& life : lives) {
      changes[life.birth_ns] += life.bytes;
      if (life.death_ns != profile::kNever) changes[life.death_ns] -= life.bytes;
    }
    std::erase_if(changes, [](const auto& change) { return change.second == 0; });
    return changes;
  };
  EXPECT_EQ(levels_of(rows(history)), levels_of(history.storages));
  const profile::Level highest = peak(history);
  std::map<std::string, std::int64_t> scopes;
  std::int64_t sum = 0;
  for (const auto& group : live_at(history, highest.time_ns, profile::GroupBy::scope)) {
    scopes[group.name] = group.bytes;
    sum += group.bytes;
  }
  EXPECT_EQ(sum, highest.bytes);
  EXPECT_GE(scopes["outer/cell/wide"], 64 * 32 * 4);
  EXPECT_GT(scopes["outer/cell"], 0);
}

TEST(Bodies, ExportsAndThePageHaveThem) {
  const Nested t;
  const History& history = t.recording.history;
  const std::string csv = to_csv(history);
  EXPECT_NE(csv.find("\"then branch in loop body\""), std::string::npos);
  EXPECT_NE(csv.find("\"float32[64, 32]\""), std::string::npos);
  EXPECT_NE(to_speedscope(history).find("wide"), std::string::npos);
  const std::string page = report_data(history);
  for (const char* const part :
       {"\"inside\":\"else branch in loop body\"", "\"positions\":[\"0\"", "\"inner_steps\":[{",
        "\"layout\":\"float32[64, 32]\"", "\"shown\":false"}) {
    EXPECT_NE(page.find(part), std::string::npos) << part;
  }
}

TEST(Bodies, TheWayBackOfAScanIsOfItsLayers) {
  const Tensor xs = full({5, 16, 16}, 0.1);
  const auto step = function([](const Tensor& x) {
    GradientTape tape;
    tape.watch(x);
    const NameScope name("recurrent");
    const auto [carry, ys] = scan(
        [](const Tensor& c, const Tensor& row) {
          const Tensor next = tanh(matmul(c, softmax(row, -1)));
          return std::pair(next, sum(next));
        },
        full({16, 16}, 0.1), x);
    return tape.gradient(sum(carry) + sum(ys), x);
  });
  const Recording r([&] { step(xs); });
  const RecordedPlan& plan = r.recorded.plans().at(0);
  std::int64_t gradients = 0;
  for (const RecordedPlan::Buffer& buffer : plan.buffers) {
    if (buffer.body == kNoBody) continue;
    EXPECT_EQ(r.recorded.origin(buffer.origin).scope, "recurrent") << buffer.op;
    gradients += buffer.category == Category::gradient ? buffer.bytes : 0;
  }
  EXPECT_GE(gradients, 16 * 16 * 4);
}

}  // namespace
}  // namespace tenure
