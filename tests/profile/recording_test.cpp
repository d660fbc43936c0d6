#include <gtest/gtest.h>

#include <map>
#include <numeric>
#include <string>
#include <vector>

#include "tenure/profile/paths.h"
#include "tenure/profile/queries.h"
#include "tenure/tenure.h"
#include "tests/profile/scratch.h"

// What is written.

namespace tenure {
namespace {

using profile::History;
using profile::Recorded;
using test::ScratchFile;

TEST(Profile, WhatTheStandardLibraryCallsHasNoLine) {
  const ScratchFile file;
  {
    const Profile profile(file.path());
    const std::vector<Tensor> parts(3, ones({4}));
    const Tensor sum = std::accumulate(parts.begin(), parts.end(), zeros({4}));
  }
  const Recorded recorded(file.path());
  std::map<std::string, std::string> places;  // by op
  for (std::uint32_t i = 1; i < recorded.origins(); ++i) {
    places[std::string(recorded.origin(i).op)] = place_text(recorded.origin(i));
  }
  EXPECT_EQ(places["add"], "(standard library)");
  EXPECT_TRUE(places["ones"].starts_with("recording_test.cpp:")) << places["ones"];
}

TEST(Profile, TellsATensorsLife) {
  const ScratchFile file;
  Site made;
  {
    const Profile profile(file.path());
    const NameScope name("layer");
    const Tensor x = ones({2, 3}, float32, made = Site::current());
    const Tensor y = relu(x);
    y.dispose();
  }
  const Recorded recorded(file.path());
  EXPECT_TRUE(recorded.finished);
  EXPECT_EQ(recorded.dropped, 0u);
  EXPECT_EQ(recorded.damaged, 0u);
  const History history(recorded);
  ASSERT_EQ(history.storages.size(), 2u);
  const profile::StorageLife& x = history.storages[0];
  const profile::Origin& origin = recorded.origin(x.origin);
  EXPECT_EQ(origin.op, "ones");
  EXPECT_EQ(origin.line, made.line());
  EXPECT_EQ(origin.file, profile::seen_from(profile::current_folder(), made.file_name()));
  EXPECT_EQ(origin.scope, "layer");
  EXPECT_EQ(x.bytes, 24);
  EXPECT_NE(x.address, 0u);
  EXPECT_EQ(to_string(recorded.layout(x.layout)), "float32[2, 3]");
  EXPECT_EQ(recorded.origin(x.last_user).op, "relu");
  EXPECT_EQ(x.disposed, 0u);
  EXPECT_FALSE(x.is_live());
  const profile::StorageLife& y = history.storages[1];
  EXPECT_EQ(recorded.origin(y.origin).op, "relu");
  EXPECT_EQ(recorded.origin(y.disposed).op, "dispose()");
  EXPECT_LE(y.death_ns, x.death_ns);
}

TEST(Profile, TellsWhatABudgetGaveUp) {
  const ScratchFile file;
  constexpr std::int64_t kBytes = 64 * 1024;
  {
    const Profile profile(file.path());
    const Budget budget("tight", 3 * kBytes, {.evict = true});
    std::vector<Tensor> row{zeros({kBytes / 4})};
    for (int i = 0; i < 5; ++i) row.push_back(row.back() + 1);
    for (std::size_t i = 6; i-- > 0;)
      EXPECT_EQ(row[i].to_vector<float>()[0], static_cast<float>(i));
  }
  const Recorded recorded(file.path());
  EXPECT_EQ(recorded.damaged, 0u);
  const History history(recorded);
  EXPECT_GE(history.evictions, 3);
  EXPECT_GE(history.recomputations, 1);
  EXPECT_EQ(history.recomputed_bytes, history.recomputations * kBytes);
  EXPECT_LE(peak(history).bytes, 3 * kBytes);
  EXPECT_TRUE(history.holders.empty());
  for (const profile::StorageLife& life : history.storages) {
    EXPECT_FALSE(life.is_live());
    if (life.tensors != 0 && life.bytes == kBytes) {
      EXPECT_NE(life.origin, 0u) << "also when it was computed again";
    }
  }
}

TEST(Profile, TellsWhatOpsDidToMemory) {
  const ScratchFile file;
  {
    const Profile profile(file.path());
    Tensor x = ones({8});
    const Tensor view = reshape(ones({8}), {2, 4});
    const Tensor y = tanh(relu(std::move(x)));
  }
  const Recorded recorded(file.path());
  const History history(recorded);
  EXPECT_EQ(history.ops.at("ones").allocated, 2);
  EXPECT_EQ(history.ops.at("relu").reused, 1);
  EXPECT_EQ(history.ops.at("tanh").reused, 1);
  EXPECT_EQ(history.ops.at("tanh").allocated, 0);
  EXPECT_EQ(history.ops.at("reshape").viewed, 1);
}

TEST(Profile, KnowsWhatWasThereBefore) {
  const ScratchFile file;
  const Tensor before = ones({100});
  const Tensor view = reshape(before, {10, 10});
  const std::int64_t live = memory().bytes;
  {
    const Profile profile(file.path());
    view.dispose();
    before.dispose();
  }
  const Recorded recorded(file.path());
  const History history(recorded);
  ASSERT_GE(history.storages.size(), 1u);
  EXPECT_EQ(peak(history).bytes, live);
  EXPECT_EQ(live_at_end(history), live - 400);
  EXPECT_EQ(history.ops.count("ones"), 0u) << "it was made before";
}

TEST(Profile, ScopesStepsBudgetsAndCategories) {
  const ScratchFile file;
  {
    const Profile profile(file.path());
    const Budget budget("request", 1 * MiB);
    for (int i = 0; i < 3; ++i) {
      const Scope scope("inner");
      const CategoryScope category(Category::gradient);
      Tensor x = ones({16});
      mark_step("loop");
    }
  }
  const Recorded recorded(file.path());
  const History history(recorded, true);
  ASSERT_EQ(history.steps.size(), 3u);
  EXPECT_EQ(recorded.origin(history.steps[0].origin).op, "loop");
  ASSERT_EQ(history.budgets.size(), 1u);
  EXPECT_EQ(history.budgets[0].name, "request");
  EXPECT_EQ(history.budgets[0].limit, static_cast<std::int64_t>(1 * MiB));
  ASSERT_EQ(history.storages.size(), 3u);
  for (const profile::StorageLife& life : history.storages) {
    EXPECT_EQ(life.category, Category::gradient);
    EXPECT_EQ(recorded.origin(life.origin).scope, "inner");
  }
  int scopes = 0;
  for (const profile::Span& span : history.spans) {
    scopes += span.kind == profile::Span::Kind::scope ? 1 : 0;
    EXPECT_LE(span.begin_ns, span.end_ns);
  }
  EXPECT_EQ(scopes, 6) << "three scopes with a name each";
}

TEST(Profile, NamesAndWhatATapeSaves) {
  const ScratchFile file;
  Tensor kept;
  GradientTape tape;
  {
    const Profile profile(file.path());
    kept = ones({4});
    kept.set_name("weights");
    tape.watch(kept);
    const Tensor y = square(kept);
  }
  const Recorded recorded(file.path());
  const History history(recorded);
  const std::vector<profile::Held> held = held_at_end(history);
  ASSERT_FALSE(held.empty());
  ASSERT_EQ(held[0].holders.size(), 2u);
  EXPECT_EQ(held[0].holders[0]->name, "weights");
  EXPECT_EQ(held[0].holders[0]->kind, HolderKind::user);
  EXPECT_EQ(held[0].holders[1]->kind, HolderKind::tape);
  EXPECT_EQ(recorded.origin(held[0].holders[1]->origin).op, "square");
  EXPECT_EQ(history.ops.at("square").reused, 0) << "what is saved is no result";
}

TEST(Profile, PlansPredictWhatIsMeasured) {
  const ScratchFile file;
  const Tensor w = full({16, 16}, 0.1);
  const auto model = function([&](const Tensor& x) { return softmax(tanh(matmul(x, w) + 1.0)); });
  const Tensor x = ones({8, 16});
  const Plan plan = model.plan(x);
  {
    const Profile profile(file.path());
    for (int i = 0; i < 3; ++i) model(x);
  }
  const Recorded recorded(file.path());
  const History history(recorded);
  const std::vector<profile::MeasuredPlan> measured = plans(history);
  ASSERT_EQ(measured.size(), 1u);
  EXPECT_EQ(measured[0].runs.runs, 3);
  EXPECT_EQ(measured[0].plan->peak, plan.peak);
  EXPECT_EQ(measured[0].runs.lowest, plan.peak);
  EXPECT_EQ(measured[0].runs.highest, plan.peak);
  EXPECT_EQ(measured[0].plan->arena, plan.arena);
  for (const auto& buffer : measured[0].plan->buffers) {
    EXPECT_LE(buffer.offset + buffer.bytes, plan.arena);
    EXPECT_LE(buffer.first, buffer.last);
  }
}

TEST(Profile, RunsHaveTheNameOfWhatRuns) {
  const ScratchFile file;
  const Tensor w = full({16, 16}, 0.1);
  const auto model =
      function([&](const Tensor& x) { return matmul(tanh(matmul(x, w)), w); }, {.name = "predict"});
  Graph graph("scores");
  const Tensor x = graph.placeholder("x", float32, {8, 16});
  const Tensor y = matmul(tanh(matmul(x, w)), w);
  Session session(graph);
  {
    const Profile profile(file.path());
    for (int i = 0; i < 2; ++i) model(ones({8, 16}));
    session.run(y, {{x, ones({8, 16})}});
  }
  const Recorded recorded(file.path());
  const History history(recorded);
  std::vector<std::string> names;
  for (const profile::MeasuredPlan& measured : plans(history)) {
    names.emplace_back(recorded.origin(measured.plan->origin).op);
  }
  EXPECT_EQ(names, (std::vector<std::string>{"predict", "scores"}));
  // The arenas are theirs.
  std::map<std::string, int> allocations;
  for (const profile::StorageLife& life : history.storages) {
    ++allocations[std::string(recorded.origin(life.origin).op)];
  }
  EXPECT_EQ(allocations["predict"], 2);
  EXPECT_EQ(allocations["scores"], 1);
  EXPECT_EQ(allocations.count(""), 0u) << "every allocation is somebody's";
}

TEST(Profile, StoragesHaveTheNamesOfTensors) {
  const ScratchFile file;
  Tensor before = ones({4});
  before.set_name("before");
  {
    const Profile profile(file.path());
    Tensor x = ones({5});
    x.set_name("gone");
  }
  const Recorded recorded(file.path());
  const History history(recorded);
  std::vector<std::string> names;
  for (const profile::StorageLife& life : history.storages) {
    if (life.name != 0) names.push_back(recorded.string(life.name));
  }
  EXPECT_EQ(names, (std::vector<std::string>{"before", "gone"}));
}

TEST(Profile, UsesAfterTheDisposalAreTold) {
  const ScratchFile file;
  {
    const Profile profile(file.path());
    const Tensor x = ones({4});
    x.dispose();
    for (int i = 0; i < 3; ++i) EXPECT_THROW(relu(x), DisposedError);
  }
  const Recorded recorded(file.path());
  const History history(recorded);
  ASSERT_EQ(history.misses.size(), 1u);
  const auto& [miss, times] = *history.misses.begin();
  EXPECT_EQ(recorded.origin(miss.disposed).op, "dispose()");
  EXPECT_EQ(recorded.origin(miss.used).op, "relu");
  EXPECT_EQ(times, 3);
}

TEST(Profile, RefusesWhatCannotBe) {
  const ScratchFile file;
  EXPECT_THROW(Profile("/nowhere/at/all"), ProfileError);
  EXPECT_THROW(Profile("/dev/null"), ProfileError);
  EXPECT_THROW(Profile(file.path(), {.capacity = 1}), ProfileError);
  {
    const Profile first(file.path());
    const ScratchFile other;
    EXPECT_THROW(Profile second(other.path()), ProfileError);
    const Tensor x = ones({1});
  }
  EXPECT_GE(Recorded(file.path()).events, 2u) << "the refused one broke the first";
}

TEST(Profile, AnEmptyRecordingAnswersToo) {
  const ScratchFile file;
  { const Profile profile(file.path()); }
  const Recorded recorded(file.path());
  const History history(recorded);
  EXPECT_GE(peak(history).bytes, 0);
  EXPECT_FALSE(timeline(history).empty());
  EXPECT_TRUE(growth(history).empty());
  EXPECT_TRUE(plans(history).empty());
}

}  // namespace
}  // namespace tenure
