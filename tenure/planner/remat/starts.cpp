#include "tenure/planner/remat/starts.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "tenure/planner/remat/word.h"

namespace tenure::planner::remat {
namespace {

class EvictingRun {
 public:
  EvictingRun(const Problem& problem, const std::vector<int>& order, std::int64_t budget,
              const EvictionRule& rule)
      : problem_(problem),
        order_(order),
        budget_(budget),
        rule_(rule),
        used_(problem.resident),
        place_(problem.end + 1, 0),
        reads_(problem.end + 1),
        reads_done_(problem.end + 1, 0),
        needed_until_(problem.end + 1, 0),
        live_(problem.end + 1, false),
        pins_(problem.end + 1, 0),
        rank_(problem.end + 1, 0) {
    for (std::size_t i = 0; i < order.size(); ++i) {
      place_[order[i]] = static_cast<int>(i);
      for (int input : problem.inputs(order[i])) reads_[input].push_back(static_cast<int>(i));
    }
    // A result that cannot be had again must stay while anything that might want it can be computed
    // again.
    for (auto node = order.rbegin(); node != order.rend(); ++node) {
      const int until =
          problem.pure[*node] ? std::max(place_[*node], needed_until_[*node]) : place_[*node];
      for (int input : problem.inputs(*node))
        needed_until_[input] = std::max(needed_until_[input], until);
    }
  }

  std::vector<int> word(std::int64_t longest) {
    for (int node : order_) {
      if (!compute(node, longest)) return {};
      ++now_;
    }
    return std::move(word_);
  }

 private:
  struct Frame {
    int node;
    int input;  // the next one to look at; those before are pinned
  };

  bool compute(int node, std::int64_t longest) {
    stack_.assign(1, {node, 0});
    while (!stack_.empty()) {
      Frame& frame = stack_.back();
      const auto inputs = problem_.inputs(frame.node);
      if (frame.input < static_cast<int>(inputs.size())) {
        const int input = inputs[frame.input];
        if (live_[input]) {
          pin(input);
          ++frame.input;
        } else {
          stack_.push_back({input, 0});
        }
        continue;
      }
      if (!make_room(problem_.own[frame.node])) return false;
      if (static_cast<std::int64_t>(word_.size()) >= longest) return false;
      word_.push_back(frame.node);
      live_[frame.node] = true;
      used_ += problem_.bytes[frame.node];
      for (int input : inputs) unpin(input);
      const int done = frame.node;
      stack_.pop_back();
      if (stack_.empty() || pins_[done] == 0) offer(done);
    }
    return true;
  }

  void pin(int node) {
    if (pins_[node]++ == 0) candidates_.erase({rank_[node], node});
  }
  void unpin(int node) {
    if (--pins_[node] == 0) offer(node);
  }

  /// Makes a result one that may be given up.
  void offer(int node) {
    if (problem_.bytes[node] == 0) return;
    rank_[node] = rank(node);
    candidates_.insert({rank_[node], node});
  }

  /// What is given up first comes last.
  double rank(int node) {
    const std::vector<int>& reads = reads_[node];
    int& done = reads_done_[node];
    while (done < static_cast<int>(reads.size()) && reads[done] <= now_) ++done;
    if (done == static_cast<int>(reads.size())) return HUGE_VAL;
    const double distance = reads[done] - now_;
    const double bytes = static_cast<double>(problem_.bytes[node]);
    switch (rule_.by) {
      case EvictionRule::By::distance:
        return distance;
      case EvictionRule::By::area:
        return distance * bytes;
      case EvictionRule::By::price:
        return distance * bytes / (1.0 + static_cast<double>(problem_.cost[node]));
      case EvictionRule::By::segment:
        return place_[node] % rule_.stride == 0 ? -1.0 / distance : distance;
    }
    return 0;
  }

  bool make_room(std::int64_t bytes) {
    auto candidate = candidates_.end();
    while (used_ + bytes > budget_) {
      if (candidate == candidates_.begin()) return false;
      --candidate;
      const int node = candidate->second;
      // While the last one that wants it is at work, its other inputs may still want it too.
      if (!problem_.pure[node] && now_ <= needed_until_[node]) continue;
      live_[node] = false;
      used_ -= problem_.bytes[node];
      candidate = candidates_.erase(candidate);
    }
    return true;
  }

  const Problem& problem_;
  const std::vector<int>& order_;
  const std::int64_t budget_;
  const EvictionRule rule_;
  std::int64_t used_;
  int now_ = 0;
  std::vector<int> place_;               // in the order
  std::vector<std::vector<int>> reads_;  // places of the readers
  std::vector<int> reads_done_;
  std::vector<int> needed_until_;
  std::vector<char> live_;
  std::vector<int> pins_;
  std::vector<double> rank_;
  std::set<std::pair<double, int>> candidates_;
  std::vector<Frame> stack_;
  std::vector<int> word_;
};

}  // namespace

std::vector<int> run_with_eviction(const Problem& problem, const std::vector<int>& order,
                                   std::int64_t budget, const EvictionRule& rule,
                                   std::int64_t longest) {
  std::vector<int> word = EvictingRun(problem, order, budget, rule).word(longest);
  remove_unread(problem, word);
  return word;
}

std::vector<EvictionRule> eviction_rules(const Problem& problem) {
  std::vector<EvictionRule> all = {
      {EvictionRule::By::price}, {EvictionRule::By::area}, {EvictionRule::By::distance}};
  for (double share : {0.5, 1.0, 2.0}) {
    const int stride = static_cast<int>(std::sqrt(problem.end) * share);
    if (stride > 1) all.push_back({EvictionRule::By::segment, stride});
  }
  return all;
}

std::int64_t lower_bound(const Problem& problem) {
  std::int64_t most = 0;
  for (int node = 0; node <= problem.end; ++node) {
    std::int64_t bytes = problem.own[node];
    bool overwrites = false;
    std::uint32_t bits = problem.overwrites[node];
    for (int input : problem.inputs(node)) {
      bytes += problem.bytes[input];
      overwrites = overwrites || ((bits & 1) != 0 && problem.bytes[input] >= problem.bytes[node]);
      bits >>= 1;
    }
    most = std::max(most, bytes - (overwrites ? problem.bytes[node] : 0));
  }
  return problem.resident + most;
}

}  // namespace tenure::planner::remat
