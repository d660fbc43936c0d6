#include "cli/held.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "cli/recording.h"
#include "cli/table.h"
#include "tenure/profile/text.h"

namespace tenure::cli {
namespace {

using profile::History;
using profile::StorageLife;

/// Kind and line, and how many of them.
using HolderKey = std::tuple<HolderKind, std::uint32_t, std::int64_t>;

std::vector<Alike::Holder> together(const std::vector<const profile::LiveHolder*>& holders) {
  std::map<std::pair<HolderKind, std::uint32_t>, std::size_t> places;
  std::vector<Alike::Holder> result;  // in the order in which they came
  for (const profile::LiveHolder* const each : holders) {
    const auto [place, is_new] =
        places.try_emplace(std::pair(each->kind, each->origin), result.size());
    if (is_new) result.push_back({.one = *each});
    Alike::Holder& holder = result[place->second];
    ++holder.number;
    if (!each->name.empty()) holder.names.insert(each->name);
  }
  return result;
}

}  // namespace

std::vector<Alike> alike(const History& history, const std::vector<profile::Held>& held,
                         bool by_maker) {
  using Key =
      std::tuple<Category, std::size_t, std::uint32_t, std::uint32_t, std::vector<HolderKey>>;
  std::map<Key, Alike> groups;
  for (const profile::Held& each : held) {
    const StorageLife& life = *each.storage;
    std::vector<Alike::Holder> holders = together(each.holders);
    std::vector<HolderKey> keys;
    for (const Alike::Holder& holder : holders) {
      keys.emplace_back(holder.one.kind, holder.one.origin, holder.number);
    }
    Alike& group = groups[{life.category, mem::place_of(life.device), life.layout,
                           by_maker || holders.empty() ? life.origin : 0, std::move(keys)}];
    ++group.storages;
    group.bytes += life.bytes;
    group.idle_ns = std::max(group.idle_ns, history.end_ns - life.idle_since(history.end_ns));
    if (group.first == nullptr) {
      group.first = &life;
      group.holders = std::move(holders);
      continue;
    }
    for (std::size_t i = 0; i < holders.size(); ++i) group.holders[i].names.merge(holders[i].names);
  }
  std::vector<Alike> result;
  result.reserve(groups.size());
  for (auto& [key, group] : groups) result.push_back(std::move(group));
  std::stable_sort(result.begin(), result.end(),
                   [](const Alike& a, const Alike& b) { return a.bytes > b.bytes; });
  return result;
}

std::string holder_text(const Alike::Holder& holder, const profile::Recorded& recorded) {
  constexpr std::size_t kNamed = 3;
  profile::LiveHolder all = holder.one;
  const std::set<std::string>& names = holder.names;
  const std::vector<std::string> some(
      names.begin(),
      std::next(names.begin(), static_cast<std::ptrdiff_t>(std::min(kNamed, names.size()))));
  all.name = fmt::format("{}", fmt::join(some, ", "));
  if (names.size() > kNamed) all.name += fmt::format(" and {} more", names.size() - kNamed);
  const std::string number = holder.number > 1 ? fmt::format("{} x ", holder.number) : "";
  return number + plain(to_string(all, recorded));
}

void print_held(const History& history, std::size_t rows) {
  constexpr std::int64_t kShortest = 1'000'000;  // nanoseconds; less is not idle
  const Terminal terminal;
  const std::vector<Alike> groups = alike(history, held_at_end(history), false);
  if (groups.empty()) return;
  print_heading(terminal, "Live at the end, and who holds it");
  const auto beneath = [&](const std::string& text) {
    for (const std::string& line : lines_of(text, terminal.width() - 14)) {
      fmt::print("  {:>10}  {}\n", "", terminal.dim(line));
    }
  };
  for (std::size_t i = 0; i < std::min(rows, groups.size()); ++i) {
    const Alike& group = groups[i];
    std::string text(name_of(group.first->category));
    text += "  ";
    if (group.storages > 1) text += fmt::format("{} x ", group.storages);
    text += plain(to_string(history.recorded.layout(group.first->layout)));
    if (history.devices.size() > 1) text += fmt::format("  on {}", name_of(group.first->device));
    if (group.idle_ns >= kShortest) {
      text += fmt::format("  idle for {}", seconds_text(static_cast<double>(group.idle_ns) * 1e-9));
    }
    fmt::print("  {:>10}  {}\n", size_text(group.bytes), text);
    for (const Alike::Holder& holder : group.holders) {
      beneath(holder_text(holder, history.recorded));
    }
    if (group.holders.empty()) beneath(origin_text(history.recorded.origin(group.first->origin)));
  }
  if (groups.size() > rows) fmt::print("  and {} more\n", groups.size() - rows);
}

}  // namespace tenure::cli
