#include "tenure/planner/remat/exact.h"

#include <algorithm>
#include <array>
#include <functional>
#include <limits>
#include <queue>
#include <utility>

#include "tenure/planner/remat/word.h"

namespace tenure::planner::remat {
namespace {

constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();

enum Digit : int { kNew = 0, kGone = 1, kLive = 2 };

/// Dijkstra's search from the state in which nothing was computed to one in which all was and the
/// outputs are there. States are numbers in base 3, a digit for each node.
class States {
 public:
  enum class By { cost, peak };

  States(const Problem& problem, std::int64_t budget, By by)
      : problem_(problem), budget_(budget), by_(by) {
    for (int v = 0, power = 1; v <= problem.end; ++v, power *= 3) power_.push_back(power);
    const auto states = static_cast<std::size_t>(power_.back());
    value_.assign(states, kNever);
    from_.assign(states, -1);
    computed_.assign(states, -1);
  }

  /// Empty if there is none within the budget.
  std::vector<int> word() {
    if (problem_.resident > budget_) return {};
    reach(0, by_ == By::peak ? problem_.resident : 0, -1, -1);
    while (!queue_.empty()) {
      const auto [value, state] = queue_.top();
      queue_.pop();
      if (value > value_[static_cast<std::size_t>(state)]) continue;
      read_digits(state);
      if (is_done()) return path_to(state);
      leave(state, value);
    }
    return {};
  }

 private:
  void read_digits(int state) {
    live_ = problem_.resident;
    for (int v = 0; v < problem_.end; ++v, state /= 3) {
      digit_[static_cast<std::size_t>(v)] = state % 3;
      if (state % 3 == kLive) live_ += problem_.bytes[v];
    }
  }

  int digit(int node) const { return digit_[static_cast<std::size_t>(node)]; }

  bool is_done() const {
    for (int v = 0; v < problem_.end; ++v)
      if (digit(v) == kNew) return false;
    return all_live(problem_.end);
  }

  bool all_live(int node) const {
    const auto inputs = problem_.inputs(node);
    return std::all_of(inputs.begin(), inputs.end(), [&](int v) { return digit(v) == kLive; });
  }

  void leave(int state, std::int64_t value) {
    for (int v = 0; v < problem_.end; ++v) {
      if (digit(v) == kLive) {
        reach(state - power_[v], value, state, -1);
      } else if (all_live(v) && (digit(v) == kNew || problem_.pure[v])) {
        compute(v, state, value);
      }
    }
  }

  void compute(int node, int state, std::int64_t value) {
    const int next = state + (kLive - digit(node)) * power_[node];
    const auto try_with = [&](int to, std::int64_t memory) {
      if (memory > budget_) return;
      reach(to, by_ == By::peak ? std::max(value, memory) : value + problem_.cost[node], state,
            node);
    };
    try_with(next, live_ + problem_.own[node]);
    std::uint32_t bits = problem_.overwrites[node];
    for (const int input : problem_.inputs(node)) {
      if ((bits & 1) != 0 && problem_.bytes[input] >= problem_.bytes[node])
        try_with(next - power_[input], live_ + problem_.own[node] - problem_.bytes[node]);
      bits >>= 1;
    }
  }

  void reach(int state, std::int64_t value, int from, int computed) {
    const auto i = static_cast<std::size_t>(state);
    if (value >= value_[i]) return;
    value_[i] = value;
    from_[i] = from;
    computed_[i] = static_cast<signed char>(computed);
    queue_.emplace(value, state);
  }

  std::vector<int> path_to(int state) const {
    std::vector<int> word{problem_.end};
    for (; state > 0; state = from_[static_cast<std::size_t>(state)]) {
      const int computed = computed_[static_cast<std::size_t>(state)];
      if (computed >= 0) word.push_back(computed);
    }
    std::reverse(word.begin(), word.end());
    return word;
  }

  using Entry = std::pair<std::int64_t, int>;

  const Problem& problem_;
  std::int64_t budget_;
  By by_;
  std::vector<int> power_;
  std::vector<std::int64_t> value_;
  std::vector<int> from_;
  std::vector<signed char> computed_;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue_;
  std::array<int, kMostExact> digit_{};
  std::int64_t live_ = 0;
};

}  // namespace

std::vector<int> cheapest_word(const Problem& problem, std::int64_t budget) {
  std::vector<int> word = States(problem, budget, States::By::cost).word();
  remove_unread(problem, word);
  return word;
}

std::vector<int> leanest_word(const Problem& problem) {
  std::vector<int> word = States(problem, kNever, States::By::peak).word();
  remove_unread(problem, word);
  return word;
}

}  // namespace tenure::planner::remat
