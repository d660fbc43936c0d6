#include "tenure/planner/ordering/bound.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <utility>
#include <vector>

namespace tenure::planner::ordering {
namespace {

std::size_t at(int i) { return static_cast<std::size_t>(i); }

constexpr std::int64_t kUnlimited = std::numeric_limits<std::int64_t>::max() / 4;

/// A network with capacities and its largest flow, by Dinic's algorithm.
class Flow {
 public:
  explicit Flow(int size) : arcs_of_(at(size)), level_(at(size)), next_(at(size)) {}

  /// Returns the arc's number.
  int add(int from, int to, std::int64_t capacity) {
    arcs_of_[at(from)].push_back(static_cast<int>(arcs_.size()));
    arcs_.push_back({to, capacity, capacity});
    arcs_of_[at(to)].push_back(static_cast<int>(arcs_.size()));
    arcs_.push_back({from, 0, 0});
    return static_cast<int>(arcs_.size()) - 2;
  }

  void set_capacity(int arc, std::int64_t capacity) { arcs_[at(arc)].capacity = capacity; }

  /// -1 if the allowance is over before.
  std::int64_t largest(int source, int sink, Allowance& allowance) {
    for (Arc& arc : arcs_) arc.left = arc.capacity;
    std::int64_t total = 0;
    while (assign_levels(source, sink)) {
      allowance.spend(static_cast<std::int64_t>(arcs_.size()) / 2);
      if (allowance.over()) return -1;
      std::fill(next_.begin(), next_.end(), 0);
      while (const std::int64_t pushed = push(source, sink)) total += pushed;
    }
    return total;
  }

 private:
  struct Arc {
    int to;
    std::int64_t capacity;
    std::int64_t left;
  };

  bool assign_levels(int source, int sink) {
    std::fill(level_.begin(), level_.end(), -1);
    level_[at(source)] = 0;
    queue_.assign(1, source);
    for (std::size_t i = 0; i < queue_.size() && level_[at(sink)] < 0; ++i) {
      for (const int a : arcs_of_[at(queue_[i])]) {
        const Arc& arc = arcs_[at(a)];
        if (arc.left == 0 || level_[at(arc.to)] >= 0) continue;
        level_[at(arc.to)] = level_[at(queue_[i])] + 1;
        queue_.push_back(arc.to);
      }
    }
    return level_[at(sink)] >= 0;
  }

  /// Sends what one path can take. Zero if there is none left in these levels.
  std::int64_t push(int source, int sink) {
    path_.clear();
    int v = source;
    while (v != sink) {
      std::size_t& next = next_[at(v)];
      const std::vector<int>& arcs = arcs_of_[at(v)];
      const auto leads_on = [&](int a) {
        return arcs_[at(a)].left > 0 && level_[at(arcs_[at(a)].to)] == level_[at(v)] + 1;
      };
      while (next < arcs.size() && !leads_on(arcs[next])) ++next;
      if (next < arcs.size()) {
        path_.push_back(arcs[next]);
        v = arcs_[at(arcs[next])].to;
        continue;
      }
      if (path_.empty()) return 0;
      v = arcs_[at(path_.back() ^ 1)].to;
      path_.pop_back();
      ++next_[at(v)];
    }
    std::int64_t amount = kUnlimited;
    for (const int a : path_) amount = std::min(amount, arcs_[at(a)].left);
    for (const int a : path_) {
      arcs_[at(a)].left -= amount;
      arcs_[at(a ^ 1)].left += amount;
    }
    return amount;
  }

