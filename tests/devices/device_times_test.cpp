#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <thread>
#include <vector>

#include "tenure/profile/device_times.h"
#include "tenure/profile/exports.h"
#include "tenure/profile/queries.h"
#include "tenure/tenure.h"
#include "tests/profile/read_recording.h"
#include "tests/support/scratch.h"
#include "tests/support/test_device.h"

// What a device that computes later did when, in recordings: in its own time, not in that of the
// calls that gave it the work.

namespace tenure {
namespace {

using profile::History;
using profile::Span;
using test::kTestDevice;
using test::Recording;
using test::test_device;

Tensor there(Shape shape) {
  test_device();
  return copy_to(ones(shape), kTestDevice);
}

/// While it lives the device does nothing, and some time after it was given work.
class Held {
 public:
  Held() { test_device().hold(true); }
  ~Held() {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    test_device().hold(false);
  }
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;
};

std::vector<Span> spans_of(const History& history, Span::Kind kind) {
  std::vector<Span> found;
  for (const Span& span : history.spans) {
    if (span.kind == kind && span.device == kTestDevice) found.push_back(span);
  }
  return found;
}

Tensor chain(const Tensor& x) { return tanh(matmul(x, x) + 1) * sum(x, {0}, true); }

/// Ops and programs that were given to a device that stands still begin when it goes on.
TEST(DeviceTimes, AreTheDevicesAndNotTheCalls) {
  const Tensor x = there({16, 16});
  const auto f = function(chain);
  static_cast<void>(f(x));  // compiled
  const Recording recording(
      [&] {
        static_cast<void>(ones({3}));
        const Held held;
        static_cast<void>(exp(x));
        static_cast<void>(f(x));
        mark_step("given");
      },
      true);
  const History& history = recording.history;
  ASSERT_EQ(history.steps.size(), 1u);
  const std::int64_t given = history.steps[0].time_ns;
  const std::vector<Span> kernels = spans_of(history, Span::Kind::kernel);
  const std::vector<Span> launches = spans_of(history, Span::Kind::launch);
  ASSERT_EQ(history.recorded.plans().size(), 1u);
  EXPECT_EQ(launches.size(), history.recorded.plans()[0].steps.size());
  ASSERT_EQ(kernels.size(), launches.size() + 1) << "exp, and the program's";
  for (const Span& launch : launches) EXPECT_LT(launch.end_ns, given);
  std::int64_t before = 0;
  for (const Span& kernel : kernels) {
    EXPECT_EQ(kernel.thread, Span::kNoThread);
    EXPECT_GT(kernel.end_ns, given);
    EXPECT_GE(kernel.begin_ns, before) << "a queue does one after the other";
    before = kernel.end_ns;
  }
  EXPECT_EQ(history.recorded.origin(kernels[0].origin).op, "exp");
  // Each line has the time that the device took, and a run all from its first kernel to its last.
  std::int64_t of_kernels = 0;
  for (const Span& kernel : kernels) of_kernels += kernel.end_ns - kernel.begin_ns;
  std::int64_t of_lines = 0;
  for (const Span& kernel : kernels) {
    const auto spent = history.time_spent.find(kernel.origin);
    ASSERT_NE(spent, history.time_spent.end());
    EXPECT_GT(spent->second.times, 0);
  }
  for (const auto& [origin, spent] : history.time_spent) {
    const bool is_kernel = std::any_of(kernels.begin(), kernels.end(),
                                       [o = origin](const Span& k) { return k.origin == o; });
    if (is_kernel) of_lines += spent.ns;
  }
  EXPECT_EQ(of_lines, of_kernels);
  const profile::PlanRuns& runs = history.runs.begin()->second;
  EXPECT_EQ(runs.ns, kernels.back().end_ns - kernels[1].begin_ns);
  std::int64_t of_steps = 0;
  for (const profile::PlanRuns::StepTime& step : runs.steps) of_steps += step.ns;
  EXPECT_EQ(of_steps, of_kernels - (kernels[0].end_ns - kernels[0].begin_ns));
  const std::string trace = to_chrome_trace(history);
  EXPECT_NE(trace.find(R"("name":"process_name","args":{"name":"test:0"})"), std::string::npos);
  EXPECT_NE(trace.find(R"("name":"live bytes of test:0")"), std::string::npos);
}

/// Views are no work, and while nothing is recorded the device is given nothing more.
TEST(DeviceTimes, CostNothingWhereNobodyRecords) {
  const Tensor x = there({16, 16});
  const auto f = function(chain);
  const auto work = [&] {
    static_cast<void>(f(x));
    static_cast<void>(transpose(x) + 1);
  };
  work();
  const auto queued_by_work = [&] {
    const std::size_t before = test_device().queued();
    work();
    return test_device().queued() - before;
  };
  const std::size_t count = queued_by_work();
  std::size_t recorded = 0;
  const Recording recording([&] { recorded = queued_by_work(); }, true);
  EXPECT_EQ(recorded, count + spans_of(recording.history, Span::Kind::kernel).size());
  EXPECT_EQ(queued_by_work(), count);
}

/// A recording that ends with its program tells what the device has done by then; of the rest it
/// has what the calls took.
TEST(DeviceTimes, AreTheCallsWhereTheProgramEnded) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const test::SharedScratch folder;
  const std::string file = folder / "ended.tenure";
  EXPECT_EXIT(
      {
        const Tensor x = there({16, 16});
        const auto f = function(chain);
        static_cast<void>(f(x));
        const Profile profile(file);
        test_device().hold(true);
        static_cast<void>(exp(x));
        static_cast<void>(f(x));
        _exit(0);
      },
      testing::ExitedWithCode(0), "");
  const profile::Recorded recorded(file);
  const History history(recorded, true);
  EXPECT_TRUE(spans_of(history, Span::Kind::kernel).empty());
  ASSERT_FALSE(spans_of(history, Span::Kind::launch).empty());
  for (const auto& [origin, spent] : history.time_spent) EXPECT_GE(spent.ns, 0);
  EXPECT_GT(history.runs.begin()->second.ns, 0);
}

/// Threads that share a device have its times one after the other, and none is lost.
TEST(DeviceTimes, AreOfAllThreads) {
  const Tensor x = there({16, 16});
  const auto f = function(chain);
  static_cast<void>(f(x));
  const Recording recording(
      [&] {
        std::vector<std::thread> threads;
        for (int t = 0; t < 3; ++t) {
          threads.emplace_back([&] {
            for (int i = 0; i < 40; ++i) static_cast<void>(i % 2 == 0 ? f(x) : exp(x));
          });
        }
        for (std::thread& thread : threads) thread.join();
      },
      true);
  const std::vector<Span> kernels = spans_of(recording.history, Span::Kind::kernel);
  const std::size_t steps = recording.recorded.plans().at(0).steps.size();
  EXPECT_EQ(kernels.size(), 3 * 20 * (steps + 1));
  std::int64_t before = 0;
  for (const Span& kernel : kernels) {
    EXPECT_GE(kernel.begin_ns, before);
    EXPECT_GE(kernel.end_ns, kernel.begin_ns);
    before = kernel.end_ns;
  }
}

/// A queue whose clock goes at a speed of its own, and which gets to nothing by itself.
class SlowClock final : public ops::QueueClock {
 public:
  explicit SlowClock(double speed) : speed_(speed) {}
  bool mark(std::uint64_t number) noexcept override {
    marks_.push_back(number);
    return true;
  }
  std::optional<Passed> next(bool /*waits*/) noexcept override {
    if (marks_.empty()) return std::nullopt;
    const std::uint64_t number = marks_.front();
    marks_.pop_front();
    const std::chrono::duration<double, std::nano> now =
        std::chrono::steady_clock::now().time_since_epoch();
    return Passed{.number = number, .ns = static_cast<std::int64_t>(now.count() * speed_)};
  }

