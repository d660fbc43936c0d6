#include "tenure/planner/remat/timeline.h"

#include <algorithm>

namespace tenure::planner::remat {

Timeline::Timeline(const Problem& problem, std::int64_t budget, const std::vector<int>& word)
    : problem_(problem),
      budget_(budget),
      memory_(word.size(), 0),
      touches_(problem.end + 1),
      computed_(problem.end + 1, 0),
      place_(problem.end + 1, 0) {
  for (int node : word) {
    const int step = size();
    steps_.push_back(step);
    position_.push_back(step);
    node_of_.push_back(node);
    overwrites_.push_back(false);
    touches_[node].push_back(step);
    for (int input : problem_.inputs(node)) touches_[input].push_back(step);
    count(node, 1);
  }
  std::vector<char> needed(problem.end + 1, false);
  std::int64_t across = problem_.resident;
  for (int i = size() - 1; i >= 0; --i) {
    const int node = word[i];
    if (needed[node]) across -= problem_.bytes[node];
    needed[node] = false;
    for (int input : problem_.inputs(node)) {
      if (!needed[input]) across += problem_.bytes[input];
      needed[input] = true;
    }
    memory_[i] = across + problem_.own[node];
    excess_ += above(memory_[i]);
    area_ += memory_[i];
  }
  if (problem_.any_overwrites)
    for (int i = 0; i < size(); ++i) refresh_overwrite(i);
}

std::int64_t Timeline::peak() const {
  return memory_.empty() ? problem_.resident : *std::max_element(memory_.begin(), memory_.end());
}

int Timeline::peak_position() const {
  return static_cast<int>(std::max_element(memory_.begin(), memory_.end()) - memory_.begin());
}

std::vector<int> Timeline::word() const {
  std::vector<int> nodes;
  nodes.reserve(steps_.size());
  for (int step : steps_) nodes.push_back(node_of_[step]);
  return nodes;
}

int Timeline::index_from(int node, int position) const {
  const std::vector<int>& touches = touches_[node];
  const int count = static_cast<int>(touches.size());
  constexpr int kFewTouches = 8;
  if (count <= kFewTouches) {
    int index = 0;
    while (index < count && position_[touches[index]] < position) ++index;
    return index;
  }
  const auto found = std::partition_point(touches.begin(), touches.end(),
                                          [&](int step) { return position_[step] < position; });
  return static_cast<int>(found - touches.begin());
}

int Timeline::touch_before(int node, int position) const {
  const int index = index_from(node, position);
  return index == 0 ? -1 : position_[touches_[node][index - 1]];
}

int Timeline::touch_from(int node, int position) const {
  const int index = index_from(node, position);
  return index == static_cast<int>(touches_[node].size()) ? size()
                                                          : position_[touches_[node][index]];
}

bool Timeline::dies_after(int node, int index) const {
  return index + 1 == static_cast<int>(touches_[node].size()) || computes(node, index + 1);
}

bool Timeline::is_read(int position) const {
  const int node = node_at(position);
  return !dies_after(node, index_from(node, position));
}

bool Timeline::lives_at(int node, int position) const {
  return !dies_after(node, index_from(node, position) - 1);
}

bool Timeline::is_useful(int node, int position) const {
  const int index = index_from(node, position);
  if (index == 0 || dies_after(node, index - 1)) return false;
  return !computes(node, index - 1) || position_[touches_[node][index - 1]] != position - 1;
}

void Timeline::add_range(int start, std::int64_t bytes) {
  ranges_.push_back({start, bytes});
  for (auto i = ranges_.size() - 1; i > 0 && ranges_[i - 1].start > ranges_[i].start; --i)
    std::swap(ranges_[i - 1], ranges_[i]);
}

void Timeline::ranges_of_insertion(int node, int position) {
  ranges_.clear();
  if (const int index = index_from(node, position); !dies_after(node, index - 1))
    add_range(touch_before(node, position) + 1, -problem_.bytes[node]);
  for (int input : problem_.inputs(node))
    if (!lives_at(input, position))
      add_range(touch_before(input, position) + 1, problem_.bytes[input]);
}

void Timeline::ranges_of_removal(int position) {
  ranges_.clear();
  const int node = node_at(position);
  if (is_read(position)) add_range(touch_before(node, position) + 1, problem_.bytes[node]);
  for (int input : problem_.inputs(node))
    if (dies_after(input, index_from(input, position)))
      add_range(touch_before(input, position) + 1, -problem_.bytes[input]);
}

std::int64_t Timeline::memory_if_inserted(int node, int position) const {
  const int next = steps_[position];
  std::int64_t memory = memory_[position] - problem_.own[node_of_[next]] + problem_.own[node];
  if (overwrites_[next]) memory += problem_.bytes[node_of_[next]];
  for (const Range& range : ranges_) memory += range.bytes;
  return memory;
}

std::int64_t Timeline::excess_of_ranges(int end) const {
  std::int64_t change = 0;
  std::int64_t bytes = 0;
  for (std::size_t i = 0; i < ranges_.size(); ++i) {
    bytes += ranges_[i].bytes;
    const int stop = i + 1 < ranges_.size() ? ranges_[i + 1].start : end;
    if (bytes == 0) continue;
    for (int k = ranges_[i].start; k < stop; ++k)
      change += above(memory_[k] + bytes) - above(memory_[k]);
  }
  return change;
}

void Timeline::apply_ranges(int end) {
  std::int64_t bytes = 0;
  for (std::size_t i = 0; i < ranges_.size(); ++i) {
    bytes += ranges_[i].bytes;
    const int stop = i + 1 < ranges_.size() ? ranges_[i + 1].start : end;
    for (int k = ranges_[i].start; k < stop; ++k) memory_[k] += bytes;
    area_ += bytes * (stop - ranges_[i].start);
  }
}

std::int64_t Timeline::excess_if_inserted(int node, int position) {
  if (problem_.any_overwrites) {
    // Which steps compute in place may change; trying is the simplest way to know.
    const std::int64_t before = excess_;
    insert(node, position);
    const std::int64_t change = excess_ - before;
    erase(position);
    return change;
  }
  ranges_of_insertion(node, position);
  return excess_of_ranges(position) + above(memory_if_inserted(node, position));
}

std::int64_t Timeline::excess_if_erased(int position) {
  if (problem_.any_overwrites) {
    const std::int64_t before = excess_;
    const int node = node_at(position);
    erase(position);
    const std::int64_t change = excess_ - before;
    insert(node, position);
    return change;
  }
  ranges_of_removal(position);
  return excess_of_ranges(position) - above(memory_[position]);
}

void Timeline::insert(int node, int position) {
  ranges_of_insertion(node, position);
  const std::int64_t memory = memory_if_inserted(node, position);
  excess_ += excess_of_ranges(position) + above(memory);
  apply_ranges(position);
  area_ += memory;

  int step = static_cast<int>(node_of_.size());
  if (spare_.empty()) {
    node_of_.push_back(node);
    position_.push_back(position);
    overwrites_.push_back(false);
  } else {
    step = spare_.back();
    spare_.pop_back();
    node_of_[step] = node;
    overwrites_[step] = false;
  }
  const auto touch = [&](int touched) {
    touches_[touched].insert(touches_[touched].begin() + index_from(touched, position), step);
  };
  touch(node);
  for (int input : problem_.inputs(node)) touch(input);
  memory_.insert(memory_.begin() + position, memory);
  steps_.insert(steps_.begin() + position, step);
  renumber_from(position);
  count(node, 1);
  if (problem_.any_overwrites) {
    refresh_overwrite(position);
    refresh_overwrites_before(node, position);
  }
}

void Timeline::erase(int position) {
  const int step = steps_[position];
  const int node = node_of_[step];
  ranges_of_removal(position);
  excess_ += excess_of_ranges(position) - above(memory_[position]);
  apply_ranges(position);
  area_ -= memory_[position];

  const auto release = [&](int touched) {
    touches_[touched].erase(touches_[touched].begin() + index_from(touched, position));
  };
  release(node);
  for (int input : problem_.inputs(node)) release(input);
  memory_.erase(memory_.begin() + position);
  steps_.erase(steps_.begin() + position);
  spare_.push_back(step);
  renumber_from(position);
  count(node, -1);
  if (problem_.any_overwrites) refresh_overwrites_before(node, position);
}

void Timeline::count(int node, int change) {
  const bool was_repeated = computed_[node] > 1;
  computed_[node] += change;
  cost_ += change * problem_.cost[node];
  const bool is_repeated = computed_[node] > 1;
  if (is_repeated && !was_repeated) {
    place_[node] = static_cast<int>(repeated_.size());
    repeated_.push_back(node);
  } else if (was_repeated && !is_repeated) {
    place_[repeated_.back()] = place_[node];
    repeated_[place_[node]] = repeated_.back();
    repeated_.pop_back();
  }
}

int Timeline::computation(int node, int which) const {
  int index = 0;
  while (!computes(node, index) || which-- > 0) ++index;
  return position_[touches_[node][index]];
}

void Timeline::renumber_from(int position) {
  for (int i = position; i < size(); ++i) position_[steps_[i]] = i;
}

void Timeline::refresh_overwrites_before(int node, int position) {
  const auto refresh = [&](int touched) {
    if (const int before = touch_before(touched, position); before >= 0) refresh_overwrite(before);
  };
  refresh(node);
  for (int input : problem_.inputs(node)) refresh(input);
}

void Timeline::refresh_overwrite(int position) {
  const int step = steps_[position];
  const int node = node_of_[step];
  bool overwrites = false;
  std::uint32_t bits = problem_.overwrites[node];
  for (int input : problem_.inputs(node)) {
    overwrites = overwrites || ((bits & 1) != 0 && problem_.bytes[input] >= problem_.bytes[node] &&
                                dies_after(input, index_from(input, position)));
    bits >>= 1;
  }
  if (overwrites == static_cast<bool>(overwrites_[step])) return;
  overwrites_[step] = overwrites;
  const std::int64_t change = overwrites ? -problem_.bytes[node] : problem_.bytes[node];
  excess_ += above(memory_[position] + change) - above(memory_[position]);
  memory_[position] += change;
  area_ += change;
}

}  // namespace tenure::planner::remat
