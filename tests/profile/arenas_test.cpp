// What lies in the arena of a compiled program: each buffer with its op, layer, line and kind.

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "tenure/profile/exports.h"
#include "tenure/profile/report.h"
#include "tenure/profile/rows.h"
#include "tenure/profile/stacks.h"
#include "tenure/profile/what_if.h"
#include "tests/profile/read_recording.h"
#include "tests/support/small_net.h"

namespace tenure {
namespace {

using profile::GroupBy;
using profile::History;
using profile::Origin;
using profile::RecordedPlan;
using test::Recording;

/// A few steps of training, recorded.
struct Training {
  explicit Training(nn::TrainerOptions options = {}, bool with_spans = false)
      : trainer(
            net, [](const Tensor& y, const Tensor& t) { return mean(square(y - t)); }, adam,
            std::move(options)),
        recording(
            [this] {
              for (int i = 0; i < 3; ++i) {
                trainer.step(x, target);
                mark_step();
              }
            },
            with_spans) {}

  const RecordedPlan& plan() const {
    for (const profile::MeasuredPlan& one : plans(recording.history)) {
      if (recording.recorded.origin(one.plan->origin).op == "training step") return *one.plan;
    }
    throw std::runtime_error("no step was recorded");
  }
  const Origin& origin(std::uint32_t number) const { return recording.recorded.origin(number); }