 private:
  double speed_;
  std::deque<std::uint64_t> marks_;
};

/// Whatever the clocks do, a mark is told between the moments when it was asked for and seen.
TEST(DeviceTimes, LieBetweenTheCallAndTheLook) {
  for (const double speed : {0.5, 0.999, 1.0, 1.001, 3.0}) {
    profile::Clock host;
    host.start();
    profile::DeviceTimes times(std::make_unique<SlowClock>(speed));
    times.begin(host);
    std::int64_t last = 0;
    for (std::uint64_t number = 1; number < 200; ++number) {
      const std::int64_t asked = host.now();
      times.mark(number);
      int told = 0;
      times.tell_passed(true, [&](std::uint64_t which, std::int64_t time) {
        ++told;
        EXPECT_EQ(which, number);
        EXPECT_GE(time, asked);
        EXPECT_LE(time, host.now());
        EXPECT_GE(time, last);
        last = time;
      });
      EXPECT_EQ(told, 1);
    }
  }
}

/// What others have of a device's memory makes up, with the pool's, what is taken of it.
TEST(OutsideMemory, IsInRecordings) {
  const std::int64_t outside = 123 << 20;
  test_device().set_outside(outside);
  const Recording recording([&] {
    static_cast<void>(there({300, 1000}) + 1);
    EXPECT_EQ(memory_outside(kTestDevice).bytes, outside);
    EXPECT_EQ(memory_outside(cpu).total, 0);
  });
  test_device().set_outside(0);
  const std::vector<profile::DeviceLevel> levels = by_device(recording.history);
  ASSERT_EQ(levels.size(), 2u);
  EXPECT_EQ(levels[0].total, 0);
  EXPECT_EQ(levels[1].outside, outside);
  EXPECT_EQ(levels[1].total, static_cast<std::int64_t>(test::ShadowMemory::kCapacity));
  EXPECT_GE(levels[1].reserved, levels[1].peak);
  EXPECT_EQ(levels[1].peak, peak(recording.history, kTestDevice).bytes);
}

/// Each device's levels are its own, and make up those of all.
TEST(Levels, OfDevicesAddUp) {
  const Recording recording([] {
    std::vector<Tensor> kept;
    for (int i = 1; i < 20; ++i) {
      kept.push_back(i % 3 == 0 ? there({i * 100}) : ones({i * 50}));
      if (i % 4 == 0) kept.erase(kept.begin());
    }
  });
  const History& history = recording.history;
  for (std::int64_t time = 0; time <= history.end_ns; time += history.end_ns / 50 + 1) {
    std::int64_t all = 0;
    std::int64_t each = 0;
    const auto by = profile::GroupBy::line;
    for (const auto& group : live_at(history, time, by)) all += group.bytes;
    for (const Device device : history.devices) {
      for (const auto& group : live_at(history, time, by, device)) each += group.bytes;
    }
    EXPECT_EQ(each, all) << time;
  }
  for (const profile::DeviceLevel& level : by_device(history)) {
    EXPECT_EQ(level.peak, peak(history, level.device).bytes);
    std::int64_t highest = 0;
    for (const profile::Level& one : timeline(history, 100, level.device)) {
      highest = std::max(highest, one.bytes);
    }
    EXPECT_EQ(highest, level.peak);
  }
}

}  // namespace
}  // namespace tenure
