#include "tenure/profile/profile.h"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>

#include "bench/contest.h"
#include "tenure/profile/report.h"
#include "tenure/tenure.h"

// What it costs to know: while nothing is recorded, while something is, and to look at it.

namespace tenure::bench {
namespace {

namespace fs = std::filesystem;

/// A file that goes with the object.
class Scratch {
 public:
  Scratch()
      : path_((fs::temp_directory_path() / fmt::format("tenure-bench-{}", getpid())).string()) {}
  ~Scratch() { fs::remove(path_); }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

// The looks whether somebody records cannot be left out, so a call that looks more often is timed
// next to one that does not. An add looks once for each input; those at birth and end are there for
// budgets and faults anyway.
std::vector<Figure> cost_while_off(const Options& options) {
  constexpr int kLooks = 2;
  constexpr int kMore = 8;  // times as many
  const Tensor a = normal({16});
  const Tensor b = normal({16});
  const mem::ThreadContext& context = mem::this_thread();
  std::int64_t seen = 0;
  const Work call = repeat([&] { use(add(a, b)); });
  const Work looking_more = repeat([&] {
    use(add(a, b));
    for (int i = 0; i < kMore * kLooks; ++i) {
      if (mem::needs_attention(context)) [[unlikely]]
        ++seen;
      use(context);
    }
  });
  const std::vector<double> seconds = median_seconds({call, looking_more}, options.rounds);
  const double cost = (seconds[1] - seconds[0]) / kMore;
  return {
      at_most("not recording, share of an add", "%", cost / seconds[0] * 100, 3,
              fmt::format("{} looks: {:.2f} of {:.1f} ns", kLooks, cost * 1e9, seconds[0] * 1e9))};
}

std::vector<Figure> cost_of_events(const Options& options) {
  const Scratch file;
  const Tensor a = normal({16});
  const Tensor b = normal({16});
  std::int64_t calls = 0;
  const Work work = [&](std::int64_t n) {
    for (std::int64_t i = 0; i < n; ++i) use(add(a, b));
    calls += n;
  };
  const double off = median_seconds({work}, options.rounds)[0];
  calls = 0;
  const double on = [&] {
    const Profile profile(file.path());
    return median_seconds({work}, options.rounds)[0];
  }();
  const profile::Recorded recorded(file.path());
  const auto events = static_cast<double>(recorded.events);
  const double per_call = events / static_cast<double>(calls);
  return {
      at_most("an event of a recording", "ns", (on - off) * 1e9 / per_call, 60,
              fmt::format("{:.2f} events per add", per_call)),
      at_most("an event on disk", "bytes", static_cast<double>(fs::file_size(file.path())) / events,
              32, fmt::format("{:.0f} events", events))};
}

std::vector<Figure> cost_of_report(const Options&) {
  const Scratch file;
  constexpr int kEvents = 1'000'000;
  {
    const Profile profile(file.path());
    const Tensor a = normal({64});
    const Tensor b = normal({64});
    for (int i = 0; i < kEvents / 6; ++i) {
      const NameScope scope(i % 2 == 0 ? "model/encoder" : "model/head");
      use(add(a, b));
      if (i % 1000 == 0) mark_step();
    }
  }
  const auto begin = std::chrono::steady_clock::now();
  const profile::Recorded recorded(file.path());
  const profile::History history(recorded);
  const double read = seconds_since(begin);
  const std::string page = report_page(history, "@TENURE_REPORT@");
  const double all = seconds_since(begin);
  const std::string note = fmt::format("{} events", recorded.events);
  return {at_most("a report of 1 million events", "s", all, 3,
                  note + fmt::format(", {:.2f} s of it to read them", read)),
          at_most("its data in the page", "MB", static_cast<double>(page.size()) * 1e-6, 20, note)};
}

}  // namespace

void add_profile_cases(std::vector<Case>& cases) {
  cases.push_back({"profile", "not recording", cost_while_off});
  cases.push_back({"profile", "events", cost_of_events});
  cases.push_back({"profile", "report", cost_of_report});
}

}  // namespace tenure::bench
