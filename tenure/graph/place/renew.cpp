#include "tenure/graph/place/renew.h"

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include "tenure/graph/passes/rematerialize.h"
#include "tenure/graph/place/shared_buffer.h"

namespace tenure::graph {
namespace {

/// How often the step that holds the most is looked for.
constexpr int kRenewals = 8;
/// Units times results that were dropped, up to which each of those is looked at once more.
constexpr std::size_t kPruning = 200'000;

/// What a loop made, to be dropped and made again before the step that reads it next.
struct Renewal {
  int unit = 0;
  int before = 0;  ///< place in the word
  std::int64_t bytes = 0;
  std::int64_t cost = 0;
};

bool is_renewable(const Unit& unit) {
  return is_loop(unit) && unit.out.size() == 1 && !unit.may_fail && unit.slot->check == nullptr &&
         unit.node->op->draws == nullptr;
}

class Renewing {
 public:
  Renewing(const Lowered& lowered, std::vector<int> word)
      : lowered_(lowered), word_(std::move(word)), costs_(costs_of(lowered)) {
    const double all =
        static_cast<double>(std::accumulate(costs_.begin(), costs_.end(), std::int64_t{0}));
    left_ = static_cast<std::int64_t>(all * kNearlyFree);
  }

  std::vector<int> run() && {
    int round = 0;
    while (round < kRenewals && improve()) ++round;
    if (added_.size() * word_.size() <= kPruning) leave_out();
    return std::move(word_);
  }

 private:
  static std::int64_t most_of(const Lowered& lowered) {
    const std::vector<std::int64_t> live = live_in_arena(lowered);
    return live.empty() ? 0 : *std::max_element(live.begin(), live.end());
  }
  std::int64_t most_of(const std::vector<int>& word) const {
    return most_of(*repeat_units(lowered_, word));
  }

  /// Drops what is held for later at the step that holds the most. False if that is no better.
  bool improve() {
    const std::unique_ptr<Lowered> made = repeat_units(lowered_, word_);
    const std::vector<std::int64_t> live = live_in_arena(*made);
    if (live.empty()) return false;
    const auto highest = std::max_element(live.begin(), live.end());
    std::vector<Renewal> chosen = renewals(*made, static_cast<int>(highest - live.begin()));
    std::stable_sort(chosen.begin(), chosen.end(), [](const Renewal& a, const Renewal& b) {
      return static_cast<double>(a.cost) * static_cast<double>(b.bytes) <
             static_cast<double>(b.cost) * static_cast<double>(a.bytes);
    });
    std::int64_t left = left_;
    std::erase_if(chosen, [&](const Renewal& renewal) {
      if (renewal.cost > left) return true;
      left -= renewal.cost;
      return false;
    });
    // From the end on, that places stay what they are.
    std::stable_sort(chosen.begin(), chosen.end(),
                     [](const Renewal& a, const Renewal& b) { return a.before > b.before; });
    std::vector<int> word = word_;
    for (const Renewal& renewal : chosen) word.insert(word.begin() + renewal.before, renewal.unit);
    if (chosen.empty() || most_of(word) >= *highest) return false;
    word_ = std::move(word);
    left_ = left;
    for (const Renewal& renewal : chosen) added_.push_back(renewal.unit);
    return true;
  }

  /// All that can be dropped over a step of the program that the word makes.
  std::vector<Renewal> renewals(const Lowered& made, int step) const {
    std::vector<std::vector<int>> reads(made.buffers.size());  // steps, ascending
    for (std::size_t t = 0; t < made.units.size(); ++t) {
      for (const Layout& in : made.units[t].in) reads[at(in.buffer)].push_back(static_cast<int>(t));
    }
    std::vector<Renewal> found;
    for (int t = 0; t < step; ++t) {
      const Unit& unit = made.units[at(t)];
      if (!is_renewable(unit)) continue;
      const int out = unit.out[0].buffer;
      if (made.buffers[at(out)].kind != Buffer::Kind::temporary) continue;
      const auto next = std::lower_bound(reads[at(out)].begin(), reads[at(out)].end(), step);
      if (next == reads[at(out)].end() || *next == step) continue;
      const bool is_held = std::all_of(unit.in.begin(), unit.in.end(), [&](const Layout& in) {
        const Buffer& buffer = made.buffers[at(in.buffer)];
        const bool is_lasting = buffer.unit < 0 && !buffer.is_reusable;
        return is_lasting || reads[at(in.buffer)].back() >= *next;
      });
      if (!is_held) continue;
      found.push_back({.unit = word_[at(t)],
                       .before = *next,
                       .bytes = made.buffers[at(out)].bytes,
                       .cost = costs_[at(word_[at(t)])]});
    }
    return found;
  }

  /// Keeps after all what is no better dropped: something else holds as much.
  void leave_out() {
    const std::int64_t most = most_of(word_);
    for (const int unit : added_) {
      std::vector<int> word = word_;
      const auto last = std::find(word.rbegin(), word.rend(), unit);
      word.erase(std::next(last).base());
      if (most_of(word) <= most) word_ = std::move(word);
    }
  }

  const Lowered& lowered_;
  std::vector<int> word_;
  std::vector<std::int64_t> costs_;
  std::int64_t left_ = 0;   // that may be added
  std::vector<int> added_;  // units, each as often as it is made again
};

}  // namespace

std::optional<Rung> renewed_rung(const Lowered& lowered, const Rung& plain) {
  Rung rung{.word = Renewing(lowered, plain.word).run()};
  if (rung.word.size() == plain.word.size()) return std::nullopt;
  const std::unique_ptr<Lowered> made = repeat_units(lowered, rung.word);
  rung.placement = place_in_order(*made);
  rung.peak = peak_of(*made, rung.placement);
  rung.added = std::max<std::int64_t>(added_cost(lowered, *made), 1);
  constexpr std::int64_t kLeast = 50;  // it is worth a fiftieth
  if (rung.peak > plain.peak - plain.peak / kLeast) return std::nullopt;
  return rung;
}

}  // namespace tenure::graph
