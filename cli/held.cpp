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
using profile::LiveHolder;
using profile::StorageLife;

/// Storages of one kind and shape, held by the same lines.
struct Alike {
  const StorageLife* first = nullptr;
  std::int64_t storages = 0;
  std::int64_t bytes = 0;
  std::int64_t idle_ns = 0;                    ///< the longest
  std::vector<const LiveHolder*> holders{};    ///< of the first
  std::vector<std::set<std::string>> names{};  ///< of each of them, in all storages
};

std::vector<Alike> alike(const History& history) {
  using Holders = std::vector<std::pair<HolderKind, std::uint32_t>>;
  using Key = std::tuple<Category, std::size_t, std::uint32_t, std::uint32_t, Holders>;
  std::map<Key, Alike> groups;
  for (const profile::Held& held : held_at_end(history)) {
    const StorageLife& life = *held.storage;
    Holders holders;
    for (const LiveHolder* holder : held.holders) {
      holders.emplace_back(holder->kind, holder->origin);
    }
    Alike& group = groups[{life.category, mem::place_of(life.device), life.layout,
                           held.holders.empty() ? life.origin : 0, std::move(holders)}];
    if (group.first == nullptr) {
      group.first = &life;
      group.holders = held.holders;
      group.names.resize(held.holders.size());
    }
    ++group.storages;
    group.bytes += life.bytes;
    group.idle_ns = std::max(group.idle_ns, history.end_ns - life.idle_since(history.end_ns));
    for (std::size_t i = 0; i < held.holders.size(); ++i) {
      if (!held.holders[i]->name.empty()) group.names[i].insert(held.holders[i]->name);
    }
  }
  std::vector<Alike> result;
  result.reserve(groups.size());
  for (auto& [key, group] : groups) result.push_back(std::move(group));
  std::stable_sort(result.begin(), result.end(),
                   [](const Alike& a, const Alike& b) { return a.bytes > b.bytes; });
  return result;
}

/// "user w1, w2, w3 and 4 more, made by uniform at model.cpp:12".
std::string holder_text(const LiveHolder& holder, const std::set<std::string>& names,
                        const profile::Recorded& recorded) {
  constexpr std::size_t kNamed = 3;
  LiveHolder all = holder;
  const std::vector<std::string> some(
      names.begin(),
      std::next(names.begin(), static_cast<std::ptrdiff_t>(std::min(kNamed, names.size()))));
  all.name = fmt::format("{}", fmt::join(some, ", "));
  if (names.size() > kNamed) all.name += fmt::format(" and {} more", names.size() - kNamed);
  return plain(to_string(all, recorded));
}

}  // namespace

void print_held(const History& history, std::size_t rows) {
  constexpr std::int64_t kShortest = 1'000'000;  // nanoseconds; less is not idle
  const Terminal terminal;
  const std::vector<Alike> groups = alike(history);
  if (groups.empty()) return;
  fmt::print("\n{}\n", terminal.bold("Live at the end, and who holds it"));
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
    for (std::size_t h = 0; h < group.holders.size(); ++h) {
      beneath(holder_text(*group.holders[h], group.names[h], history.recorded));
    }
    if (group.holders.empty()) beneath(origin_text(history.recorded.origin(group.first->origin)));
  }
  if (groups.size() > rows) fmt::print("  and {} more\n", groups.size() - rows);
}

}  // namespace tenure::cli
