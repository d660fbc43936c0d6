#include "tenure/profile/growth_evidence.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "tenure/profile/growth_callers.h"

namespace tenure::profile {

/// Whether it, or what it was the first to hold, is there at the last mark: what somebody else
/// holds counts for who made it.
bool Evidence::is_left(const TensorLife& tensor) const {
  if (tensor.birth_ns >= last_) return false;
  return tensor.gone_ns >= last_ ||
         (tensor.is_first && history_.storages[tensor.storage].death_ns >= last_);
}

/// Of a line's origins, which differ by scope and by who called, the one that left most behind.
void Evidence::choose_origins(std::vector<Growth>& growing) {
  std::map<std::uint32_t, Growth*> by_line;
  for (Growth& growth : growing) by_line[lines_.line_of(growth.origin)] = &growth;
  std::map<std::uint32_t, std::int64_t> left;  // by origin
  for (const TensorLife& tensor : history_.tensors) {
    const auto growth = by_line.find(lines_.line_of(tensor.origin));
    if (growth == by_line.end() || tensor.birth_ns < growth->second->since_ns) continue;
    if (is_left(tensor)) ++left[tensor.origin];
  }
  std::map<std::uint32_t, std::int64_t> most;  // by line
  for (const auto& [origin, number] : left) {
    std::int64_t& highest = most[lines_.line_of(origin)];
    if (number <= highest) continue;
    highest = number;
    by_line[lines_.line_of(origin)]->origin = origin;
  }
}

void Evidence::find_callers(std::vector<Growth>& growing) {
  std::map<std::uint32_t, std::size_t> by_line;
  for (std::size_t i = 0; i < growing.size(); ++i) by_line[lines_.line_of(growing[i].origin)] = i;
  std::vector<CallsSeen> seen(growing.size());
  std::vector<CallsSeen> of_all(growing.size(), CallsSeen{.is_of_all = true});
  for (const SampledCalls& sample : history_.sampled) {
    const TensorLife& tensor = history_.tensors[sample.tensor];
    const auto growth = by_line.find(lines_.line_of(tensor.origin));
    if (growth == by_line.end() || tensor.birth_ns < growing[growth->second].since_ns) continue;
    ++of_all[growth->second].stacks[sample.stack];
    if (is_left(tensor)) ++seen[growth->second].stacks[sample.stack];
  }
  for (std::size_t i = 0; i < seen.size(); ++i) {
    if (seen[i].stacks.empty()) seen[i] = std::move(of_all[i]);
  }
  name_callers(growing, seen, history_.recorded);
}

void Evidence::find_holders(std::vector<Growth>& growing) {
  std::map<std::uint32_t, Growth*> by_line;
  for (Growth& growth : growing) {
    if (growth.what.empty() && growth.bytes > 0) by_line[lines_.line_of(growth.origin)] = &growth;
  }
  if (by_line.empty()) return;
  using Holder = std::tuple<std::uint32_t, std::uint32_t, HolderKind>;  // of a line: by a line
  std::map<Holder, GrowthHolder> others;
  std::map<std::uint32_t, std::pair<std::int64_t, std::int64_t>> kept;  // all, and by their makers
  const std::int64_t last = last_ - 1;
  for (const TensorLife& tensor : history_.tensors) {
    const StorageLife& life = history_.storages[tensor.storage];
    if (life.birth_ns > last || life.death_ns <= last) continue;
    const std::uint32_t line = lines_.line_of(life.origin);
    const auto growth = by_line.find(line);
    if (growth == by_line.end() || life.birth_ns < growth->second->since_ns) continue;
    if (tensor.is_first) ++kept[line].first;
    if (!tensor.holds_at(last)) continue;
    if (tensor.is_first && tensor.kind == HolderKind::user) {
      ++kept[line].second;
      continue;
    }
    GrowthHolder& holder = others[Holder(line, lines_.line_of(tensor.origin), tensor.kind)];
    holder.kind = tensor.kind;
    holder.origin = tensor.origin;
    ++holder.storages;
  }
  for (const auto& [key, holder] : others) {
    const auto& [all, own] = kept[std::get<0>(key)];
    if (2 * own < all) by_line[std::get<0>(key)]->holders.push_back(holder);
  }
  for (const auto& [line, growth] : by_line) {
    std::stable_sort(
        growth->holders.begin(), growth->holders.end(),
        [](const GrowthHolder& a, const GrowthHolder& b) { return a.storages > b.storages; });
  }
}

void Evidence::add_to(std::vector<Growth>& growing) {
  choose_origins(growing);
  find_callers(growing);
  find_holders(growing);
}

void name_tapes(std::vector<Growth>& growing) {
  const auto is_tape = [](const Growth& growth) { return growth.what == kTapeValue; };
  if (std::count_if(growing.begin(), growing.end(), is_tape) != 1) return;
  const std::uint32_t tape = std::find_if(growing.begin(), growing.end(), is_tape)->origin;
  for (Growth& growth : growing) {
    for (GrowthHolder& holder : growth.holders) {
      if (holder.kind == HolderKind::tape) holder.tape = tape;
    }
  }
}

}  // namespace tenure::profile
