#include "tenure/memory/holders/holder_groups.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <tuple>
#include <unordered_map>

#include "tenure/memory/budget.h"
#include "tenure/memory/callers.h"
#include "tenure/memory/holders/census.h"
#include "tenure/memory/holders/tenant.h"

namespace tenure::mem {
namespace {

struct Seen {
  std::uint64_t id;
  const char* op;
  Site site;
  const Storage* storage;  // null if disposed
  std::int64_t bytes;
  HolderKind kind;
};

std::vector<Seen> look_around(const WhichHolders& which) {
  std::vector<Seen> seen;
  const Census census;
  census.for_each([&](const Tenant& tenant) {
    if (!which.with_caches && tenant.kind() == HolderKind::cache) return;
    if (which.device && tenant.device() != *which.device) return;
    const Storage* const storage = tenant.storage();
    if (which.within != nullptr &&
        (storage == nullptr ||
         !BudgetAccount::counts_in(storage->budget(), storage->device(), *which.within))) {
      return;
    }
    const bool owns = storage != nullptr && !storage->is_foreign() && !storage->is_hollow();
    const std::int64_t bytes = owns ? static_cast<std::int64_t>(storage->bytes()) : 0;
    seen.push_back({tenant.id(), tenant.op(), tenant.created(), storage, bytes, tenant.kind()});
  });
  return seen;
}

bool is_in(const Seen& tensor, const HolderGroup& group) {
  return tensor.site.line() == group.site.line() && tensor.op == group.op &&
         std::string_view(tensor.site.file_name()) == group.site.file_name();
}

template <class Key>
Key heaviest(const std::map<Key, std::int64_t>& weights) {
  return std::max_element(weights.begin(), weights.end(),
                          [](const auto& a, const auto& b) { return a.second < b.second; })
      ->first;
}

}  // namespace

std::vector<HolderGroup> holder_groups(const WhichHolders& which) {
  const std::vector<Seen> seen = look_around(which);
  std::unordered_map<const Storage*, std::uint64_t> oldest;
  for (const Seen& s : seen) {
    auto [it, added] = oldest.try_emplace(s.storage, s.id);
    if (!added) it->second = std::min(it->second, s.id);
  }
  using Key = std::tuple<std::string_view, std::uint_least32_t, std::string_view>;
  std::map<Key, HolderGroup> groups;
  for (const Seen& s : seen) {
    HolderGroup& group = groups[Key(s.site.file_name(), s.site.line(), s.op)];
    group.op = s.op;
    group.site = s.site;
    ++(s.storage == nullptr ? group.disposed : group.tensors);
    if (oldest[s.storage] == s.id) group.bytes += s.bytes;
  }
  std::vector<HolderGroup> sorted;
  sorted.reserve(groups.size());
  for (auto& [key, group] : groups) sorted.push_back(std::move(group));
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const HolderGroup& a, const HolderGroup& b) { return a.bytes > b.bytes; });
  return sorted;
}

CommonHolder common_holder(const HolderGroup& group, std::int64_t newest,
                           const WhichHolders& which) {
  std::vector<Seen> line = look_around(which);
  std::erase_if(line, [&](const Seen& tensor) { return !is_in(tensor, group); });
  std::sort(line.begin(), line.end(), [](const Seen& a, const Seen& b) { return a.id > b.id; });
  if (newest < static_cast<std::int64_t>(line.size())) {
    line.resize(static_cast<std::size_t>(std::max<std::int64_t>(newest, 0)));
  }
  if (line.empty()) return {};
  const Callers* const known = callers();
  std::map<HolderKind, std::int64_t> kinds;
  std::map<std::uint32_t, std::int64_t> calls;
  for (const Seen& tensor : line) {
    kinds[tensor.kind] += tensor.bytes + 1;
    calls[known == nullptr ? 0 : known->of(tensor.id).created] += tensor.bytes + 1;
  }
  return {.kind = heaviest(kinds), .calls = heaviest(calls)};
}

}  // namespace tenure::mem
