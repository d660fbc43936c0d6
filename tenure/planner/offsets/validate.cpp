#include <algorithm>
#include <iterator>
#include <map>
#include <numeric>

#include "tenure/planner/offsets.h"

namespace tenure::planner {
namespace {

/// What one group, or one buffer without a group, holds.
struct Held {
  std::size_t buffer = 0;  // one of them
  std::int64_t offset = 0;
  std::int64_t size = 0;
  std::int64_t lower = 0;
  std::int64_t upper = 0;
  std::int64_t alignment = 1;  // the largest of them
};

std::string name(std::size_t buffer) { return "buffer " + std::to_string(buffer); }

/// What is wrong with one buffer alone.
std::optional<std::string> look_at(std::size_t i, const Buffer& buffer, std::int64_t offset,
                                   std::int64_t height) {
  if (offset < 0) return name(i) + " has a negative offset: " + std::to_string(offset);
  if (buffer.offset && offset != *buffer.offset) {
    return name(i) + " lies at " + std::to_string(offset) + " and must lie at " +
           std::to_string(*buffer.offset);
  }
  if (offset % buffer.alignment != 0) {
    return name(i) + " lies at " + std::to_string(offset) + ", no multiple of its alignment " +
           std::to_string(buffer.alignment);
  }
  if (buffer.lower < buffer.upper && buffer.size > 0 && offset > height - buffer.size)
    return name(i) + " ends above the height " + std::to_string(height);
  return std::nullopt;
}

/// Adds what is held between gaps, and what they leave.
void hold(const Held& whole, std::vector<Gap> gaps, std::vector<Held>& held) {
  std::sort(gaps.begin(), gaps.end(), [](const Gap& a, const Gap& b) { return a.lower < b.lower; });
  std::int64_t now = whole.lower;
  const auto add = [&](std::int64_t upper, std::int64_t bottom, std::int64_t top) {
    Held part = whole;
    part.lower = now;
    part.upper = upper;
    part.offset += bottom;
    part.size = top - bottom;
    if (!gaps.empty()) part.alignment = 1;  // what a gap leaves may begin anywhere
    if (part.lower < part.upper && part.size > 0) held.push_back(part);
    now = upper;
  };
  for (const Gap& gap : gaps) {
    add(gap.lower, 0, whole.size);
    add(gap.upper, gap.bottom, gap.top);
  }
  add(whole.upper, 0, whole.size);
}

/// The memory held alive, and the first pair of buffers that disagree about their group's offset.
std::optional<std::string> collect(const OffsetProblem& problem, const OffsetPlan& plan,
                                   std::vector<Held>& held) {
  std::map<int, std::size_t> first_of_group;
  std::map<int, std::int64_t> alignments;
  std::map<int, Held> groups;
  std::map<int, std::vector<Gap>> gaps;
  for (std::size_t i = 0; i < problem.buffers.size(); ++i) {
    const Buffer& buffer = problem.buffers[i];
    const bool is_alive = buffer.lower < buffer.upper;
    const Held own{i, plan.offsets[i], buffer.size, buffer.lower, buffer.upper, buffer.alignment};
    if (buffer.group < 0) {
      if (is_alive && buffer.size > 0) hold(own, buffer.gaps, held);
      continue;
    }
    gaps[buffer.group].insert(gaps[buffer.group].end(), buffer.gaps.begin(), buffer.gaps.end());
    const std::size_t first = first_of_group.try_emplace(buffer.group, i).first->second;
    if (plan.offsets[first] != plan.offsets[i])
      return name(first) + " and " + name(i) + " are of one group and lie at different offsets";
    alignments[buffer.group] = std::max(alignments[buffer.group], buffer.alignment);
    if (!is_alive) continue;
    Held& group = groups.try_emplace(buffer.group, own).first->second;
    group.size = std::max(group.size, buffer.size);
    group.lower = std::min(group.lower, buffer.lower);
    group.upper = std::max(group.upper, buffer.upper);
  }
  for (auto& [group, memory] : groups) {
    memory.alignment = alignments[group];
    if (memory.size > 0) hold(memory, gaps[group], held);
  }
  return std::nullopt;
}

/// Walks through time with all that is alive, by offset. As long as nothing of it overlaps, what
/// comes in can only overlap its neighbours.
std::optional<std::string> find_overlap(const std::vector<Held>& held) {
  std::vector<std::size_t> begins(held.size());
  std::iota(begins.begin(), begins.end(), std::size_t{0});
  std::vector<std::size_t> ends = begins;
  std::sort(begins.begin(), begins.end(),
            [&](std::size_t a, std::size_t b) { return held[a].lower < held[b].lower; });
  std::sort(ends.begin(), ends.end(),
            [&](std::size_t a, std::size_t b) { return held[a].upper < held[b].upper; });
  std::map<std::int64_t, std::size_t> alive;
  std::size_t ended = 0;
  for (const std::size_t i : begins) {
    for (; held[ends[ended]].upper <= held[i].lower; ++ended) alive.erase(held[ends[ended]].offset);
    const auto above = alive.lower_bound(held[i].offset);
    std::optional<std::size_t> hit;
    if (above != alive.end() && above->first < held[i].offset + held[i].size) hit = above->second;
    if (above != alive.begin()) {
      const Held& below = held[std::prev(above)->second];
      if (below.offset + below.size > held[i].offset) hit = std::prev(above)->second;
    }
    if (hit) {
      return name(std::min(held[i].buffer, held[*hit].buffer)) + " and " +
             name(std::max(held[i].buffer, held[*hit].buffer)) + " overlap while both are alive";
    }
    alive.emplace(held[i].offset, i);
  }
  return std::nullopt;
}

/// What must fit at one time: all that is alive, where every size but the topmost takes a multiple
/// of the least alignment.
std::int64_t need_at(const std::vector<Held>& held, std::int64_t time) {
  std::int64_t alignment = std::int64_t{1} << 62;
  for (const Held& memory : held) alignment = std::min(alignment, memory.alignment);
  std::int64_t sum = 0;
  std::int64_t largest_rest = 0;
  for (const Held& memory : held) {
    if (time < memory.lower || time >= memory.upper) continue;
    const std::int64_t multiple = (memory.size + alignment - 1) / alignment * alignment;
    sum += multiple;
    largest_rest = std::max(largest_rest, multiple - memory.size);
  }
  return sum - largest_rest;
}

}  // namespace

std::optional<std::string> validate(const OffsetProblem& problem, const OffsetPlan& plan) {
  if (plan.offsets.size() != problem.buffers.size()) {
    return "there are " + std::to_string(plan.offsets.size()) + " offsets for " +
           std::to_string(problem.buffers.size()) + " buffers";
  }
  for (std::size_t i = 0; i < problem.buffers.size(); ++i) {
    if (auto problem_found = look_at(i, problem.buffers[i], plan.offsets[i], plan.height))
      return problem_found;
  }
  std::vector<Held> held;
  if (auto problem_found = collect(problem, plan, held)) return problem_found;
  if (auto problem_found = find_overlap(held)) return problem_found;
  if (plan.lower_bound > plan.height) return "the lower bound is above the height";
  if (plan.witness && need_at(held, *plan.witness) < plan.lower_bound)
    return "what is alive at the witness needs less than the lower bound";
  return std::nullopt;
}

}  // namespace tenure::planner
