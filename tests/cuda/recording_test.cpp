#include <gtest/gtest.h>

#include <algorithm>

#include "tenure/profile/queries.h"
#include "tenure/profile/watch.h"
#include "tests/cuda/emulated.h"
#include "tests/profile/read_recording.h"

// What is recorded and watched of a GPU: its memory, what others have of it, and when it did what.

namespace tenure {
namespace {

using profile::Span;
using test::emulated_gpu;
using test::Recording;

TEST(GpuRecording, HasItsMemory) {
  const Device device = emulated_gpu();
  const Recording recording([&] {
    const Tensor there = copy_to(ones({300}), device);
    static_cast<void>(there + 1);
  });
  const std::vector<profile::DeviceLevel> levels = by_device(recording.history);
  ASSERT_EQ(levels.size(), 2u);
  EXPECT_TRUE(levels[1].device == device);
  EXPECT_EQ(levels[1].peak, 2400);
  EXPECT_EQ(levels[1].at_end, 0);
  // What the emulated driver says that its context takes, and that there is.
  EXPECT_EQ(levels[1].outside, std::int64_t{48} << 20);
  EXPECT_EQ(levels[1].total, std::int64_t{512} << 20);
  EXPECT_GE(levels[1].reserved, levels[1].peak);
}

/// Each kernel of a training step has the time that the GPU took for it, and the step all of them.
TEST(GpuRecording, HasTheTimesOfTheGpu) {
  const DeviceScope scope(emulated_gpu());
  const nn::Sequential model(nn::Dense(5, 8), nn::Tanh(), nn::Dense(8, 4));
  nn::Adam adam(model.trainable(), 0.05);
  nn::Trainer trainer(
      model, [](const Tensor& y, const Tensor& t) { return cross_entropy(y, t); }, adam);
  const Tensor x = normal({6, 5});
  const Tensor target = randint(0, 4, {6});
  constexpr int kSteps = 3;
  const Recording recording(
      [&] {
        for (int i = 0; i < kSteps; ++i) trainer.step(x, target);
      },
      true);
  const profile::History& history = recording.history;
  const auto count = [&](Span::Kind kind) {
    return std::count_if(history.spans.begin(), history.spans.end(), [&](const Span& span) {
      return span.kind == kind && span.device == default_device();
    });
  };
  ASSERT_EQ(history.runs.size(), 1u);
  const profile::PlanRuns& runs = history.runs.begin()->second;
  EXPECT_EQ(count(Span::Kind::launch), static_cast<std::ptrdiff_t>(kSteps * runs.steps.size()));
  EXPECT_GE(count(Span::Kind::kernel), count(Span::Kind::launch));
  std::int64_t before = 0;
  for (const Span& span : history.spans) {
    if (span.kind != Span::Kind::kernel || span.device == cpu) continue;
    EXPECT_GE(span.begin_ns, before);
    EXPECT_LE(span.end_ns, history.end_ns);
    before = span.end_ns;
  }
  std::int64_t of_steps = 0;
  for (const profile::PlanRuns::StepTime& step : runs.steps) {
    EXPECT_EQ(step.times, kSteps);
    EXPECT_GE(step.ns, 0);
    of_steps += step.ns;
  }
  EXPECT_LE(of_steps, runs.ns);
}

TEST(GpuRecording, IsWatched) {
  const Device device = emulated_gpu();
  const Tensor there = copy_to(ones({1000}), device);
  const std::string snapshot = profile::watch_snapshot();
  const std::size_t at = snapshot.find(R"("device":"cuda:0")");
  ASSERT_NE(at, std::string::npos) << snapshot;
  const std::string of_gpu = snapshot.substr(at, snapshot.find(R"("device":)", at + 1) - at);
  EXPECT_NE(of_gpu.find(R"("outside_bytes":50331648,"total_bytes":536870912)"), std::string::npos);
  EXPECT_NE(of_gpu.find("recording_test.cpp"), std::string::npos) << of_gpu;
  EXPECT_EQ(snapshot.find(R"("device":"cpu")"), snapshot.find(R"("device":)"));
}

}  // namespace
}  // namespace tenure
