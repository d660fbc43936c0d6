#include "bench/contest.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <thread>

namespace tenure::bench {
namespace {

// Short enough that most samples pass without the system giving the core to somebody else.
constexpr double kSampleSeconds = 5e-4;
constexpr double kCaseSeconds = 6;
constexpr int kFewestRounds = 7;
constexpr auto kUntilOthersSleep = std::chrono::milliseconds(20);

double seconds(const Work& work, std::int64_t n) {
  const auto begin = std::chrono::steady_clock::now();
  work(n);
  const std::chrono::duration<double> duration = std::chrono::steady_clock::now() - begin;
  return duration.count();
}

/// How many calls make a sample; warms caches and pools up on the way.
std::int64_t calls_per_sample(const Work& work) {
  std::int64_t n = 1;
  const auto fastest = [&] {
    double best = seconds(work, n);
    for (int i = 0; i < 2; ++i) best = std::min(best, seconds(work, n));
    return best;
  };
  while (fastest() < kSampleSeconds && n < std::int64_t{1} << 30) n *= 2;
  return n;
}

/// Seconds of one call: samples[side][round].
using Samples = std::vector<std::vector<double>>;

Samples take_turns(const std::vector<Work>& works, int rounds) {
  std::vector<std::int64_t> calls;
  calls.reserve(works.size());
  for (const Work& work : works) calls.push_back(calls_per_sample(work));
  Samples samples(works.size());
  const auto begin = std::chrono::steady_clock::now();
  for (int round = 0; round < rounds; ++round) {
    const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - begin;
    if (round >= kFewestRounds && spent.count() > kCaseSeconds) break;
    for (std::size_t side = 0; side < works.size(); ++side) {
      // Whoever comes after another finds its threads, which spin for a while before they sleep,
      // cold caches, and threads of its own that sleep: all that is nobody's time.
      std::this_thread::sleep_for(kUntilOthersSleep);
      works[side](std::max<std::int64_t>(1, calls[side] / 8));
      samples[side].push_back(seconds(works[side], calls[side]) / static_cast<double>(calls[side]));
    }
  }
  return samples;
}

double in_unit(const Unit& unit, double seconds, double amount) {
  return unit.is_rate ? amount / seconds * unit.scale : seconds * unit.scale;
}

}  // namespace

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

std::vector<double> median_seconds(const std::vector<Work>& works, int rounds) {
  std::vector<double> medians;
  for (const auto& samples : take_turns(works, rounds)) medians.push_back(median(samples));
  return medians;
}

std::vector<Figure> run(const Contest& contest, const Options& options) {
  std::vector<Work> works{contest.ours};
  std::vector<const Entrant*> peers;
  for (const Entrant& peer : contest.peers) {
    if (!peer.work) continue;
    works.push_back(peer.work);
    peers.push_back(&peer);
  }
  const Samples samples = take_turns(works, options.rounds);
  const Figure ours{.name = contest.name,
                    .unit = contest.unit.name,
                    .value = in_unit(contest.unit, median(samples[0]), contest.amount),
                    .note = contest.note};
  if (peers.empty()) return {ours};

  std::vector<Figure> figures;
  for (std::size_t i = 0; i < peers.size(); ++i) {
    const std::vector<double>& theirs = samples[i + 1];
    const double amount = peers[i]->amount == 0 ? contest.amount : peers[i]->amount;
    std::vector<double> ratios;
    for (std::size_t round = 0; round < theirs.size(); ++round) {
      ratios.push_back(theirs[round] / samples[0][round] * (contest.amount / amount));
    }
    Figure figure = ours;
    figure.peer = peers[i]->name;
    figure.peer_value = in_unit(contest.unit, median(theirs), amount);
    figure.ratio = median(ratios);
    if (const auto target = peers[i]->target) {
      figure.target = fmt::format(">= {:g}", *target);
      figure.met = figure.ratio >= *target;
    }
    if (i > 0) figure.note.clear();
    figures.push_back(figure);
  }
  return figures;
}

Figure at_most(std::string name, std::string unit, double value, double limit, std::string note) {
  return {.name = std::move(name),
          .unit = std::move(unit),
          .value = value,
          .target = fmt::format("<= {:g}", limit),
          .met = value <= limit,
          .note = std::move(note)};
}

}  // namespace tenure::bench