  std::vector<Arc> arcs_;
  std::vector<std::vector<int>> arcs_of_;
  std::vector<int> level_;
  std::vector<std::size_t> next_;
  std::vector<int> queue_;
  std::vector<int> path_;
};

// Note [What must be live]
//
// When a step runs, a set of steps is done that contains all before it, none after it, and with
// each step those before that one. What is live is at least the least over all such sets, and that
// is a minimum cut: done steps on the side of the source; a net has two points, one on the source's
// side if any of its members is, one if all are, and between them an arc of its bytes.
class Cuts {
 public:
  explicit Cuts(const Net& net)
      : net_(net),
        source_(net.size + 2 * static_cast<int>(net.bytes.size())),
        sink_(source_ + 1),
        flow_(sink_ + 1) {
    std::vector<int> inside(net.bytes.size(), 0);
    for (int v = 0; v < net.size; ++v) {
      from_source_.push_back(flow_.add(source_, v, 0));
      to_sink_.push_back(flow_.add(v, sink_, 0));
      for (const int u : net.before[v]) flow_.add(v, u, kUnlimited);
      for (const int e : net.touches[v]) {
        flow_.add(v, any_of(e), kUnlimited);
        flow_.add(all_of(e), v, kUnlimited);
        ++inside[at(e)];
      }
    }
    for (int e = 0; e < static_cast<int>(net.bytes.size()); ++e) {
      flow_.add(any_of(e), all_of(e), net.bytes[at(e)]);
      const int outside = net.members[at(e)] - inside[at(e)];
      if (net.done[at(e)] > 0) flow_.add(source_, any_of(e), kUnlimited);
      if (outside > net.done[at(e)]) flow_.add(all_of(e), sink_, kUnlimited);
    }
  }

  /// The least that is live while the step runs; -1 if the allowance is over before.
  std::int64_t least_during(int step, Allowance& allowance) {
    for (const int arc : from_source_) flow_.set_capacity(arc, 0);
    for (const int arc : to_sink_) flow_.set_capacity(arc, 0);
    for (const int v : reached(step, net_.before)) {
      if (v != step) flow_.set_capacity(from_source_[at(v)], kUnlimited);
    }
    for (const int v : reached(step, net_.after)) flow_.set_capacity(to_sink_[at(v)], kUnlimited);
    const std::int64_t cut = flow_.largest(source_, sink_, allowance);
    if (cut < 0) return -1;
    const std::int64_t own = net_.reuses[step].empty() ? net_.own[at(step)] : 0;
    return net_.base + cut + own + net_.workspace[at(step)];
  }

 private:
  int any_of(int net) const { return net_.size + 2 * net; }
  int all_of(int net) const { return net_.size + 2 * net + 1; }

  std::vector<int> reached(int start, const Rows& next) const {
    std::vector<bool> seen(at(net_.size), false);
    std::vector<int> list{start};
    seen[at(start)] = true;
    for (std::size_t i = 0; i < list.size(); ++i) {
      for (const int v : next[list[i]]) {
        if (!seen[at(v)]) list.push_back(v);
        seen[at(v)] = true;
      }
    }
    return list;
  }

  const Net& net_;
  int source_;
  int sink_;
  Flow flow_;
  std::vector<int> from_source_;
  std::vector<int> to_sink_;
};

std::int64_t needs(const Net& net, int step) {
  const std::int64_t reused = net.reuses[step].empty() ? 0 : net.own[at(step)];
  std::int64_t bytes = net.workspace[at(step)] - reused;
  for (const int e : net.touches[step]) bytes += net.bytes[at(e)];
  return bytes;
}

}  // namespace

std::int64_t step_bound(const Net& net) {
  std::int64_t bound = std::max(Walk(net).live(), Walk(reversed(net)).live());
  for (int v = 0; v < net.size; ++v) bound = std::max(bound, net.base + needs(net, v));
  return bound;
}

std::int64_t cut_bound(const Net& net, std::span<const int> order, std::int64_t known,
                       Allowance& allowance) {
  // A step's bound is at most what it takes in this order, so the promising ones come first.
  std::vector<std::pair<std::int64_t, int>> steps;
  const std::vector<Walk::Step> profile = profile_of(net, order);
  for (std::size_t i = 0; i < order.size(); ++i) steps.emplace_back(profile[i].during, order[i]);
  std::sort(steps.begin(), steps.end(), std::greater<>());
  Cuts cuts(net);
  for (const auto& [during, step] : steps) {
    if (during <= known || allowance.over()) break;
    known = std::max(known, cuts.least_during(step, allowance));
  }
  return known;
}

}  // namespace tenure::planner::ordering
