#include "tenure/planner/remat/anneal.h"

#include <algorithm>
#include <limits>

#include "tenure/planner/elementary.h"

namespace tenure::planner::remat {
namespace {

constexpr double kPriceStep = 1.02;

/// Words change by whole arrays, so long ones are looked at less often between two clock readings.
int moves_between_looks(int steps) { return std::clamp((1 << 20) / (steps + 1), 1, 1024); }

}  // namespace

Annealer::Annealer(const Problem& problem, std::int64_t budget, std::uint64_t seed)
    : problem_(problem),
      budget_(budget),
      random_(seed),
      best_cost_(std::numeric_limits<std::int64_t>::max()) {}

void Annealer::walk(const std::vector<int>& word, const Cooling& cooling, std::int64_t moves,
                    Effort& effort) {
  Timeline line(problem_, budget_, word);
  line_ = &line;
  note_best();
  const double base_cost = std::max(1.0, static_cast<double>(problem_.base_cost));
  mean_cost_ = base_cost / (problem_.end + 1);
  mean_price_ = base_cost / std::max(1.0, static_cast<double>(problem_.total_bytes));
  price_ = cooling.excess_price * mean_price_;
  percent_rebuilds_ = cooling.percent_rebuilds;
  const std::int64_t group = moves_between_looks(line.size());
  for (std::int64_t done = 0; done < moves && !effort.is_spent(); done += group) {
    const double progress = static_cast<double>(done) / static_cast<double>(moves);
    const double temperature =
        mean_cost_ * cooling.hot * power(cooling.cold / cooling.hot, progress);
    std::int64_t within = 0;
    for (std::int64_t i = 0; i < group; ++i) {
      threshold_ = -temperature * logarithm(random_.unit());
      move();
      note_best();
      within += line.excess() == 0;
    }
    // The price follows what the budget is worth: the walk shall be on both sides of it.
    if (within < group / 5) price_ *= kPriceStep;
    if (within > group * 3 / 5) price_ /= kPriceStep;
    effort.spend(group);
  }
  line_ = nullptr;
}

void Annealer::move() {
  if (random_.below(100) < percent_rebuilds_) return rebuild();
  const int kind = random_.below(10);
  if (kind < 3) return recompute_one();
  if (kind < 5) return forget();
  if (kind < 6) return shift();
  exchange();
}

bool Annealer::acceptable(std::int64_t cost, std::int64_t excess) const {
  return static_cast<double>(cost) + price_ * static_cast<double>(excess) <= threshold_;
}

bool Annealer::may_recompute(int node, int position) const {
  return problem_.pure[node] && line_->is_useful(node, position);
}

void Annealer::recompute_one() {
  int position = random_.below(line_->size());
  const auto inputs = problem_.inputs(line_->node_at(position));
  if (inputs.empty()) return;
  const int node = inputs[random_.below(static_cast<int>(inputs.size()))];
  if (random_.below(4) == 0) {
    const int before = line_->touch_before(node, position);
    position -= random_.below(position - before);
  }
  if (!acceptable(problem_.cost[node], -line_->excess())) return;
  if (!may_recompute(node, position)) return;
  if (acceptable(problem_.cost[node], line_->excess_if_inserted(node, position)))
    line_->insert(node, position);
}

void Annealer::insert_chain(int node, int position, int percent) {
  pending_.assign(1, node);
  constexpr std::size_t kLongestChain = 64;
  while (!pending_.empty() && edits_.size() < kLongestChain) {
    const int next = pending_.back();
    pending_.pop_back();
    if (!may_recompute(next, position)) continue;
    for (int input : problem_.inputs(next))
      if (!line_->lives_at(input, position) && random_.below(100) < percent)
        pending_.push_back(input);
    insert(next, position);
  }
}

int Annealer::pick_repetition() {
  const std::vector<int>& repeated = line_->repeated();
  if (repeated.empty()) return -1;
  const int node = repeated[random_.below(static_cast<int>(repeated.size()))];
  const int position = line_->computation(node, random_.below(line_->times_computed(node)));
  return line_->touch_before(node, position) < 0 && line_->is_read(position) ? -1 : position;
}

void Annealer::forget() {
  const int position = pick_repetition();
  if (position < 0) return;
  const int node = line_->node_at(position);
  for (int input : problem_.inputs(node)) {
    // Its input may be of no use any more: then all of it goes or stays.
    const int source = line_->touch_before(input, position);
    if (line_->node_at(source) == input && line_->times_computed(input) > 1 &&
        !line_->lives_at(input, position + 1)) {
      drop(position);
      return settle();
    }
  }
  if (acceptable(-problem_.cost[node], line_->excess_if_erased(position))) line_->erase(position);
}

void Annealer::drop(int position) {
  const int node = line_->node_at(position);
  erase(position);
  pending_.assign(problem_.inputs(node).begin(), problem_.inputs(node).end());
  while (!pending_.empty()) {
    const int input = pending_.back();
    pending_.pop_back();
    const int source = line_->touch_before(input, position);
    if (line_->times_computed(input) < 2 || source < 0 || line_->node_at(source) != input ||
        line_->is_read(source))
      continue;
    erase(source);
    --position;
    pending_.insert(pending_.end(), problem_.inputs(input).begin(), problem_.inputs(input).end());
  }
}

void Annealer::shift() {
  const int position = random_.below(line_->size());
  const int node = line_->node_at(position);
  if (node == problem_.end) return;
  int low = line_->touch_before(node, position) + 1;
  for (int input : problem_.inputs(node)) low = std::max(low, line_->first_touch(input) + 1);
  const int high = std::min(line_->touch_from(node, position + 1), line_->size() - 1) - 1;
  if (low >= high) return;
  int target = low + random_.below(high - low + 1);
  if (random_.below(2) == 0) {
    constexpr int kNear = 8;
    const int distance = 1 + random_.below(kNear);
    target =
        std::clamp(random_.below(2) == 0 ? position - distance : position + distance, low, high);
  }
  if (target == position) return;
  const std::int64_t area = line_->area();
  erase(position);
  insert(node, target);
  // A shift costs nothing, so alone the budget would hold it back: results would be made early and
  // read late until every step is full, and nothing else could change any more. Room has a price.
  threshold_ -= mean_price_ * static_cast<double>(line_->area() - area);
  settle();
}

void Annealer::exchange() {
  const int position = pick_repetition();
  if (position < 0) return;
  const int node = line_->node_at(position);
  int where = random_.below(line_->size());
  const auto inputs = problem_.inputs(line_->node_at(where));
  if (inputs.empty()) return;
  const int other = inputs[random_.below(static_cast<int>(inputs.size()))];
  if (other == node || !may_recompute(other, where)) return;
  // What the one takes and what the other gives must meet.
  if (where <= line_->touch_before(node, position) || line_->touch_before(other, where) >= position)
    return;
  if (line_->excess() == 0 && !acceptable(problem_.cost[other] - problem_.cost[node], 0) &&
      random_.below(8) > 0)
    return;
  if (where > position) {
    const int from_end = line_->size() - where;
    drop(position);
    where = line_->size() - from_end;
    if (may_recompute(other, where)) insert_chain(other, where, 50);
  } else {
    const int from_end = line_->size() - position;
    insert_chain(other, where, 50);
    drop(line_->size() - from_end);
  }
  settle();
}

void Annealer::rebuild() {
  if (random_.below(2) == 0) {
    const int position = random_.below(line_->size());
    const auto inputs = problem_.inputs(line_->node_at(position));
    if (inputs.empty()) return;
    const int node = inputs[random_.below(static_cast<int>(inputs.size()))];
    if (may_recompute(node, position)) insert_chain(node, position, 50);
  } else {
    for (int drops = 1 + random_.below(2); drops > 0; --drops) {
      const int position = pick_repetition();
      if (position >= 0) drop(position);
    }
  }
  constexpr int kMostReliefs = 24;
  constexpr double kHope = 0.3;
  const double hopeless = threshold_ + kHope * mean_cost_;
  for (int i = 0; i < kMostReliefs && line_->excess() > 0 && relieve_peak(); ++i)
    if (static_cast<double>(line_->cost() - cost_before_) > hopeless) break;
  if (line_->excess() == 0) forget_what_fits();
  settle();
}

bool Annealer::relieve_peak() {
  constexpr int kSamples = 24;
  const int peak = line_->peak_position();
  const int after = line_->size() - 1 - peak;
  int best_node = -1;
  int best_position = -1;
  double best_ratio = 0;
  for (int sample = 0; after > 0 && sample < kSamples; ++sample) {
    const int position = peak + 1 + random_.below(after);
    const auto inputs = problem_.inputs(line_->node_at(position));
    if (inputs.empty()) continue;
    const int node = inputs[random_.below(static_cast<int>(inputs.size()))];
    if (!may_recompute(node, position) || line_->touch_before(node, position) >= peak) continue;
    const std::int64_t gain = -line_->excess_if_inserted(node, position);
    const double ratio =
        static_cast<double>(gain) / (1.0 + static_cast<double>(problem_.cost[node]));
    if (gain <= 0 || ratio <= best_ratio) continue;
    best_ratio = ratio;
    best_node = node;
    best_position = position;
  }
  if (best_node < 0) return false;
  insert(best_node, best_position);
  return true;
}

void Annealer::forget_what_fits() {
  for (int tries = static_cast<int>(line_->repeated().size()); tries > 0; --tries) {
    const int position = pick_repetition();
    if (position >= 0 && line_->excess_if_erased(position) == 0) drop(position);
  }
}

void Annealer::insert(int node, int position) {
  if (edits_.empty()) {
    cost_before_ = line_->cost();
    excess_before_ = line_->excess();
  }
  line_->insert(node, position);
  edits_.push_back({true, node, position});
}

void Annealer::erase(int position) {
  if (edits_.empty()) {
    cost_before_ = line_->cost();
    excess_before_ = line_->excess();
  }
  edits_.push_back({false, line_->node_at(position), position});
  line_->erase(position);
}

void Annealer::settle() {
  if (!edits_.empty() &&
      !acceptable(line_->cost() - cost_before_, line_->excess() - excess_before_)) {
    for (auto edit = edits_.rbegin(); edit != edits_.rend(); ++edit) {
      if (edit->inserted)
        line_->erase(edit->position);
      else
        line_->insert(edit->node, edit->position);
    }
  }
  edits_.clear();
}

void Annealer::note_best() {
  if (line_->excess() > 0 || line_->cost() >= best_cost_) return;
  best_cost_ = line_->cost();
  best_ = line_->word();
}

}  // namespace tenure::planner::remat
