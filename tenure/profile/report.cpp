#include "tenure/profile/report.h"

#include <fmt/format.h>

#include <ctime>

#include "tenure/profile/queries.h"
#include "tenure/profile/report_answers.h"
#include "tenure/profile/report_limits.h"
#include "tenure/profile/report_numbers.h"
#include "tenure/profile/report_plans.h"
#include "tenure/profile/report_rows.h"
#include "tenure/profile/text.h"
#include "tenure/tensor/dtype.h"

namespace tenure::profile {
namespace {

constexpr int kHolderKinds = static_cast<int>(HolderKind::cache) + 1;
constexpr std::string_view kMarker = "@TENURE_REPORT@";

/// All that the page gets: columns, and a header that says what they mean.
class Report {
 public:
  Report(const History& history, WhatIfs what_ifs);
  std::string data() const;

 private:
  std::string header(std::size_t columns_at) const;
  std::string op_counts() const;
  std::string steps() const;

  const History& history_;
  const Recorded& recorded_;
  ReportNumbers numbers_;
  Columns columns_;
  // In this order: all but the times may add places, and the times are those of all places.
  std::size_t rows_;
  std::string growth_;
  std::string misses_;
  std::string held_;
  std::string limits_;
  std::string plans_;
  std::string times_;
};

Report::Report(const History& history, WhatIfs what_ifs)
    : history_(history),
      recorded_(history.recorded),
      numbers_(recorded_),
      rows_(add_report_rows(history, numbers_, columns_)),
      growth_(report_growth(history, numbers_)),
      misses_(report_misses(history, numbers_)),
      held_(report_held(history, numbers_)),
      limits_(report_limits(history, origins_of_addresses(history), numbers_)),
      plans_(report_plans(history, what_ifs, numbers_)),
      times_(report_times(history, numbers_)) {}

std::string quoted_list(const std::vector<std::string>& list) {
  std::string text = "\"\"";
  for (const std::string& one : list) text += ',' + json_string(one);
  return text;
}

template <class Names>
std::string names_of(int n, const Names& name) {
  std::string text;
  for (int i = 0; i < n; ++i) text += fmt::format("{}\"{}\"", i == 0 ? "" : ",", name(i));
  return text;
}

std::string utc(std::int64_t ns) {
  const std::time_t seconds = ns / 1'000'000'000;
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  char text[32];
  return std::string(text, std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts));
}

std::string Report::op_counts() const {
  std::string reused = "0";
  std::string viewed = "0";
  for (const std::string& op : numbers_.ops()) {
    const auto found = history_.ops.find(op);
    const OpCounts counts = found == history_.ops.end() ? OpCounts() : found->second;
    reused += fmt::format(",{}", counts.reused);
    viewed += fmt::format(",{}", counts.viewed);
  }
  return fmt::format(R"({{"reused":[{}],"viewed":[{}]}})", reused, viewed);
}

std::string Report::steps() const {
  std::string text;
  for (const StepMark& step : history_.steps) {
    text += fmt::format(R"({}{{"t":{},"name":{}}})", text.empty() ? "" : ",", step.time_ns,
                        json_string(recorded_.origin(step.origin).op));
  }
  return text;
}

std::string Report::header(std::size_t columns_at) const {
  const Level highest = peak(history_);
  std::string sites = R"({"file":"","line":0})";
  for (const auto& [file, line] : numbers_.sites()) {
    sites += fmt::format(R"(,{{"file":{},"line":{}}})", json_string(file), line);
  }
  return fmt::format(
      R"({{"version":1,"program":{},"created":"{}","duration_ns":{},"complete":{},"begins_ns":{},)"
      R"("dropped":{},)"
      R"("damaged":{},"events":{},"base_bytes":{},"peak_ns":{},"peak_bytes":{},"strings":[{}],)"
      R"("sites":[{}],"scopes":[{}],"ops":[{}],"op_counts":{},"categories":[{}],"dtypes":[{}],)"
      R"("devices":[{}],"threads":{},)"
      R"("steps":[{}],{}"plans":[{}],{})"
      R"("time":{},"misses":[{}],"held":[{}],)"
      R"("evicted":{{"times":{},"recomputed":{},"recomputed_bytes":{}}},"holder_kinds":[{}],"rows":{},"storages":{},)"
      R"("columns":[{}]}})",
      json_string(recorded_.program), utc(recorded_.started_ns), history_.end_ns,
      recorded_.finished, recorded_.horizon_ns, recorded_.dropped, recorded_.damaged,
      recorded_.events, history_.base_bytes, highest.time_ns, highest.bytes,
      quoted_list(numbers_.strings()), sites, quoted_list(numbers_.scopes()),
      quoted_list(numbers_.ops()), op_counts(),
      names_of(kKinds, [](int i) { return kind_name(i); }),
      names_of(kDTypes, [](int i) { return name_of(static_cast<DType>(i)); }),
      names_of(static_cast<int>(history_.devices.size()),
               [&](int i) { return name_of(history_.devices[static_cast<std::size_t>(i)]); }),
      history_.threads, steps(), growth_, plans_, limits_, times_, misses_, held_,
      history_.evictions, history_.recomputations, history_.recomputed_bytes,
      names_of(kHolderKinds, [](int i) { return name_of(static_cast<HolderKind>(i)); }), rows_,
      history_.storages.size(), columns_.describe(columns_at));
}

std::string Report::data() const {
  // The header says where the columns begin, which depends on its length: room is left for it.
  std::string head = header(0);
  const std::size_t columns_at = (4 + head.size() + 256 + 7) / 8 * 8;
  head = header(columns_at);
  head.resize(columns_at - 4, ' ');
  const auto length = static_cast<std::uint32_t>(head.size());
  std::string bytes(reinterpret_cast<const char*>(&length), sizeof length);
  return bytes + head + columns_.bytes();
}

std::string encoded(const History& history, WhatIfs what_ifs) {
  return base64(packed(report_data(history, what_ifs), Packing::zlib));
}

std::string filled(std::string_view page, const std::string& data) {
  const std::size_t at = page.find(kMarker);
  internal_check(at != std::string_view::npos, "the report page has a place for its data");
  std::string result(page.substr(0, at));
  result += data;
  result += page.substr(at + kMarker.size());
  return result;
}

}  // namespace

std::string report_data(const History& history, WhatIfs what_ifs) {
  return Report(history, what_ifs).data();
}

std::string report_page(const History& history, std::string_view page, WhatIfs what_ifs) {
  return filled(page, encoded(history, what_ifs));
}

std::string report_page(const History& before, const History& after, std::string_view page) {
  return filled(page, encoded(before, WhatIfs::none) + ' ' + encoded(after, WhatIfs::none));
}

}  // namespace tenure::profile
