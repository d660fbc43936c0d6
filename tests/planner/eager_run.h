#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "tenure/planner/dag.h"
#include "tenure/planner/eviction.h"

// A program run step by step, as an eager framework does: the policy hears what happens and is
// asked what to give up; it does not see what comes.

namespace tenure::planner {

/// DTR's h_DTR, with exact neighbourhoods, to compare with: one result at a time, least
/// cost(neighbourhood) / (bytes * staleness) first.
class DtrPolicy {
 public:
  using Id = Eviction::Id;

  void on_compute(Id id, const Eviction::Result& result) {
    if (results_.size() <= id) results_.resize(id + 1);
    results_[id] = {result, {}, true, 0, clock_ += result.cost};
    for (Id input : result.inputs) results_[input].readers.push_back(id);
  }
  void on_recompute(Id id) {
    results_[id].live = true;
    results_[id].last_use = clock_ += results_[id].result.cost;
  }
  void on_access(Id id) { results_[id].last_use = clock_; }
  void on_evict(Id id) { results_[id].live = false; }
  void on_free(Id) {}
  void pin(Id id) { ++results_[id].pins; }
  void unpin(Id id) { --results_[id].pins; }

  std::vector<Id> choose(std::int64_t bytes) {
    Id best = results_.size();
    double least = 0;
    for (Id id = 0; id < results_.size(); ++id) {
      const Known& known = results_[id];
      if (!known.live || known.pins > 0 || !known.result.pure || known.result.bytes == 0) continue;
      const double worth = static_cast<double>(known.result.cost + region_cost(id)) /
                           (static_cast<double>(known.result.bytes) *
                            static_cast<double>(clock_ - known.last_use + 1));
      if (best < results_.size() && worth >= least) continue;
      best = id;
      least = worth;
    }
    if (best == results_.size()) throw EvictionError(bytes, 0);
    return {best};
  }

 private:
  struct Known {
    Eviction::Result result;
    std::vector<Id> readers;
    bool live = false;
    int pins = 0;
    std::int64_t last_use = 0;
  };

  std::int64_t region_cost(Id id) const {
    std::set<Id> seen;
    std::int64_t cost = 0;
    for (bool upwards : {true, false}) {
      std::vector<Id> queue = {id};
      while (!queue.empty()) {
        const Known& known = results_[queue.back()];
        queue.pop_back();
        for (Id next : upwards ? known.result.inputs : known.readers) {
          if (results_[next].live || !seen.insert(next).second) continue;
          cost += results_[next].result.cost;
          queue.push_back(next);
        }
      }
    }
    return cost;
  }

  std::int64_t clock_ = 0;
  std::vector<Known> results_;
};

/// Runs the nodes in the order of their indices within a budget. The total cost, or nothing if the
/// policy failed, or computed so much that it would not come to an end.
template <class Policy>
class EagerRun {
 public:
  EagerRun(const Dag& dag, std::int64_t budget)
      : dag_(dag),
        budget_(budget),
        used_(dag.resident),
        live_(dag.nodes.size(), false),
        made_(dag.nodes.size(), false),
        last_read_(dag.nodes.size()) {
    for (std::size_t v = 0; v < dag.nodes.size(); ++v) {
      base_cost_ += dag.nodes[v].cost;
      last_read_[v] = v;
      for (int input : dag.nodes[v].inputs) last_read_[static_cast<std::size_t>(input)] = v;
    }
  }

  std::optional<std::int64_t> run() {
    try {
      for (std::size_t v = 0; v < dag_.nodes.size(); ++v) {
        if (!compute(v)) return std::nullopt;
        free_if_done(v, v);
        for (int input : dag_.nodes[v].inputs) free_if_done(static_cast<std::size_t>(input), v);
      }
    } catch (const EvictionError&) {
      return std::nullopt;
    }
    return cost_;
  }

  std::int64_t peak() const { return peak_; }
  std::int64_t impure_evictions() const { return impure_evictions_; }

 private:
  struct Frame {
    std::size_t node;
    std::size_t input;
  };

  bool compute(std::size_t node) {
    std::vector<Frame> stack = {{node, 0}};
    while (!stack.empty()) {
      Frame& frame = stack.back();
      const Node& running = dag_.nodes[frame.node];
      if (frame.input < running.inputs.size()) {
        const auto input = static_cast<std::size_t>(running.inputs[frame.input]);
        if (live_[input]) {
          policy_.pin(input);
          ++frame.input;
        } else {
          stack.push_back({input, 0});
        }
        continue;
      }
      make_room(running.bytes + running.workspace);
      cost_ += running.cost;
      if (cost_ > kHopeless * (base_cost_ + 1)) return false;
      used_ += running.bytes;
      peak_ = std::max(peak_, used_ + running.workspace);
      live_[frame.node] = true;
      for (int input : running.inputs) {
        policy_.on_access(static_cast<std::size_t>(input));
        policy_.unpin(static_cast<std::size_t>(input));
      }
      if (made_[frame.node]) {
        policy_.on_recompute(frame.node);
      } else {
        policy_.on_compute(frame.node, {running.bytes,
                                        running.cost,
                                        {running.inputs.begin(), running.inputs.end()},
                                        running.pure});
        made_[frame.node] = true;
      }
      stack.pop_back();
    }
    return true;
  }

  void make_room(std::int64_t bytes) {
    while (used_ + bytes > budget_)
      for (Eviction::Id id : policy_.choose(used_ + bytes - budget_)) evict(id);
  }

  void evict(std::size_t node) {
    if (!dag_.nodes[node].pure) ++impure_evictions_;
    policy_.on_evict(node);
    used_ -= dag_.nodes[node].bytes;
    live_[node] = false;
  }

  /// The program drops its own handle; what is pure goes at once, as DTR does it.
  void free_if_done(std::size_t node, std::size_t now) {
    if (last_read_[node] > now || dag_.nodes[node].output) return;
    if (live_[node] && dag_.nodes[node].pure) evict(node);
    policy_.on_free(node);
  }

  static constexpr std::int64_t kHopeless = 50;

  const Dag& dag_;
  std::int64_t budget_;
  std::int64_t used_;
  std::int64_t peak_ = 0;
  std::int64_t cost_ = 0;
  std::int64_t base_cost_ = 0;
  std::int64_t impure_evictions_ = 0;
  std::vector<char> live_;
  std::vector<char> made_;
  std::vector<std::size_t> last_read_;
  Policy policy_;
};

}  // namespace tenure::planner
