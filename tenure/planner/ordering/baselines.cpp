#include "tenure/planner/ordering/baselines.h"

#include <algorithm>
#include <limits>
#include <queue>
#include <tuple>

namespace tenure::planner::ordering {
namespace {

std::size_t at(int i) { return static_cast<std::size_t>(i); }

/// Calls `changed(v)` for each step whose price differs now that another is done: the last member
/// of a net frees it, and may take over its memory.
template <class F>
class Watch {
 public:
  Watch(const Net& net, F changed) : net_(net), changed_(std::move(changed)) {
    std::vector<std::vector<int>> members(net.bytes.size());
    for (int v = 0; v < net.size; ++v) {
      for (const int e : net.touches[v]) members[at(e)].push_back(v);
    }
    members_ = Rows(members);
    finished_.assign(at(net.size), false);
  }

  void finish(const Walk& walk, int step) {
    finished_[at(step)] = true;
    for (const int e : net_.touches[step]) {
      if (walk.done(e) + 1 != net_.members[at(e)]) continue;
      for (const int v : members_[e]) {
        if (!finished_[at(v)]) changed_(v);
      }
    }
  }

 private:
  const Net& net_;
  F changed_;
  Rows members_;
  std::vector<bool> finished_;
};

/// Finds the cheapest item among those that are there and whose index is below a limit.
class Tournament {
 public:
  static constexpr std::int64_t kAbsent = std::numeric_limits<std::int64_t>::max();

  explicit Tournament(std::size_t size) {
    while (leaves_ < size) leaves_ *= 2;
    best_.assign(2 * leaves_, kAbsent);
  }

  void set(std::size_t item, std::int64_t price) {
    std::size_t i = item + leaves_;
    for (best_[i] = price; i > 1; i /= 2) best_[i / 2] = std::min(best_[i], best_[i ^ 1]);
  }

  /// One of the cheapest below `limit`; `limit` if there is none.
  std::size_t cheapest(std::size_t limit) const {
    std::int64_t least = kAbsent;
    std::size_t root = 0;
    std::size_t low = leaves_;
    std::size_t high = leaves_ + limit;
    const auto offer = [&](std::size_t i) {
      if (best_[i] < least) {
        least = best_[i];
        root = i;
      }
    };
    for (; low < high; low /= 2, high /= 2) {
      if (low % 2 == 1) offer(low++);
      if (high % 2 == 1) offer(--high);
    }
    if (least == kAbsent) return limit;
    while (root < leaves_) root = best_[2 * root] == least ? 2 * root : 2 * root + 1;
    return root - leaves_;
  }

  /// The least index of an item that is there.
  std::size_t first() const {
    std::size_t i = 1;
    while (i < leaves_) i = best_[2 * i] != kAbsent ? 2 * i : 2 * i + 1;
    return i - leaves_;
  }

