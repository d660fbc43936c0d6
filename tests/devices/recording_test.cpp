#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tenure/profile/exports.h"
#include "tenure/profile/queries.h"
#include "tenure/profile/report.h"
#include "tenure/tenure.h"
#include "tests/profile/read_recording.h"
#include "tests/support/test_device.h"

// A recording tells on which device something was allocated, computed and limited.

namespace tenure {
namespace {

using profile::GroupBy;
using profile::Span;
using test::kOtherTestDevice;
using test::kTestDevice;
using test::Recording;
using test::test_device;

void work() {
  const Tensor here = ones({100});
  const Tensor there = copy_to(here, kTestDevice);
  const Tensor elsewhere = copy_to(ones({300}), kOtherTestDevice);
  const Budget budget("part", 1 << 20, kOtherTestDevice);
  const auto f = function([](const Tensor& x) { return matmul(tanh(x), x) * 2; });
  static_cast<void>(f(here));
  static_cast<void>(f(elsewhere));
  mark_step();
}

TEST(DeviceRecording, SaysWhereMemoryWas) {
  test_device(0);
  test_device(1);
  const Tensor before = copy_to(ones({50}), kTestDevice);
  const Recording recording(work);
  const profile::History& history = recording.history;
  EXPECT_TRUE(history.devices == (std::vector{cpu, kTestDevice, kOtherTestDevice}));
  std::int64_t on_second = 0;
  for (const profile::StorageLife& life : history.storages) {
    if (life.was_before && life.bytes == 200) {
      EXPECT_TRUE(life.device == kTestDevice);
    }
    if (life.bytes == 1200 && life.device == kOtherTestDevice) ++on_second;
  }
  EXPECT_EQ(on_second, 1);
  const std::vector<profile::DeviceLevel> levels = by_device(history);
  ASSERT_EQ(levels.size(), 3u);
  EXPECT_EQ(levels[1].peak, 600);  // before and there
  EXPECT_EQ(levels[1].at_end, 200);
  EXPECT_GE(levels[2].peak, 1200);
  EXPECT_EQ(levels[2].at_end, 0);
  std::vector<std::string> groups;
  for (const profile::Group& group : live_at(history, peak(history).time_ns, GroupBy::device)) {
    groups.push_back(group.name);
  }
  EXPECT_NE(std::find(groups.begin(), groups.end(), "test:1"), groups.end());
  ASSERT_EQ(history.budgets.size(), 1u);
  EXPECT_TRUE(history.budgets[0].device == kOtherTestDevice);
}

TEST(DeviceRecording, SaysWhereKernelsRanAndWhosePoolItWas) {
  test_device(0);
  test_device(1);
  const Recording recording(work, true);
  const profile::History& history = recording.history;
  const auto count = [&](Span::Kind kind, Device device) {
    return std::count_if(history.spans.begin(), history.spans.end(), [&](const Span& span) {
      return span.kind == kind && span.device == device;
    });
  };
  EXPECT_EQ(count(Span::Kind::run, cpu), 1);
  EXPECT_EQ(count(Span::Kind::run, kTestDevice), 0);
  EXPECT_EQ(count(Span::Kind::run, kOtherTestDevice), 1);
  EXPECT_EQ(count(Span::Kind::launch, kOtherTestDevice), count(Span::Kind::kernel, cpu))
      << "the same program";
  EXPECT_EQ(count(Span::Kind::kernel, kTestDevice), 1) << "a copy";
  EXPECT_EQ(count(Span::Kind::kernel, kOtherTestDevice), 1 + count(Span::Kind::kernel, cpu));
  for (const Device device : {cpu, kTestDevice, kOtherTestDevice}) {
    EXPECT_TRUE(std::any_of(history.parts.begin(), history.parts.end(), [&](const auto& part) {
      return part.device == device && part.bytes > 0 && !part.is_slab;
    })) << name_of(device);
  }
  EXPECT_NE(to_chrome_trace(history).find(R"("device":"test:1")"), std::string::npos);
  EXPECT_NE(report_data(history).find(R"("devices":["cpu","test:0","test:1"])"), std::string::npos);
}

/// Where there is but one, nothing speaks of devices.
TEST(DeviceRecording, OfTheCpuAloneHasOneDevice) {
  const Recording recording([] { static_cast<void>(ones({3}) + 1); }, true);
  EXPECT_TRUE(recording.history.devices == std::vector{cpu});
  EXPECT_EQ(to_chrome_trace(recording.history).find(R"("device":)"), std::string::npos);
}

}  // namespace
}  // namespace tenure