  test::SmallNet net;
  nn::Adam adam{net.trainable()};
  Tensor x = ones({128, 64});
  Tensor target = zeros({128, 32});
  nn::Trainer trainer;
  Recording recording;
};

TEST(Arenas, EveryBufferHasItsOpLayerLineAndKind) {
  const Training t;
  const RecordedPlan& plan = t.plan();
  ASSERT_FALSE(plan.steps.empty());
  ASSERT_FALSE(plan.buffers.empty());
  std::map<int, std::set<std::string>> layers;
  for (const RecordedPlan::Buffer& buffer : plan.buffers) {
    const Origin& origin = t.origin(buffer.origin);
    EXPECT_FALSE(buffer.op.empty());
    EXPECT_FALSE(origin.op.empty());
    const bool is_of_user =
        origin.file.ends_with("arenas_test.cpp") || origin.file.ends_with("small_net.h");
    EXPECT_TRUE(is_of_user) << origin.file << buffer.op;
    layers[kind_of(buffer)].emplace(origin.scope);
  }
  const auto& saved = layers[profile::kSavedKind];
  EXPECT_TRUE(saved.contains("hidden")) << "what gelu reads on the way back";
  const auto& gradients = layers[static_cast<int>(Category::gradient)];
  EXPECT_TRUE(gradients.contains("out")) << "the way back has the layers of the way forth";
  EXPECT_TRUE(gradients.contains("hidden"));
  // Steps of the update have the path of their parameter.
  std::set<std::string> updated;
  for (const RecordedPlan::Step& step : plan.steps) {
    if (step.category == Category::optimizer) updated.emplace(t.origin(step.origin).scope);
  }
  for (const char* const path : {"hidden/kernel", "hidden/bias", "out/kernel", "out/bias"}) {
    EXPECT_TRUE(updated.contains(path)) << path;
  }
}

TEST(Arenas, BuffersThatLiveAtOnceDoNotOverlap) {
  const Training t;
  const RecordedPlan& plan = t.plan();
  for (std::size_t i = 0; i < plan.buffers.size(); ++i) {
    const RecordedPlan::Buffer& a = plan.buffers[i];
    EXPECT_LE(a.first, a.last);
    EXPECT_LE(a.offset + a.bytes, plan.arena);
    for (std::size_t j = 0; j < i; ++j) {
      const RecordedPlan::Buffer& b = plan.buffers[j];
      if (a.last < b.first || b.last < a.first) continue;
      EXPECT_TRUE(a.offset + a.bytes <= b.offset || b.offset + b.bytes <= a.offset)
          << a.op << " and " << b.op;
    }
  }
}

TEST(Arenas, AFusedLoopSaysAllItsOps) {
  const Tensor w = full({16, 16}, 0.1);
  const auto model = function([&](const Tensor& x) {
    const NameScope first("first");
    const Tensor y = exp(neg(matmul(x, w)));
    const NameScope second("second");
    return matmul(sqrt(y + 1.0), w);
  });
  const Tensor x = ones({8, 16});
  const Recording r([&] { model(x); });
  const RecordedPlan& plan = r.recorded.plans().at(0);
  const auto fused = std::find_if(plan.steps.begin(), plan.steps.end(), [&](const auto& step) {
    return r.recorded.origin(step.origin).op.find(" + ") != std::string_view::npos;
  });
  ASSERT_NE(fused, plan.steps.end());
  const Origin& origin = r.recorded.origin(fused->origin);
  for (const char* const op : {"neg", "exp", "add", "sqrt"}) {
    EXPECT_NE(origin.op.find(op), std::string_view::npos) << origin.op;
  }
  EXPECT_EQ(origin.scope, "first/second") << "the layer of its result";
}

TEST(Arenas, ThePeakIsMadeOfBuffers) {
  const Training t;
  const History& history = t.recording.history;
  const profile::Level highest = peak(history);
  const auto groups = [&](GroupBy by) {
    std::map<std::string, std::int64_t> found;
    std::int64_t sum = 0;
    for (const profile::Group& group : live_at(history, highest.time_ns, by)) {
      found[group.name] = group.bytes;
      sum += group.bytes;
    }
    EXPECT_EQ(sum, highest.bytes) << "every byte is somebody's";
    return found;
  };
  const auto scopes = groups(GroupBy::scope);
  EXPECT_GE(scopes.at("hidden"), 128 * 256 * 4);
  const auto kinds = groups(GroupBy::category);
  EXPECT_GE(kinds.at("saved for backward"), 128 * 256 * 4);
  std::int64_t sum = 0;
  for (int kind = 0; kind < profile::kKinds; ++kind) {
    const std::int64_t bytes = highest.category[static_cast<std::size_t>(kind)];
    sum += bytes;
    const auto found = kinds.find(std::string(profile::kind_name(kind)));
    EXPECT_EQ(bytes, found == kinds.end() ? 0 : found->second) << profile::kind_name(kind);
  }
  EXPECT_EQ(sum, highest.bytes);
  for (const auto& [op, bytes] : groups(GroupBy::op)) EXPECT_NE(op, "training step");
  EXPECT_NE(to_speedscope(history).find("\"name\":\"hidden\""), std::string::npos);
  std::int64_t at_peak = 0;
  for (const profile::Stack& stack : stacks(history)) at_peak += stack.peak_bytes;
  EXPECT_EQ(at_peak + history.base_bytes, highest.bytes);
}

TEST(Arenas, RowsAddUpToWhatWasLiveAtEveryMoment) {
  const Training t;
  const History& history = t.recording.history;
  const auto levels_of = [&](const auto& lives) {
    std::map<std::int64_t, std::int64_t> changes;
    for (const auto& life : lives) {
      changes[life.birth_ns] += life.bytes;
      if (life.death_ns != profile::kNever) changes[life.death_ns] -= life.bytes;
    }
    std::erase_if(changes, [](const auto& change) { return change.second == 0; });
    return changes;
  };
  for (const std::size_t most : {profile::kMostBufferRows, std::size_t{1}}) {
    const std::vector<profile::Row> all = rows(history, most);
    EXPECT_GT(all.size(), history.storages.size());
    EXPECT_EQ(levels_of(all), levels_of(history.storages));
    EXPECT_TRUE(std::is_sorted(all.begin(), all.end(), [](const auto& a, const auto& b) {
      return a.birth_ns < b.birth_ns;
    }));
  }
  // Of three runs, the first, the last and that at the peak are told apart.
  const auto arenas = [&](std::size_t most) {
    std::int64_t whole = 0;
    for (const profile::Row& row : rows(history, most)) whole += row.op == "training step";
    return whole;
  };
  EXPECT_EQ(arenas(profile::kMostBufferRows), 0);
  EXPECT_EQ(arenas(1), 1);
}

TEST(Arenas, KernelsHaveTheLayerOfTheirStep) {
  const Training t({}, true);
  const RecordedPlan& plan = t.plan();
  std::map<std::uint32_t, std::int64_t> kernels;
  for (const profile::Span& span : t.recording.history.spans) {
    if (span.kind == profile::Span::Kind::kernel) ++kernels[span.origin];
  }
  std::map<std::uint32_t, std::int64_t> wanted;
  for (const RecordedPlan::Step& step : plan.steps) wanted[step.origin] += 3;
  EXPECT_EQ(kernels, wanted);
  const profile::PlanRuns& runs = t.recording.history.runs.at(plan.id);
  ASSERT_EQ(runs.steps.size(), plan.steps.size());
  std::int64_t ns = 0;
  for (const auto& step : runs.steps) {
    EXPECT_EQ(step.times, 3);
    ns += step.ns;
  }
  EXPECT_LE(ns, runs.ns);
  const std::string trace = to_chrome_trace(t.recording.history);
  EXPECT_NE(trace.find("\"scope\":\"hidden\""), std::string::npos);
  EXPECT_NE(trace.find("\"saved for backward\":"), std::string::npos);
}

TEST(Arenas, WhatIsComputedTwiceIsMarked) {
  const Training plain;
  const auto again = [](const RecordedPlan& plan) {
    return std::count_if(plan.steps.begin(), plan.steps.end(),
                         [](const auto& step) { return step.is_again; });
  };
  EXPECT_EQ(again(plain.plan()), 0);
  const Training tight({.recompute = 1.0});
  ASSERT_GT(tight.trainer.plan(tight.x, tight.target).plan.recomputed, 0);
  const RecordedPlan& plan = tight.plan();
  EXPECT_GT(again(plan), 0);
  std::int64_t repeated = 0;
  for (const RecordedPlan::Buffer& buffer : plan.buffers) {
    const bool is_repeated = plan.steps[static_cast<std::size_t>(buffer.first)].is_again;
    if (buffer.category == Category::workspace) continue;
    EXPECT_EQ(buffer.is_again, is_repeated);
    repeated += buffer.is_again ? 1 : 0;
    EXPECT_FALSE(buffer.is_again && buffer.is_saved);
  }
  EXPECT_GT(repeated, 0);
  // The program of the planner is the same: each unit once.
  std::set<std::uint32_t> units;
  for (const RecordedPlan::Step& step : plan.steps) units.insert(step.unit);
  EXPECT_EQ(units.size(), plain.plan().steps.size());
}

TEST(Arenas, WhatVariablesHoldIsOfTheirLayer) {
  const Tensor x = ones({128, 64});
  const Tensor target = zeros({128, 32});
  const Recording r([&] {
    const test::SmallNet net;
    nn::Adam adam(net.trainable());
    nn::Trainer trainer(
        net, [](const Tensor& y, const Tensor& t) { return mean(square(y - t)); }, adam);
    for (int i = 0; i < 2; ++i) trainer.step(x, target);
  });
  std::map<std::string, std::int64_t> scopes;
  for (const profile::Group& group : live_at(r.history, peak(r.history).time_ns, GroupBy::scope)) {
    scopes[group.name] = group.bytes;
  }
  EXPECT_GE(scopes["hidden"], 64 * 256 * 4) << "also after steps have changed them";
  EXPECT_EQ(scopes["adam/mean/hidden"], 64 * 256 * 4 + 256 * 4);
  EXPECT_EQ(scopes["adam/square/out"], 256 * 32 * 4 + 32 * 4);
}

TEST(Arenas, GradientsOfEagerCallsHaveTheirLayerToo) {
  const Tensor x = full({64}, 0.5);
  std::vector<Tensor> kept;
  const Recording r([&] {
    const NameScope outer("step");
    GradientTape tape;
    tape.watch(x);
    Tensor y;
    {
      const NameScope layer("layer");
      y = tanh(square(x));
    }
    const NameScope elsewhere("elsewhere");
    kept.push_back(tape.gradient(sum(y), x));
    kept.push_back(ones({64}));
  });
  std::map<std::string, std::int64_t> scopes;
  for (const profile::StorageLife& life : r.history.storages) {
    if (life.was_before || !life.is_live()) continue;
    scopes[std::string(r.recorded.origin(life.origin).scope)] += life.bytes;
  }
  EXPECT_EQ(scopes["step/layer"], 256) << "the gradient, which square made";
  EXPECT_EQ(scopes["step/elsewhere"], 256) << "names are as before afterwards";
}

TEST(WhatIf, APartOfThePeakHasAPrice) {
  const Training t;
  const RecordedPlan& plan = t.plan();
  const std::int64_t all = profile::planned_peak(plan);
  EXPECT_LE(all, plan.peak) << "an arena has gaps";
  const std::vector<profile::WhatIf> answers =
      what_if(plan, {all, all * 80 / 100, all * 60 / 100, 1});
  ASSERT_EQ(answers.size(), 4u);
  EXPECT_TRUE(answers[0].fits);
  EXPECT_TRUE(answers[0].again.empty());
  EXPECT_EQ(answers[0].added, 0);
  EXPECT_FALSE(answers[3].fits);
  EXPECT_GT(answers[3].peak, 1);
  for (std::size_t i = 0; i < answers.size(); ++i) {
    EXPECT_EQ(answers[i].fits, answers[i].peak <= answers[i].budget);
    const double before = i == 0 ? 0 : answers[i - 1].added;
    EXPECT_GE(answers[i].added, before) << "less is never cheaper";
    for (const profile::ComputedAgain& one : answers[i].again) {
      ASSERT_LT(one.step, plan.steps.size());
      EXPECT_GE(one.times, 1);
    }
  }
  EXPECT_FALSE(answers[3].again.empty());
}

TEST(WhatIf, AProgramThatComputesTwiceHasTheSamePrices) {
  const Training plain;
  const Training tight({.recompute = 1.0});
  const std::int64_t budget = profile::planned_peak(plain.plan()) * 7 / 10;
  const profile::WhatIf a = what_if(plain.plan(), {budget}).front();
  const profile::WhatIf b = what_if(tight.plan(), {budget}).front();
  EXPECT_EQ(a.fits, b.fits);
  EXPECT_EQ(profile::dag_of(plain.plan()).nodes.size(), profile::dag_of(tight.plan()).nodes.size());
}

TEST(Report, SaysWhatLessMemoryWouldCost) {
  const Training t;
  const History& history = t.recording.history;
  using profile::WhatIfs;
  EXPECT_EQ(report_data(history).find("\"percent\":60"), std::string::npos);
  EXPECT_NE(report_data(history, WhatIfs::quick).find("\"percent\":60"), std::string::npos);
  EXPECT_NE(report_data(history).find("\"saved for backward\""), std::string::npos);
}

TEST(Arenas, CsvHasALineForEachPart) {
  const Training t;
  const std::string text = to_csv(t.recording.history);
  const std::size_t heading = text.find('\n');
  const auto columns = std::count(text.begin(), text.begin() + static_cast<long>(heading), ',');
  EXPECT_EQ(columns, 18);
  std::ptrdiff_t commas = 0;
  bool is_quoted = false;
  for (const char c : text) {
    if (c == '"') is_quoted = !is_quoted;
    if (c == ',' && !is_quoted) ++commas;
    if (c != '\n' || is_quoted) continue;
    EXPECT_EQ(std::exchange(commas, 0), columns);
  }
  EXPECT_NE(text.find(",saved for backward,"), std::string::npos);
  EXPECT_NE(text.find(",unused in the arena,"), std::string::npos);
  EXPECT_EQ(static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n')),
            rows(t.recording.history).size() + 1);
}

TEST(Arenas, ARunTellsNoEventForEachBuffer) {
  const Training t;
  std::map<profile::EventKind, std::size_t> events;
  t.recording.recorded.for_each([&](const profile::Event& event) {
    if ((event.extra & profile::kBefore) == 0) ++events[event.kind];
    return true;
  });
  EXPECT_EQ(events[profile::EventKind::kernel], 3 * t.plan().steps.size());
  EXPECT_LT(events[profile::EventKind::allocate], 2 * t.plan().buffers.size())
      << "three arenas, and the results";
}

TEST(Arenas, ALargeProgramIsTold) {
  const auto model = function([](const Tensor& x) {
    Tensor y = x;
    std::vector<Tensor> sums;
    for (int i = 0; i < 3000; ++i) {
      const NameScope name("layer" + std::to_string(i));
      y = cumsum(y, 0);
      sums.push_back(y);
    }
    return stack(sums);
  });
  const Tensor x = ones({2});
  const Recording r([&] { model(x); });
  const RecordedPlan& plan = r.recorded.plans().at(0);
  EXPECT_GE(plan.steps.size(), 3000u);
  EXPECT_GE(plan.buffers.size(), 2999u);
  EXPECT_EQ(r.recorded.origin(plan.steps[2500].origin).scope, "layer2500");
  EXPECT_EQ(r.recorded.damaged, 0u);
}

}  // namespace
}  // namespace tenure
