#include "tenure/profile/report_answers.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

#include "tenure/profile/growth.h"
#include "tenure/profile/text.h"

namespace tenure::profile {
namespace {

std::string growing(const Loop& loop, const Growth& one, ReportNumbers& numbers) {
  const ReportPlace from = numbers.place(one.origin);
  std::string holders;
  for (const GrowthHolder& holder : one.holders) {
    const ReportPlace by = numbers.place(holder.origin);
    holders += fmt::format(R"({}{{"kind":"{}","site":{},"op":{},"storages":{}}})",
                           holders.empty() ? "" : ",", name_of(holder.kind), by.site, by.op,
                           holder.storages);
  }
  std::string callers;
  for (const std::string& caller : one.callers) {
    callers += callers.empty() ? "" : ",";
    callers += json_string(caller);
  }
  return fmt::format(
      R"({{"site":{},"op":{},"bytes_per_step":{:.3f},"count_per_step":{:.4f},"steps":{},)"
      R"("loop":{},"marked":{},"what":{},"since_step":{},"since_ns":{},"bytes":{},"number":{},)"
      R"("holders":[{}],"callers":[{}]}})",
      from.site, from.op, one.bytes_per_step,
      one.storages_per_step + one.sharers_per_step + one.things_per_step, loop.steps,
      json_string(loop.name), loop.is_marked, json_string(one.what), one.since_step, one.since_ns,
      one.bytes, one.number, holders, callers);
}

}  // namespace

std::string report_growth(const History& history, ReportNumbers& numbers) {
  std::string text;
  std::string said;
  std::string moments;
  const std::vector<Loop> loops = growth(history);
  const bool has_marks = std::any_of(
      loops.begin(), loops.end(), [](const Loop& loop) { return loop.is_marked && loop.can_tell; });
  for (const Loop& loop : loops) {
    for (const Growth& one : loop.growing) {
      text += text.empty() ? "" : ",";
      text += growing(loop, one, numbers);
    }
    if (loop.can_tell) {
      said += said.empty() ? "" : ",";
      said += json_string(judgement(loop, history.recorded));
    }
    if (!loop.is_marked && !has_marks && moments.empty()) {
      moments = fmt::format("{}", fmt::join(loop.times, ","));
    }
  }
  return fmt::format(R"("growth":[{}],"judgement":[{}],"moments":[{}],)", text, said, moments);
}

std::string report_times(const History& history, ReportNumbers& numbers) {
  for (const auto& [origin, spent] : history.time_spent) {
    numbers.place(origin);  // all get their numbers
  }
  const auto list = [&](std::size_t n, std::uint32_t ReportPlace::*member) {
    std::vector<std::int64_t> ns(n + 1);
    std::vector<std::int64_t> calls(n + 1);
    for (const auto& [origin, spent] : history.time_spent) {
      const std::uint32_t number = numbers.place(origin).*member;
      ns[number] += spent.ns;
      calls[number] += spent.times;
    }
    return fmt::format(R"({{"ns":[{}],"calls":[{}]}})", fmt::join(ns, ","), fmt::join(calls, ","));
  };
  return fmt::format(R"({{"op":{},"site":{},"scope":{}}})",
                     list(numbers.ops().size(), &ReportPlace::op),
                     list(numbers.sites().size(), &ReportPlace::site),
                     list(numbers.scopes().size(), &ReportPlace::scope));
}

std::string report_misses(const History& history, ReportNumbers& numbers) {
  std::string text;
  for (const auto& [miss, times] : history.misses) {
    const ReportPlace disposed = numbers.place(miss.disposed);
    const ReportPlace used = numbers.place(miss.used);
    text += fmt::format(R"({}{{"times":{},"disposed_site":{},"used_site":{},"used_op":{}}})",
                        text.empty() ? "" : ",", times, disposed.site, used.site, used.op);
  }
  return text;
}

std::string report_held(const History& history, ReportNumbers& numbers) {
  std::string text;
  for (const auto& [origin, times] : history.disposed_while_held) {
    text += fmt::format(R"({}{{"times":{},"site":{}}})", text.empty() ? "" : ",", times,
                        numbers.place(origin).site);
  }
  return text;
}

}  // namespace tenure::profile
