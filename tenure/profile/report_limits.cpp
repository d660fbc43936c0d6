#include "tenure/profile/report_limits.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "tenure/profile/limits.h"
#include "tenure/profile/text.h"

namespace tenure::profile {
namespace {

/// A page shows no more of them; a server may make a budget of another name for each request.
constexpr std::size_t kMostBudgets = 200;
constexpr std::size_t kMostRefusals = 1000;
constexpr std::size_t kMostHolders = 8;

std::int64_t or_minus_one(std::int64_t time_ns) { return time_ns == kNever ? -1 : time_ns; }

/// The highest level within each part of the time, and the level after it.
std::vector<Charged> thinned(const std::vector<Charged>& levels, const History& history) {
  constexpr std::int64_t kParts = 300;
  if (levels.size() <= 2 * kParts) return levels;
  const std::int64_t width =
      std::max<std::int64_t>((history.end_ns - history.begin_ns) / kParts, 1);
  std::vector<Charged> kept;
  for (std::size_t i = 0; i < levels.size();) {
    const std::int64_t part = (levels[i].time_ns - history.begin_ns) / width;
    std::size_t highest = i;
    std::size_t end = i;
    for (; end < levels.size() && (levels[end].time_ns - history.begin_ns) / width == part; ++end) {
      if (levels[end].bytes > levels[highest].bytes) highest = end;
    }
    kept.push_back(levels[highest]);
    if (end - 1 != highest) kept.push_back(levels[end - 1]);
    i = end;
  }
  return kept;
}

/// Budgets that are alike are one to the page: on its axis is what the fullest of them has.
std::string budget_json(const History& history, const BudgetGroup& group) {
  const BudgetSeen& first = history.budgets[group.numbers.front() - 1];
  const BudgetSeen& last = history.budgets[group.numbers.back() - 1];
  std::vector<std::int64_t> times;
  std::vector<std::int64_t> bytes;
  for (const Charged& level : thinned(charged_to(history, group.numbers), history)) {
    times.push_back(level.time_ns);
    bytes.push_back(level.bytes);
  }
  std::string limits;
  for (const auto& [since, limit] : first.limits) {
    limits += fmt::format("{}[{},{}]", limits.empty() ? "" : ",", since, limit);
  }
  return fmt::format(
      R"({{"name":{},"limit":{},"number":{},"begin_ns":{},"end_ns":{},"limits":[{}],"peak":{},)"
      R"("refusals":{},"charged":{{"t_ns":[{}],"bytes":[{}]}}}})",
      json_string(first.name), first.limit, group.numbers.size(), first.begin_ns,
      group.have_ended ? last.end_ns : -1, limits, group.most.peak, group.refusals,
      fmt::join(times, ","), fmt::join(bytes, ","));
}

std::string part_json(const History& history, const PoolPartLife& part,
                      const std::vector<double>& origins) {
  const auto& devices = history.devices;
  const auto device = std::find(devices.begin(), devices.end(), part.device);
  if (device == devices.end()) return {};
  const auto number = static_cast<std::size_t>(device - devices.begin());
  return fmt::format(
      R"({{"address":{:.0f},"bytes":{},"birth":{},"death":{},"device":{},"unit":{}}})",
      static_cast<double>(part.address) - origins[number], part.bytes, part.birth_ns,
      or_minus_one(part.death_ns), number, part.unit);
}

std::string parts_json(const History& history, bool slabs, const std::vector<double>& origins) {
  std::string text;
  for (const PoolPartLife& part : history.parts) {
    if (part.is_slab != slabs) continue;
    const std::string one = part_json(history, part, origins);
    if (!one.empty()) text += (text.empty() ? "" : ",") + one;
  }
  return text;
}

std::string pool_json(const History& history) {
  std::vector<std::int64_t> times;
  std::vector<std::int64_t> reserved;
  std::vector<std::int64_t> cached;
  std::string fragmentation;
  for (const PoolSample& sample : pool_levels(history, history.devices.front())) {
    times.push_back(sample.time_ns);
    reserved.push_back(sample.reserved);
    cached.push_back(sample.cached);
    fragmentation +=
        fmt::format("{}{:.4f}", fragmentation.empty() ? "" : ",", sample.fragmentation);
  }
  return fmt::format(R"({{"t_ns":[{}],"reserved":[{}],"cached":[{}],"fragmentation":[{}]}})",
                     fmt::join(times, ","), fmt::join(reserved, ","), fmt::join(cached, ","),
                     fragmentation);
}

/// What others had of each device's memory.
std::string outside_json(const History& history) {
  std::string text;
  for (std::size_t i = 0; i < history.devices.size(); ++i) {
    std::vector<std::int64_t> times;
    std::vector<std::int64_t> bytes;
    std::int64_t total = 0;
    for (const OutsideSample& sample : history.outside) {
      if (sample.device != history.devices[i]) continue;
      times.push_back(sample.time_ns);
      bytes.push_back(sample.bytes);
      total = sample.total;
    }
    if (times.empty()) continue;
    text += fmt::format(R"({}{{"device":{},"total":{},"t_ns":[{}],"bytes":[{}]}})",
                        text.empty() ? "" : ",", i, total, fmt::join(times, ","),
                        fmt::join(bytes, ","));
  }
  return text;
}

}  // namespace

std::string report_limits(const History& history, const std::vector<double>& origins,
                          ReportNumbers& numbers) {
  std::string budgets;
  std::vector<std::uint32_t> shown(history.budgets.size() + 1);  // number in the page
  std::uint32_t count = 0;
  for (const BudgetGroup& group : budget_groups(history)) {
    if (count == kMostBudgets) break;
    budgets += (count == 0 ? "" : ",") + budget_json(history, group);
    ++count;
    for (const std::uint32_t number : group.numbers) shown[number] = count;
  }
  constexpr const char* causes[] = {"budget", "system", "injected"};
  std::string refusals;
  for (std::size_t i = 0; i < std::min(kMostRefusals, history.refusals.size()); ++i) {
    const RefusalSeen& refusal = history.refusals[i];
    const ReportPlace by = numbers.place(refusal.origin);
    std::string holders;
    const std::vector<RefusalHolder> all = holders_at(history, refusal);
    for (std::size_t k = 0; k < std::min(kMostHolders, all.size()); ++k) {
      const ReportPlace from = numbers.place(all[k].origin);
      holders += fmt::format(R"({}{{"op":{},"site":{},"bytes":{},"storages":{}}})",
                             k == 0 ? "" : ",", from.op, from.site, all[k].bytes, all[k].storages);
    }
    refusals += fmt::format(
        R"({}{{"t":{},"bytes":{},"used":{},"cause":"{}","budget":{},"op":{},"site":{},"holders":[{}]}})",
        i == 0 ? "" : ",", refusal.time_ns, refusal.requested, refusal.used,
        causes[static_cast<std::size_t>(refusal.cause)], shown[refusal.budget], by.op, by.site,
        holders);
  }
  return fmt::format(
      R"("budgets":[{}],"refusals":[{}],"pool":{},"segments":[{}],"slabs":[{}],"outside":[{}],)",
      budgets, refusals, pool_json(history), parts_json(history, false, origins),
      parts_json(history, true, origins), outside_json(history));
}

}  // namespace tenure::profile
