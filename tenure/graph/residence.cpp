#include "tenure/graph/residence.h"

#include <algorithm>
#include <map>
#include <utility>

#include "tenure/graph/failure.h"

namespace tenure::graph {
namespace {

std::size_t at(int i) { return static_cast<std::size_t>(i); }

class Residing {
 public:
  Residing(const Lowered& lowered, const std::vector<int>& order, bool with_homes)
      : lowered_(lowered),
        with_homes_(with_homes),
        last_read_(lowered.buffers.size(), -1),
        residence_(lowered.buffers.size(), -1) {
    const std::vector<bool> fallible = fallible_steps(lowered, order);
    for (std::size_t t = 0; t < order.size(); ++t) {
      const Unit& unit = lowered.units[at(order[t])];
      if (fallible[t]) last_failure_ = static_cast<int>(t);
      for (const Layout& in : unit.in) last_read_[at(in.buffer)] = static_cast<int>(t);
    }
    for (std::size_t t = 0; t < order.size(); ++t) {
      settle(lowered.units[at(order[t])], static_cast<int>(t), static_cast<int>(order.size()));
    }
    if (with_homes) find_homes();
  }

  std::vector<Residence> take() && { return std::move(residences_); }

 private:
  const Buffer& buffer(int b) const { return lowered_.buffers[at(b)]; }

  /// Gives the results of a unit their residences.
  void settle(const Unit& unit, int t, int end) {
    std::vector<bool> taken(unit.in.size());
    for (std::size_t o = 0; o < unit.out.size(); ++o) {
      const int b = unit.out[o].buffer;
      Residence& residence = residences_[at(enter(unit, o, t, taken))];
      residence_[at(b)] = static_cast<int>(&residence - residences_.data());
      residence.buffers.push_back(b);
      residence.bytes = std::max(residence.bytes, buffer(b).bytes);
      residence.upper = std::max({residence.upper, t + 1, last_read_[at(b)] + 1});
      if (buffer(b).kind != Buffer::Kind::output) continue;
      residence.output = buffer(b).index;
      residence.upper = end + 1;
    }
  }

  /// The residence for result `o`: that of an input which it may overwrite, or a new one.
  int enter(const Unit& unit, std::size_t o, int t, std::vector<bool>& taken) {
    Residence fresh{.lower = t};
    for (std::size_t i = 0; i < unit.in.size() && i < 32; ++i) {
      const int in = unit.in[i].buffer;
      if ((unit.overwrites[o] >> i & 1) == 0 || last_read_[at(in)] != t || taken[i]) continue;
      const int found = residence_[at(in)];
      if (found >= 0 && residences_[at(found)].output < 0) {
        taken[i] = true;
        return found;
      }
      if (with_homes_ && buffer(in).is_home && t >= last_failure_) {
        taken[i] = true;
        fresh.home = in;
        break;
      }
    }
    residences_.push_back(std::move(fresh));
    return static_cast<int>(residences_.size()) - 1;
  }

  /// The memory of homes that are dead when a residence begins.
  void find_homes() {
    std::map<int, int> free_from;  // per home: the step
    for (std::size_t b = 0; b < lowered_.buffers.size(); ++b) {
      if (lowered_.buffers[b].is_home) free_from[static_cast<int>(b)] = last_read_[b] + 1;
    }
    if (free_from.empty()) return;
    for (Residence& residence : residences_) {
      if (residence.home < 0) continue;
      if (!may_live_in(residence, residence.home)) {
        residence.home = -1;
      } else {
        free_from[residence.home] = residence.upper;
      }
    }
    std::vector<std::size_t> by_size(residences_.size());
    for (std::size_t r = 0; r < by_size.size(); ++r) by_size[r] = r;
    std::stable_sort(by_size.begin(), by_size.end(), [&](std::size_t a, std::size_t b) {
      const auto rank = [&](std::size_t r) {
        return std::pair(residences_[r].output >= 0, residences_[r].bytes);
      };
      return rank(a) > rank(b);
    });
    for (const std::size_t r : by_size) {
      Residence& residence = residences_[r];
      if (residence.home >= 0 || residence.bytes == 0 || residence.lower < last_failure_) continue;
      residence.home = home_for(residence, free_from);
      if (residence.home >= 0) free_from[residence.home] = residence.upper;
    }
  }

  /// What a variable held may turn out to be somebody else's too: only an output can do without.
  bool may_live_in(const Residence& residence, int home) const {
    const bool same = residence.bytes == buffer(home).bytes;
    if (buffer(home).kind == Buffer::Kind::source) return same && is_assigned(residence.output);
    return residence.output >= 0 ? same : residence.bytes <= buffer(home).bytes;
  }

  bool is_assigned(int output) const {
    return std::any_of(lowered_.assignments.begin(), lowered_.assignments.end(),
                       [&](const Assignment& a) { return a.output == output; });
  }

  /// A variable's own old value first, then the smallest home that is large enough.
  int home_for(const Residence& residence, const std::map<int, int>& free_from) const {
    int best = -1;
    for (const auto& [home, step] : free_from) {
      if (step > residence.lower || !may_live_in(residence, home)) continue;
      if (is_assigned_to(residence.output, home)) return home;
      if (best < 0 || buffer(home).bytes < buffer(best).bytes) best = home;
    }
    return best;
  }

  bool is_assigned_to(int output, int home) const {
    if (buffer(home).kind != Buffer::Kind::source) return false;
    const VariableState* const variable = lowered_.sources[at(buffer(home).index)].variable.get();
    return std::any_of(
        lowered_.assignments.begin(), lowered_.assignments.end(),
        [&](const Assignment& a) { return a.output == output && a.variable.get() == variable; });
  }

  const Lowered& lowered_;
  const bool with_homes_;
  std::vector<int> last_read_;  // step, per buffer
  std::vector<int> residence_;  // per buffer
  std::vector<Residence> residences_;
  int last_failure_ = -1;  // the last step that may fail
};

}  // namespace

std::vector<Residence> residences_of(const Lowered& lowered, const std::vector<int>& order,
                                     bool with_homes) {
  return Residing(lowered, order, with_homes).take();
}

}  // namespace tenure::graph
