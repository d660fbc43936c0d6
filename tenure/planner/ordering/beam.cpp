#include "tenure/planner/ordering/beam.h"

#include <algorithm>
#include <tuple>
#include <unordered_set>
#include <utility>

#include "tenure/planner/ordering/sets.h"

namespace tenure::planner::ordering {
namespace {

std::size_t at(int i) { return static_cast<std::size_t>(i); }

struct State {
  Walk walk;
  std::vector<int> ready;
  std::uint64_t name = 0;
  int trail = -1;
};

/// Steps with the one before each: all orders of a search share their beginnings.
using Trails = std::vector<std::pair<int, int>>;

struct Candidate {
  std::int64_t rank;
  std::int64_t during;
  std::uint64_t name;
  int state;
  int step;
  bool operator<(const Candidate& other) const {
    return std::tie(rank, during, name) < std::tie(other.rank, other.during, other.name);
  }
};

class Beam {
 public:
  Beam(const Net& net, std::int64_t limit, const BeamOptions& options, Allowance& allowance)
      : net_(net), limit_(limit), options_(options), effort_(allowance) {}

  std::optional<std::vector<int>> run() {
    const Walk start(net_);
    if (start.live() >= limit_) return std::nullopt;
    states_.push_back({start, start.ready_at_start(), 0, -1});
    for (int count = 0; count < net_.size; ++count) {
      candidates_.clear();
      for (std::size_t i = 0; i < states_.size(); ++i) look_at(static_cast<int>(i));
      if (candidates_.empty() || effort_.over()) return std::nullopt;
      keep_best();
    }
    std::vector<int> order;
    for (int i = states_[0].trail; i >= 0; i = trails_[at(i)].second) {
      order.push_back(trails_[at(i)].first);
    }
    std::reverse(order.begin(), order.end());
    return order;
  }

 private:
  void look_at(int index) {
    const State& state = states_[at(index)];
    const std::size_t begin = candidates_.size();
    effort_.spend(static_cast<std::int64_t>(state.ready.size()));
    for (const int v : state.ready) {
      const Walk::Step step = state.walk.look(v);
      if (step.during >= limit_) continue;
      const std::uint64_t name = state.name ^ signature(v);
      // See Note [Search over sets of done steps]: this one needs no alternative.
      const bool settled = step.after <= state.walk.live();
      if (settled) candidates_.resize(begin);
      std::int64_t rank = step.after - step.begun / 16 * options_.credit;
      if (options_.noise > 0) {
        rank += static_cast<std::int64_t>(mixed(name ^ options_.seed) >> 1) % options_.noise;
      }
      candidates_.push_back({rank, step.during, name, index, v});
      if (settled) break;
    }
  }

  void keep_best() {
    const std::size_t enough = std::min(candidates_.size(), 3 * options_.width);
    const auto end = candidates_.begin() + static_cast<std::ptrdiff_t>(enough);
    if (enough < candidates_.size()) std::nth_element(candidates_.begin(), end, candidates_.end());
    std::sort(candidates_.begin(), end);
    names_.clear();
    std::size_t kept = 0;
    for (auto it = candidates_.begin(); it != end && kept < options_.width; ++it) {
      if (!names_.insert(it->name).second) continue;
      const State& from = states_[at(it->state)];
      if (kept == next_.size()) {
        next_.push_back(from);
      } else {
        next_[kept] = from;
      }
      State& to = next_[kept++];
      std::erase(to.ready, it->step);
      to.walk.run(it->step, to.ready);
      to.name = it->name;
      to.trail = static_cast<int>(trails_.size());
      trails_.emplace_back(it->step, from.trail);
    }
    next_.resize(kept, states_[0]);
    std::swap(states_, next_);
  }

  const Net& net_;
  std::int64_t limit_;
  const BeamOptions& options_;
  Allowance& effort_;
  std::vector<State> states_;
  std::vector<State> next_;
  std::vector<Candidate> candidates_;
  std::unordered_set<std::uint64_t> names_;
  Trails trails_;
};

}  // namespace

std::optional<std::vector<int>> search_beam(const Net& net, std::int64_t limit,
                                            const BeamOptions& options, Allowance& allowance) {
  return Beam(net, limit, options, allowance).run();
}

}  // namespace tenure::planner::ordering
