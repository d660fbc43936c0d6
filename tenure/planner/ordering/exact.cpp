#include "tenure/planner/ordering/exact.h"

#include <algorithm>
#include <functional>
#include <queue>
#include <tuple>

#include "tenure/planner/ordering/sets.h"

namespace tenure::planner::ordering {
namespace {

std::size_t at(int i) { return static_cast<std::size_t>(i); }

// Note [Search over sets of done steps]
//
// What is live depends on which steps are done, not on their order. So an order is a path through
// sets, its peak the largest `during` along the path, and the least peak a bottleneck shortest
// path: the set with the least peak so far is taken up first, the fullest of equal ones. The peak
// of the set taken up never falls; it is a lower bound for every order.
//
// If a ready step neither passes the peak so far nor leaves more live than before, doing it at once
// is as good as anything: moved to the front of any continuation it leaves no more live at any of
// the steps it overtakes, since what it frees stays free (the bytes that a step adds fall as more
// is done). Forwards it takes away no memory that they could have reused; backwards it may, but no
// more than the net that it has opened for them. Such steps are not branched on.
class Search {
 public:
  Search(const Net& net, std::int64_t limit, std::size_t most, Allowance& allowance)
      : net_(net),
        limit_(limit),
        most_(most),
        effort_(allowance),
        start_(net),
        sets_(net.size),
        closed_(net.size) {}

  ExactResult run(std::int64_t bound) {
    Place place{start_, ready_at_start_, std::vector<std::uint64_t>(sets_.words()), 0};
    offer(place, std::max(bound, start_.live()), net_.size, -1, -1);
    ExactResult result;
    result.complete = true;
    while (!queue_.empty()) {
      const auto [peak, missing, state] = queue_.top();
      queue_.pop();
      if (states_[at(state)].peak != peak) continue;
      result.bound = peak;
      if (sets_.size() >= most_ || effort_.over()) {
        result.complete = false;
        return result;
      }
      go_to(place, state);
      const int left = missing - close(place, peak, nullptr);
      if (left == 0) {
        result.order = path_to(state);
        result.peak = peak;
        return result;
      }
      if (closed_.insert(place.set, place.name).second) expand(place, state, peak, left);
    }
    result.bound = limit_;
    return result;
  }

 private:
  struct State {
    std::int64_t peak;
    int parent;
    int step;  ///< the one after the parent's steps without a choice
  };
  struct Place {
    Walk walk;
    std::vector<int> ready;
    std::vector<std::uint64_t> set;
    std::uint64_t name;
  };
  using Entry = std::tuple<std::int64_t, int, int>;  ///< peak, steps missing, state

  static void flip(Place& place, int v) {
    place.set[at(v) / 64] ^= std::uint64_t{1} << (v % 64);
    place.name ^= signature(v);
  }

  void go_to(Place& place, int state) {
    place.walk = start_;
    place.ready = ready_at_start_;
    const Sets::Words set = sets_[state];
    std::copy(set.begin(), set.end(), place.set.begin());
    place.name = sets_.name_of(state);
    const auto done = [&](int v) { return (set[at(v) / 64] >> (v % 64) & 1) != 0; };
    for (int v = 0; v < net_.size; ++v) {
      if (done(v)) place.walk.run(v, place.ready);
    }
    std::erase_if(place.ready, done);
    effort_.spend(net_.size / 4);
  }

  /// Does the steps that need no choice; returns how many.
  int close(Place& place, std::int64_t peak, std::vector<int>* order) {
    int count = 0;
    for (std::size_t i = 0; i < place.ready.size();) {
      const int v = place.ready[i];
      const Walk::Step step = place.walk.look(v);
      if (step.during > peak || step.after > place.walk.live()) {
        ++i;
        continue;
      }
      place.ready.erase(place.ready.begin() + static_cast<std::ptrdiff_t>(i));
      place.walk.run(v, place.ready);
      flip(place, v);
      if (order != nullptr) order->push_back(v);
      ++count;
      i = 0;
    }
    return count;
  }

  void expand(Place& place, int state, std::int64_t peak, int left) {
    effort_.spend(static_cast<std::int64_t>(place.ready.size()));
    for (const int v : place.ready) {
      const std::int64_t during = place.walk.look(v).during;
      if (during >= limit_) continue;
      flip(place, v);
      offer(place, std::max(peak, during), left - 1, state, v);
      flip(place, v);
    }
  }

  void offer(const Place& place, std::int64_t peak, int missing, int parent, int step) {
    if (peak >= limit_) return;
    const auto [state, is_new] = sets_.insert(place.set, place.name);
    if (is_new) {
      states_.push_back({peak, parent, step});
    } else if (peak < states_[at(state)].peak) {
      states_[at(state)] = {peak, parent, step};
    } else {
      return;
    }
    queue_.emplace(peak, missing, state);
  }

  std::vector<int> path_to(int state) {
    std::vector<int> states;
    for (; state >= 0; state = states_[at(state)].parent) states.push_back(state);
    Place place{start_, ready_at_start_, std::vector<std::uint64_t>(sets_.words()), 0};
    std::vector<int> order;
    for (auto it = states.rbegin(); it != states.rend(); ++it) {
      const State& next = states_[at(*it)];
      if (next.step >= 0) {
        std::erase(place.ready, next.step);
        place.walk.run(next.step, place.ready);
        order.push_back(next.step);
      }
      close(place, next.peak, &order);
    }
    return order;
  }

  const Net& net_;
  std::int64_t limit_;
  std::size_t most_;
  Allowance& effort_;
  Walk start_;
  std::vector<int> ready_at_start_ = start_.ready_at_start();
  Sets sets_;    ///< of the states
  Sets closed_;  ///< taken up, after the steps without a choice
  std::vector<State> states_;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue_;
};

}  // namespace

ExactResult search_exactly(const Net& net, std::int64_t limit, std::int64_t bound,
                           std::int64_t states, Allowance& allowance) {
  return Search(net, limit, static_cast<std::size_t>(states), allowance).run(bound);
}

}  // namespace tenure::planner::ordering
