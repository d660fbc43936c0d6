#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zlib.h>

#include <chrono>
#include <cstring>
#include <ctime>
#include <functional>
#include <thread>

#include "tenure/profile/exports.h"
#include "tenure/profile/queries.h"
#include "tenure/profile/report.h"
#include "tenure/profile/text.h"
#include "tenure/tenure.h"
#include "tests/profile/scratch.h"
#include "tests/support/share.h"

// What recordings answer, and the forms that they are exported in.

namespace tenure {
namespace {

using profile::GroupBy;
using profile::History;
using profile::Recorded;
using test::ScratchFile;

/// A recording of `work`, read.
struct Recording {
  template <class Work>
  explicit Recording(const Work& work, bool with_spans = false)
      : recorded(record(file, work)), history(recorded, with_spans) {}
  template <class Work>
  static Recorded record(const ScratchFile& file, const Work& work) {
    {
      const Profile profile(file.path());
      work();
    }
    return Recorded(file.path());
  }
  ScratchFile file;
  Recorded recorded;
  History history;
};

std::string unpacked(const std::string& bytes) {
  std::string result(std::size_t{1} << 24, '\0');
  z_stream stream{};
  EXPECT_EQ(inflateInit2(&stream, 15 + 32), Z_OK);
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(result.data());
  stream.avail_out = static_cast<uInt>(result.size());
  EXPECT_EQ(inflate(&stream, Z_FINISH), Z_STREAM_END);
  result.resize(stream.total_out);
  inflateEnd(&stream);
  return result;
}

TEST(Queries, ThePeakByOpLineScopeAndCategory) {
  const std::int64_t before = memory().bytes;
  const Recording r([] {
    const NameScope outer("model");
    const Tensor small = ones({10});
    {
      const NameScope inner("head");
      const CategoryScope category(Category::gradient);
      const Tensor large = zeros({100});
      const Tensor largest = full({1000}, 1.0);
    }
    const Tensor later = ones({20});
  });
  const profile::Level highest = peak(r.history);
  EXPECT_EQ(highest.bytes, before + 4 * 1110);
  EXPECT_EQ(highest.category[static_cast<std::size_t>(Category::gradient)], 4400);
  const auto ops = live_at(r.history, highest.time_ns, GroupBy::op);
  EXPECT_EQ(ops[0].name, "full");
  EXPECT_EQ(ops[0].bytes, 4000);
  const auto scopes = live_at(r.history, highest.time_ns, GroupBy::scope);
  EXPECT_EQ(scopes[0].name, "model/head");
  EXPECT_EQ(scopes[0].bytes, 4400);
  EXPECT_EQ(scopes[0].storages, 2);
  const auto categories = live_at(r.history, highest.time_ns, GroupBy::category);
  EXPECT_EQ(categories[0].name, "gradient");
  const auto lines = live_at(r.history, highest.time_ns, GroupBy::line);
  EXPECT_TRUE(lines[0].name.starts_with("full at queries_test.cpp:")) << lines[0].name;
}

TEST(Queries, TheTimelineHasThePeak) {
  const Recording r([] {
    for (int i = 0; i < 200; ++i) const Tensor x = ones({i + 1});
  });
  const std::int64_t highest = peak(r.history).bytes;
  const std::vector<profile::Level> levels = timeline(r.history, 50);
  ASSERT_EQ(levels.size(), 50u);
  std::int64_t seen = 0;
  for (std::size_t i = 0; i < levels.size(); ++i) {
    seen = std::max(seen, levels[i].bytes);
    EXPECT_GE(levels[i].time_ns, levels[i == 0 ? 0 : i - 1].time_ns);
  }
  EXPECT_EQ(seen, highest);
}

TEST(Queries, GrowthNamesTheLine) {
  std::vector<Tensor> kept;
  Site line;
  const Recording grows([&] {
    for (int i = 0; i < 20; ++i) {
      kept.push_back(ones({8}, float32, line = Site::current()));
      const Tensor temporary = zeros({100});
      mark_step("train");
    }
  });
  const std::vector<profile::Loop> loops = growth(grows.history);
  ASSERT_EQ(loops.size(), 1u);
  EXPECT_EQ(loops[0].name, "train");
  EXPECT_EQ(loops[0].steps, 20);
  ASSERT_EQ(loops[0].growing.size(), 1u);
  EXPECT_EQ(grows.recorded.origin(loops[0].growing[0].origin).line, line.line());
  EXPECT_DOUBLE_EQ(loops[0].growing[0].bytes_per_step, 32);
  EXPECT_DOUBLE_EQ(loops[0].growing[0].storages_per_step, 1);
}

TEST(Queries, WhatComesOnceIsNoGrowthAndWhatComesSlowlyIs) {
  std::vector<Tensor> kept;
  const auto grows = [&](const std::function<bool(int)>& keeps) {
    const Recording r([&] {
      for (int i = 0; i < 40; ++i) {
        if (keeps(i)) kept.push_back(ones({8}));
        mark_step();
      }
    });
    return !growth(r.history).at(0).growing.empty();
  };
  for (const int once : {0, 5, 20, 38, 39}) {
    EXPECT_FALSE(grows([&](int i) { return i == once; })) << once;
  }
  EXPECT_FALSE(grows([](int i) { return i == 10 || i == 39; })) << "two sizes of batches";
  EXPECT_TRUE(grows([](int i) { return i % 7 == 0; }));
  EXPECT_TRUE(grows([](int) { return true; }));
}

TEST(Queries, ViewsGrowWithoutBytes) {
  const Recording r([] {
    const Tensor base = ones({8});
    std::vector<Tensor> kept;
    for (int i = 0; i < 20; ++i) {
      kept.push_back(reshape(base, {2, 4}));
      mark_step();
    }
  });
  const std::vector<profile::Loop> loops = growth(r.history);
  ASSERT_EQ(loops.size(), 1u);
  ASSERT_EQ(loops[0].growing.size(), 1u);
  const profile::Growth& line = loops[0].growing[0];
  EXPECT_EQ(r.recorded.origin(line.origin).op, "reshape");
  EXPECT_DOUBLE_EQ(line.sharers_per_step, 1);
  EXPECT_DOUBLE_EQ(line.bytes_per_step, 0);
}

TEST(Queries, ASteadyLoopDoesNotGrow) {
  const Recording r([] {
    Tensor state = ones({8});
    for (int i = 0; i < 20; ++i) {
      state = state * 0.5;
      mark_step();
    }
    std::vector<Tensor> warm;
    for (int i = 0; i < 3; ++i) {
      warm.push_back(ones({1}));
      mark_step("short");
    }
  });
  const std::vector<profile::Loop> loops = growth(r.history);
  ASSERT_EQ(loops.size(), 2u);
  for (const profile::Loop& loop : loops) EXPECT_TRUE(loop.growing.empty()) << loop.name;
  EXPECT_EQ(loops[0].name, "short");
  EXPECT_FALSE(loops[0].can_tell);
  EXPECT_TRUE(loops[1].can_tell);
}

TEST(Queries, EndingsLateEarlyAndNever) {
  static Tensor never;
  const Recording r([] {
    Tensor late = full({1000}, 1.0);
    const Tensor y = relu(late);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    const Tensor more = zeros({1000});
    late = Tensor();
    const Tensor base = ones({10});
    const Tensor view = reshape(base, {5, 2});
    base.dispose();
    never = arange(7);
  });
  const profile::Endings all = endings(r.history);
  ASSERT_FALSE(all.late.empty());
  const auto op_of = [&](const profile::Ending& e) { return r.recorded.origin(e.origin).op; };
  const auto late = std::find_if(all.late.begin(), all.late.end(),
                                 [&](const auto& e) { return op_of(e) == "full"; });
  ASSERT_NE(late, all.late.end());
  EXPECT_GE(late->idle_seconds, 0.019);
  ASSERT_EQ(all.early.size(), 1u);
  EXPECT_EQ(op_of(all.early[0]), "dispose()");
  const auto left = std::find_if(all.never.begin(), all.never.end(),
                                 [&](const auto& e) { return op_of(e) == "arange"; });
  ASSERT_NE(left, all.never.end());
  EXPECT_EQ(left->bytes, 56);
  EXPECT_LE(all.least_peak, peak(r.history).bytes - 4000) << "full was idle at the peak";
  never = Tensor();
}

TEST(Queries, AnArenaIsNotIdle) {
  const Tensor w = full({16, 16}, 0.1);
  const auto model =
      function([&](const Tensor& x) { return matmul(tanh(matmul(x, w)), w); }, {.name = "predict"});
  const Tensor x = ones({8, 16});
  const Recording r([&] { model(x); });
  const profile::Endings all = endings(r.history);
  const auto arena = std::find_if(all.late.begin(), all.late.end(), [&](const auto& ending) {
    return r.recorded.origin(ending.origin).op == "predict";
  });
  ASSERT_NE(arena, all.late.end());
  EXPECT_EQ(arena->idle_seconds, 0);
  EXPECT_EQ(arena->idle_byte_seconds, 0);
}

TEST(Queries, WhatABudgetWouldHaveDone) {
  const std::int64_t before = memory().bytes;
  const Recording r([] {
    const Tensor a = ones({100});
    const Tensor b = zeros({100});
  });
  EXPECT_TRUE(with_budget(r.history, before + 800).fits);
  EXPECT_EQ(with_budget(r.history, before + 1000).over, -200);
  const profile::BudgetEffect effect = with_budget(r.history, before + 799);
  EXPECT_FALSE(effect.fits);
  EXPECT_EQ(effect.over, 1);
  ASSERT_NE(effect.refused, nullptr);
  EXPECT_EQ(r.recorded.origin(effect.refused->origin).op, "zeros");
}

TEST(Queries, DifferencesNameWhatChanged) {
  const auto program = [](std::int64_t n) {
    return [n] {
      const Tensor same = ones({10});
      const Tensor other = zeros({n});
    };
  };
  const Recording a(program(10));
  const Recording b(program(100));
  const profile::Difference d = difference(a.history, b.history);
  EXPECT_EQ(d.peak_after - d.peak_before, 360);
  ASSERT_EQ(d.changes.size(), 1u);
  EXPECT_TRUE(d.changes[0].name.starts_with("zeros at")) << d.changes[0].name;
  EXPECT_TRUE(difference(a.history, a.history).changes.empty());
}

TEST(Exports, HostileNamesAreEscaped) {
  const std::string name = "\"</script><b>\x01\xff\n'";
  const Recording r(
      [&] {
        const NameScope scope(name);
        const Tensor x = relu(ones({3}));
      },
      true);
  for (const std::string& text : {to_chrome_trace(r.history), to_speedscope(r.history)}) {
    EXPECT_EQ(text.find('\x01'), std::string::npos);
    EXPECT_EQ(text.find('\xff'), std::string::npos);
    EXPECT_NE(text.find("\\\""), std::string::npos);
  }
  const std::string page = report_page(r.history, "<i>@TENURE_REPORT@</i>");
  EXPECT_EQ(page.find("</script>"), std::string::npos);
  EXPECT_TRUE(page.starts_with("<i>e")) << "a zlib stream begins with 0x78";
  EXPECT_THROW(report_page(r.history, "no place"), InternalError);
  EXPECT_EQ(plain("a\x1b[2Jb\xc2\x9b"), "a?[2Jb?");
  EXPECT_EQ(json_string("\xf0\x9f\x98\x80\xc0\xaf"), "\"\xf0\x9f\x98\x80\\ufffd\\ufffd\"");
}

TEST(Exports, CsvHasARowPerStorage) {
  const Recording r([] {
    for (int i = 0; i < 5; ++i) const Tensor x = ones({2, 3});
  });
  const std::string text = to_csv(r.history);
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'),
            static_cast<std::ptrdiff_t>(r.history.storages.size() + 1));
  EXPECT_NE(text.find("\"float32[2, 3]\""), std::string::npos);
}

TEST(Exports, PprofIsGzipOfAProfile) {
  const Recording r([] {
    const NameScope scope("model");
    const Tensor x = ones({2, 3});
  });
  const std::string bytes = unpacked(to_pprof(r.history));
  for (const char* const text :
       {"inuse_space", "alloc_objects", "model", "ones queries_test.cpp:"}) {
    EXPECT_NE(bytes.find(text), std::string::npos) << text;
  }
}

TEST(Report, HasAHeaderAndColumns) {
  static Tensor kept;
  const Recording r([] {
    kept = ones({4});
    kept.set_name("weights");
    const Tensor x = relu(kept);
    mark_step();
  });
  const std::string data = report_data(r.history);
  std::uint32_t length = 0;
  std::memcpy(&length, data.data(), 4);
  ASSERT_LT(4 + length, data.size());
  const std::string head = data.substr(4, length);
  EXPECT_EQ((4 + length) % 8, 0u);
  EXPECT_NE(head.find(R"("version":1)"), std::string::npos);
  EXPECT_NE(head.find("user weights, made by ones"), std::string::npos);
  EXPECT_NE(head.find(R"("rows":)" + std::to_string(r.history.storages.size())), std::string::npos);
  const std::size_t at = head.find(R"("name":"bytes","type":"f64","offset":)");
  ASSERT_NE(at, std::string::npos);
  const std::size_t offset = std::stoul(head.substr(at + 37));
  double bytes = 0;
  const std::size_t last = r.history.storages.size() - 1;
  std::memcpy(&bytes, data.data() + offset + 8 * last, 8);
  EXPECT_EQ(bytes, static_cast<double>(r.history.storages[last].bytes));
  EXPECT_NE(head.find(R"({"name":"name","type":"u32")"), std::string::npos);
  EXPECT_NE(head.find(R"(,"weights")"), std::string::npos) << "a string of its own";
  kept = Tensor();
}

TEST(Watch, AnswersItsOwnUser) {
  const Watch watch;
  const Tensor x = ones({100});
  struct stat status {};
  ASSERT_EQ(stat(watch.socket().c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
  EXPECT_THROW(Watch(), ProfileError);
  profile::WatchClient client(getpid());
  for (int i = 0; i < 3; ++i) {
    const std::string answer = client.snapshot();
    EXPECT_NE(answer.find("\"op\":\"ones\""), std::string::npos) << answer;
  }
}

TEST(Watch, AnswersSeveralAtOnce) {
  const Watch watch;
  profile::WatchClient first(getpid());
  profile::WatchClient second(getpid());
  for (int i = 0; i < 2; ++i) {
    EXPECT_FALSE(first.snapshot().empty());
    EXPECT_FALSE(second.snapshot().empty());
  }
}

TEST(Watch, AForkedChildLeavesItToItsParent) {
  if (test::kSanitized) GTEST_SKIP() << "sanitizers do not like fork";
  auto watch = std::make_unique<Watch>();
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    alarm(20);  // it must not wait for a thread that it does not have
    watch.reset();
    _exit(0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  profile::WatchClient client(getpid());
  EXPECT_FALSE(client.snapshot().empty()) << "the child took the socket away";
}

TEST(Watch, TakesNoStandardDescriptor) {
  if (test::kSanitized) GTEST_SKIP() << "sanitizers do not like fork";
  const pid_t child = fork();
  if (child == 0) {
    close(STDIN_FILENO);
    close(STDOUT_FILENO);
    const Watch watch;
    const bool are_free = fcntl(STDIN_FILENO, F_GETFD) == -1 && fcntl(STDOUT_FILENO, F_GETFD) == -1;
    _exit(are_free ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST(Watch, WaitsForADescriptorWithoutWork) {
  const Watch watch;
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  const int free = dup(0);
  close(free);
  const rlimit one_more{.rlim_cur = static_cast<rlim_t>(free) + 1, .rlim_max = before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &one_more), 0);
  profile::WatchClient client(getpid());  // has the last one: nothing is left for the other side
  const std::clock_t start = std::clock();
  std::this_thread::sleep_for(std::chrono::milliseconds(400));
  const std::clock_t used = std::clock() - start;
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_LT(used, CLOCKS_PER_SEC / 10) << "of four tenths of a second";
  EXPECT_FALSE(client.snapshot().empty()) << "it is served as soon as there is one";
}

TEST(Watch, SaysWhyItCannot) {
  EXPECT_THROW(profile::WatchClient client(getpid()), ProfileError);
  EXPECT_THROW(profile::WatchClient client(999'999'999), ProfileError);
  const ScratchFile folder;
  ASSERT_EQ(mkdir(folder.path().c_str(), 0755), 0);
  const char* const before = getenv("XDG_RUNTIME_DIR");
  const std::string old = before == nullptr ? "" : before;
  setenv("XDG_RUNTIME_DIR", folder.path().c_str(), 1);
  EXPECT_THROW(Watch(), ProfileError) << "others can look into the folder";
  before == nullptr ? unsetenv("XDG_RUNTIME_DIR") : setenv("XDG_RUNTIME_DIR", old.c_str(), 1);
  EXPECT_NO_THROW(Watch()) << "a refused one leaves nothing behind";
}

}  // namespace
}  // namespace tenure