 private:
  std::size_t leaves_ = 1;
  std::vector<std::int64_t> best_;
};

}  // namespace

std::vector<int> breadth_first(const Net& net) {
  Walk walk(net);
  std::vector<int> order = walk.ready_at_start();
  for (std::size_t i = 0; i < order.size(); ++i) walk.run(order[i], order);
  return order;
}

std::vector<int> depth_first(const Net& net) {
  Walk walk(net);
  std::vector<int> ready = walk.ready_at_start();
  std::reverse(ready.begin(), ready.end());
  std::vector<int> order;
  while (!ready.empty()) {
    order.push_back(ready.back());
    ready.pop_back();
    walk.run(order.back(), ready);
  }
  return order;
}

std::vector<int> post_order(const Net& net) {
  std::vector<int> order;
  std::vector<bool> entered(at(net.size), false);
  std::vector<std::pair<int, std::vector<int>>> path;  // a step, and what it needs still
  const auto enter = [&](int v) {
    if (entered[at(v)]) return;
    entered[at(v)] = true;
    std::vector<int> needs(net.before[v].begin(), net.before[v].end());
    std::stable_sort(needs.begin(), needs.end(),
                     [&](int a, int b) { return net.own[at(a)] < net.own[at(b)]; });
    path.emplace_back(v, std::move(needs));
  };
  for (int v = 0; v < net.size; ++v) {
    if (!net.after[v].empty()) continue;
    enter(v);
    while (!path.empty()) {
      if (path.back().second.empty()) {
        order.push_back(path.back().first);
        path.pop_back();
        continue;
      }
      const int next = path.back().second.back();
      path.back().second.pop_back();
      enter(next);
    }
  }
  return order;
}

std::vector<int> list_schedule(const Net& net) {
  Walk walk(net);
  // Growth, age and step; what is out of date is passed over when it is met.
  using Entry = std::tuple<std::int64_t, int, int>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue;
  std::vector<int> age(at(net.size), -1);
  std::vector<std::int64_t> price(at(net.size));
  const auto update = [&](int v) {
    if (age[at(v)] < 0) return;
    price[at(v)] = walk.look(v).after - walk.live();
    queue.emplace(price[at(v)], age[at(v)], v);
  };
  Watch watch(net, update);
  std::vector<int> order;
  std::vector<int> ready = walk.ready_at_start();
  int next_age = 0;
  const auto admit = [&] {
    for (const int v : ready) {
      age[at(v)] = next_age++;
      update(v);
    }
    ready.clear();
  };
  admit();
  while (!queue.empty()) {
    const auto [growth, born, v] = queue.top();
    queue.pop();
    if (age[at(v)] < 0 || growth != price[at(v)]) continue;
    age[at(v)] = -1;
    order.push_back(v);
    walk.run(v, ready);
    watch.finish(walk, v);
    admit();
  }
  return order;
}

std::vector<int> least_peak_first(const Net& net) {
  Walk walk(net);
  // What a step adds while it runs has one of two values: it takes over memory or it does not. In
  // the order of these, the ready steps that fit below the peak are a prefix.
  std::vector<std::pair<std::int64_t, int>> slots;
  for (int v = 0; v < net.size; ++v) {
    slots.emplace_back(net.workspace[at(v)], v);
    slots.emplace_back(net.workspace[at(v)] + net.own[at(v)], v);
  }
  std::sort(slots.begin(), slots.end());
  Tournament tournament(slots.size());
  std::vector<std::size_t> slot_of(at(net.size), slots.size());
  const auto place = [&](int v) {
    const Walk::Step step = walk.look(v);
    const std::pair wanted(step.during - walk.live(), v);
    const auto slot = static_cast<std::size_t>(
        std::lower_bound(slots.begin(), slots.end(), wanted) - slots.begin());
    tournament.set(slot, step.after - walk.live());
    slot_of[at(v)] = slot;
  };
  Watch watch(net, [&](int v) {
    if (slot_of[at(v)] == slots.size()) return;
    tournament.set(slot_of[at(v)], Tournament::kAbsent);
    place(v);
  });
  std::vector<int> order;
  std::vector<int> ready = walk.ready_at_start();
  std::int64_t peak = walk.live();
  while (order.size() < at(net.size)) {
    for (const int v : ready) place(v);
    ready.clear();
    const auto fits = static_cast<std::size_t>(
        std::upper_bound(slots.begin(), slots.end(),
                         std::pair(peak - walk.live(), std::numeric_limits<int>::max())) -
        slots.begin());
    std::size_t slot = tournament.cheapest(fits);
    if (slot == fits) slot = tournament.first();
    const int v = slots[slot].second;
    tournament.set(slot, Tournament::kAbsent);
    slot_of[at(v)] = slots.size();
    order.push_back(v);
    peak = std::max(peak, walk.run(v, ready).during);
    watch.finish(walk, v);
  }
  return order;
}

}  // namespace tenure::planner::ordering
