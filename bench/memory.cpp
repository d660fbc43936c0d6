#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <fstream>

#include "bench/contest.h"
#include "tenure/tenure.h"

// What the ledger costs, and whether anything grows.

namespace tenure::bench {
namespace {

/// The updates of the counters that one op with a new result causes from its call to its end.
void count_one_op(mem::Tally& tally) {
  tally.allocated(Category::activation, 64);
  tally.both_ended(Category::activation, 64);
}

// The counters cannot be switched off, so a call that updates four more sets of them is timed next
// to one that does not.
std::vector<Figure> counter_cost(const Options& options) {
  const Tensor a = normal({16});
  const Tensor b = normal({16});
  std::array<mem::Tally, 4> more;
  const Work call = repeat([&] { use(add(a, b)); });
  const Work counting_more = repeat([&] {
    use(add(a, b));
    for (mem::Tally& tally : more) count_one_op(tally);
  });
  const std::vector<double> seconds = median_seconds({call, counting_more}, options.rounds);
  const double cost = (seconds[1] - seconds[0]) / static_cast<double>(more.size());
  return {at_most("ledger's counters, share of an add", "%", cost / seconds[0] * 100, 3,
                  fmt::format("{:.2f} of {:.1f} ns", cost * 1e9, seconds[0] * 1e9))};
}

std::vector<Figure> recording_cost(const Options& options) {
  const Tensor a = normal({16});
  const Tensor b = normal({16});
  const Work work = repeat([&] { use(add(a, b)); });
  double events = 0;
  {
    const Recording recording;
    work(1);
    events = static_cast<double>(recording.events().size());
  }
  const double off = median_seconds({work}, options.rounds)[0];
  const double on = [&] {
    const Recording recording;
    return median_seconds({work}, options.rounds)[0];
  }();
  return {{.name = "an event while recording",
           .unit = "ns",
           .value = (on - off) * 1e9 / events,
           .note = fmt::format("{:g} events per add", events)}};
}

std::vector<Figure> census_cost(const Options& options) {
  std::vector<Tensor> many;
  many.reserve(10'000);
  for (int i = 0; i < 10'000; ++i) many.push_back(empty({16}));
  const Work work = repeat([] { use(live_tensors()); });
  return {{.name = "live_tensors() of 10,000",
           .unit = "us",
           .value = median_seconds({work}, options.rounds)[0] * 1e6}};
}

double resident_bytes() {
  std::ifstream statm("/proc/self/statm");
  double total = 0;
  double resident = 0;
  statm >> total >> resident;
  return resident * static_cast<double>(sysconf(_SC_PAGESIZE));
}

std::vector<Figure> growth(const Options& options) {
  const Tensor x = normal({8, 8});
  const Tensor w = normal({8, 8});
  const Tensor bias = normal({8});
  const auto iteration = [&] {
    const Tensor hidden = relu(add(matmul(x, w), bias));
    const Tensor scaled = mul(hidden, 0.5);
    const Tensor flat = reshape(scaled, {64});
    use(sum(flat));
    use(sub(hidden, slice(hidden, 0, 0, 1)));
  };
  for (int i = 0; i < 10'000; ++i) iteration();
  const MemoryStats before = memory();
  const double resident = resident_bytes();
  for (std::int64_t i = 0; i < options.iterations; ++i) iteration();
  const MemoryStats after = memory();
  const std::string note =
      fmt::format("{} iterations, {} tensors made", options.iterations, 8 * options.iterations);
  const auto growth = [&](const char* what, const char* unit, std::int64_t MemoryStats::*member) {
    return at_most(fmt::format("growth of {}", what), unit,
                   static_cast<double>(after.*member - before.*member), 0, note);
  };
  return {growth("live data", "bytes", &MemoryStats::bytes),
          growth("live tensors", "tensors", &MemoryStats::tensors),
          growth("the pool", "bytes", &MemoryStats::reserved_bytes),
          growth("tensors' records", "bytes", &MemoryStats::metadata_bytes),
          at_most("growth of resident memory", "bytes", resident_bytes() - resident, 0, note)};
}

}  // namespace

void add_memory_cases(std::vector<Case>& cases) {
  cases.push_back({"memory", "ledger's counters", counter_cost});
  cases.push_back({"memory", "recording", recording_cost});
  cases.push_back({"memory", "census", census_cost});
  cases.push_back({"memory", "growth", growth});
}

}  // namespace tenure::bench
