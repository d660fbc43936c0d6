#include "tenure/profile/report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <ctime>
#include <limits>
#include <map>
#include <unordered_map>

#include "tenure/profile/queries.h"
#include "tenure/profile/report_limits.h"
#include "tenure/profile/rows.h"
#include "tenure/profile/text.h"
#include "tenure/profile/what_if.h"
#include "tenure/tensor/dtype.h"

namespace tenure::profile {
namespace {

constexpr int kHolderKinds = static_cast<int>(HolderKind::cache) + 1;
constexpr std::string_view kMarker = "@TENURE_REPORT@";

/// Gives numbers to what repeats, from 1 up; 0 is for nothing.
template <class Key>
class Numbers {
 public:
  std::uint32_t operator()(const Key& key) {
    const auto [found, is_new] =
        numbers_.try_emplace(key, static_cast<std::uint32_t>(list_.size() + 1));
    if (is_new) list_.push_back(key);
    return found->second;
  }
  const std::vector<Key>& list() const { return list_; }

 private:
  std::map<Key, std::uint32_t> numbers_;
  std::vector<Key> list_;
};

/// Columns of the report, one after the other.
class Columns {
 public:
  template <class T>
  void add(const char* name, const char* type, const std::vector<T>& values) {
    bytes_.resize((bytes_.size() + 7) / 8 * 8);
    places_.push_back({name, type, bytes_.size(), values.size()});
    bytes_.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
  }
  /// The list of columns, which begin `base` bytes after the beginning.
  std::string describe(std::size_t base) const {
    std::string text;
    for (const Place& place : places_) {
      text += fmt::format(R"({}{{"name":"{}","type":"{}","offset":{},"length":{}}})",
                          text.empty() ? "" : ",", place.name, place.type, base + place.offset,
                          place.length);
    }
    return text;
  }
  const std::string& bytes() const { return bytes_; }

 private:
  struct Place {
    const char* name;
    const char* type;
    std::size_t offset;
    std::size_t length;
  };
  std::string bytes_;
  std::vector<Place> places_;
};

/// What the page knows an origin by.
struct Place {
  std::uint32_t op = 0;
  std::uint32_t site = 0;
  std::uint32_t scope = 0;
  std::uint32_t calls = 0;  // a string: the calls that led there, one a line
};

class Report {
 public:
  Report(const History& history, WhatIfs what_ifs)
      : history_(history), recorded_(history.recorded), what_ifs_(what_ifs) {}
  std::string data();

 private:
  Place place(std::uint32_t origin);
  std::uint32_t op_number(std::string_view op);
  std::uint32_t scope_number(std::string_view scope);
  std::uint8_t number_of(Device device) const;
  /// By device: what addresses are counted from, so that devices lie one after the other.
  std::vector<double> origins_of_addresses() const;
  void add_rows();
  /// Who shares storages: rows of their own, by row of the storage.
  void add_holders(const std::vector<std::uint32_t>& row_of);
  std::string header(std::size_t columns_at);
  std::string op_counts() const;
  std::string steps() const;
  std::string growing();
  std::string times();
  std::string misses();
  std::string held();
  std::string plans();
  std::string steps_of(const MeasuredPlan& measured);
  std::string growing(const Loop& loop, const Growth& one);
  std::string what_ifs_of(const RecordedPlan& plan) const;
  bool is_asked(const RecordedPlan& plan) const;

  const History& history_;
  const Recorded& recorded_;
  const WhatIfs what_ifs_;
  Numbers<std::string> strings_;
  Numbers<std::pair<std::string, std::uint32_t>> sites_;
  Numbers<std::string> scopes_;
  Numbers<std::string> ops_;
  std::unordered_map<std::uint32_t, Place> places_;
  std::string growing_;
  std::string misses_;
  std::string held_;
  std::string limits_;
  std::string times_;
  std::string plans_;
  std::size_t rows_ = 0;
  std::unordered_map<const char*, std::uint32_t> op_numbers_;  // texts of the recording
  std::unordered_map<std::string_view, std::uint32_t> scope_numbers_;
  Columns columns_;
};

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

Place Report::place(std::uint32_t number) {
  const auto [found, is_new] = places_.try_emplace(number);
  if (is_new) {
    const Origin& origin = recorded_.origin(number);
    found->second = {origin.op.empty() ? 0 : ops_(std::string(origin.op)),
                     origin.file.empty() ? 0 : sites_({std::string(origin.file), origin.line}),
                     origin.scope.empty() ? 0 : scopes_(std::string(origin.scope)), 0};
    std::string calls;
    for (const CallFrame* const call : recorded_.calls(origin)) {
      calls += (calls.empty() ? "" : "\n") + to_string(*call);
    }
    if (!calls.empty()) found->second.calls = strings_(calls);
  }
  return found->second;
}

std::uint32_t Report::op_number(std::string_view op) {
  if (op.empty()) return 0;
  const auto [found, is_new] = op_numbers_.try_emplace(op.data());
  if (is_new) found->second = ops_(std::string(op));
  return found->second;
}

std::uint32_t Report::scope_number(std::string_view scope) {
  const auto [found, is_new] = scope_numbers_.try_emplace(scope);
  if (is_new) found->second = scopes_(std::string(scope));
  return found->second;
}

std::uint8_t Report::number_of(Device device) const {
  const auto& all = history_.devices;
  return static_cast<std::uint8_t>(std::find(all.begin(), all.end(), device) - all.begin());
}

std::vector<double> Report::origins_of_addresses() const {
  const std::size_t n = history_.devices.size();
  std::vector<double> lowest(n, std::numeric_limits<double>::infinity());
  std::vector<double> end(n, 0);
  for (const StorageLife& life : history_.storages) {
    if (life.address == 0) continue;
    const std::size_t device = number_of(life.device);
    const auto begin = static_cast<double>(life.address);
    lowest[device] = std::min(lowest[device], begin);
    end[device] = std::max(end[device], begin + static_cast<double>(life.bytes));
  }
  double place = 0;
  for (std::size_t device = 0; device < n; ++device) {
    if (end[device] == 0) continue;
    const double room = end[device] - lowest[device];
    lowest[device] -= place;
    place += room;
  }
  return lowest;
}

void Report::add_rows() {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const std::vector<Row> all = rows(history_);
  const std::size_t n = rows_ = all.size();
  std::vector<double> birth(n), death(n), bytes(n), address(n), last_use(n);
  std::vector<std::uint8_t> category(n), device(n), thread(n), dtype(n);
  std::vector<std::uint32_t> op(n), site(n), scope(n), shape(n), tensors(n), holders(n), name(n);
  std::vector<std::uint32_t> calls(n);
  std::vector<std::int32_t> disposed(n);
  std::vector<std::uint16_t> plan(n);
  std::vector<std::uint32_t> first_step(n), last_step(n);
  std::vector<std::uint8_t> again(n);
  std::vector<std::uint32_t> row_of(history_.storages.size());
  const std::vector<double> origins = origins_of_addresses();
  std::unordered_map<std::uint32_t, std::uint32_t> shapes;
  std::unordered_map<std::uint32_t, std::uint32_t> names;
  for (std::size_t i = 0; i < n; ++i) {
    const Row& row = all[i];
    const Place from = place(row.origin);
    birth[i] = static_cast<double>(row.birth_ns);
    death[i] = row.death_ns == kNever ? kInfinity : static_cast<double>(row.death_ns);
    bytes[i] = static_cast<double>(row.bytes);
    device[i] = number_of(row.device);
    address[i] = row.address == 0 ? -1 : static_cast<double>(row.address) - origins[device[i]];
    category[i] = static_cast<std::uint8_t>(row.kind);
    op[i] = op_number(row.op);
    site[i] = from.site;
    scope[i] = row.scope.empty() ? 0 : scope_number(row.scope);
    calls[i] = from.calls;
    thread[i] = static_cast<std::uint8_t>(std::min<std::uint32_t>(row.thread, 255));
    dtype[i] = 255;
    disposed[i] = -1;
    last_use[i] = static_cast<double>(std::min(row.death_ns, history_.end_ns));
    if (row.buffer != nullptr) {
      plan[i] = static_cast<std::uint16_t>(std::min<std::uint32_t>(row.plan, UINT16_MAX));
      first_step[i] = static_cast<std::uint32_t>(row.buffer->first);
      last_step[i] = static_cast<std::uint32_t>(row.buffer->last);
      again[i] = row.buffer->is_again ? 1 : 0;
    }
    if (row.storage == Row::kNoStorage) continue;
    row_of[row.storage] = static_cast<std::uint32_t>(i);
    const StorageLife& life = history_.storages[row.storage];
    const RecordedSpec& layout = recorded_.layout(life.layout);
    const auto [text, is_new] = shapes.try_emplace(life.layout);
    if (is_new && layout.dtype >= 0) text->second = strings_(to_string(layout));
    shape[i] = text->second;
    if (life.name != 0) {
      const auto [known, is_first] = names.try_emplace(life.name);
      if (is_first) known->second = strings_(recorded_.string(life.name));
      name[i] = known->second;
    }
    dtype[i] = layout.dtype < 0 ? 255 : static_cast<std::uint8_t>(layout.dtype);
    tensors[i] = life.tensors;
    disposed[i] = life.disposed == 0 ? -1 : static_cast<std::int32_t>(place(life.disposed).site);
    last_use[i] = static_cast<double>(life.tensors == 0 ? life.idle_since(history_.end_ns)
                                                        : life.last_use_ns);
  }
  std::string text;
  for (std::size_t h = 0; h < history_.holders.size(); ++h) {
    const LiveHolder& holder = history_.holders[h];
    if (!text.empty()) text += '\n';
    text += to_string(holder, recorded_);
    const bool is_last =
        h + 1 == history_.holders.size() || history_.holders[h + 1].storage != holder.storage;
    if (is_last) {
      holders[row_of[holder.storage]] = strings_(text);
      text.clear();
    }
  }
  columns_.add("birth_ns", "f64", birth);
  columns_.add("death_ns", "f64", death);
  columns_.add("bytes", "f64", bytes);
  columns_.add("address", "f64", address);
  columns_.add("category", "u8", category);
  columns_.add("device", "u8", device);
  columns_.add("op", "u32", op);
  columns_.add("site", "u32", site);
  columns_.add("scope", "u32", scope);
  columns_.add("thread", "u8", thread);
  columns_.add("shape", "u32", shape);
  columns_.add("dtype", "u8", dtype);
  columns_.add("tensors", "u32", tensors);
  columns_.add("disposed_site", "i32", disposed);
  columns_.add("last_use_ns", "f64", last_use);
  columns_.add("holders", "u32", holders);
  columns_.add("name", "u32", name);
  add_holders(row_of);
  if (recorded_.has_stacks()) columns_.add("calls", "u32", calls);
  if (history_.run_lives.empty()) return;
  columns_.add("plan", "u16", plan);
  columns_.add("first_step", "u32", first_step);
  columns_.add("last_step", "u32", last_step);
  columns_.add("again", "u8", again);
}

void Report::add_holders(const std::vector<std::uint32_t>& row_of) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  std::vector<const TensorLife*> all;
  for (const TensorLife& tensor : history_.tensors) {
    if (history_.storages[tensor.storage].tensors > 1) all.push_back(&tensor);
  }
  std::stable_sort(all.begin(), all.end(), [&](const TensorLife* a, const TensorLife* b) {
    const std::uint32_t first = row_of[a->storage];
    const std::uint32_t second = row_of[b->storage];
    return first != second ? first < second : a->birth_ns < b->birth_ns;
  });
  const std::size_t n = all.size();
  std::vector<std::uint32_t> row(n), op(n), site(n), name(n);
  std::vector<std::uint8_t> kind(n);
  std::vector<double> birth(n), end(n);
  for (std::size_t i = 0; i < n; ++i) {
    const TensorLife& tensor = *all[i];
    const Place from = place(tensor.origin);
    row[i] = row_of[tensor.storage];
    op[i] = from.op;
    site[i] = from.site;
    name[i] = tensor.name == 0 ? 0 : strings_(recorded_.string(tensor.name));
    kind[i] = static_cast<std::uint8_t>(tensor.kind);
    birth[i] = static_cast<double>(tensor.birth_ns);
    end[i] = tensor.end_ns == kNever ? kInfinity : static_cast<double>(tensor.end_ns);
  }
  columns_.add("holder_row", "u32", row);
  columns_.add("holder_op", "u32", op);
  columns_.add("holder_site", "u32", site);
  columns_.add("holder_name", "u32", name);
  columns_.add("holder_kind", "u8", kind);
  columns_.add("holder_birth_ns", "f64", birth);
  columns_.add("holder_end_ns", "f64", end);
}

std::string Report::op_counts() const {
  std::string reused = "0";
  std::string viewed = "0";
  for (const std::string& op : ops_.list()) {
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

std::string Report::growing(const Loop& loop, const Growth& one) {
  const Place from = place(one.origin);
  std::string holders;
  for (const GrowthHolder& holder : one.holders) {
    const Place by = place(holder.origin);
    holders += fmt::format(R"({}{{"kind":"{}","site":{},"op":{},"storages":{}}})",
                           holders.empty() ? "" : ",", name_of(holder.kind), by.site, by.op,
                           holder.storages);
  }
  return fmt::format(
      R"({{"site":{},"op":{},"bytes_per_step":{:.3f},"count_per_step":{:.4f},"steps":{},)"
      R"("loop":{},"marked":{},"what":{},"since_step":{},"since_ns":{},"bytes":{},"number":{},)"
      R"("holders":[{}]}})",
      from.site, from.op, one.bytes_per_step,
      one.storages_per_step + one.sharers_per_step + one.things_per_step, loop.steps,
      json_string(loop.name), loop.is_marked, json_string(one.what), one.since_step, one.since_ns,
      one.bytes, one.number, holders);
}

std::string Report::growing() {
  std::string text;
  std::string said;
  std::string moments;
  for (const Loop& loop : growth(history_)) {
    for (const Growth& one : loop.growing) {
      text += text.empty() ? "" : ",";
      text += growing(loop, one);
    }
    if (loop.can_tell) {
      said += said.empty() ? "" : ",";
      said += json_string(judgement(loop, recorded_));
    }
    if (!loop.is_marked) moments = fmt::format("{}", fmt::join(loop.times, ","));
  }
  return fmt::format(R"("growth":[{}],"judgement":[{}],"moments":[{}],)", text, said, moments);
}

/// What each step is, is predicted to take and took.
std::string Report::steps_of(const MeasuredPlan& measured) {
  std::string text;
  for (std::size_t i = 0; i < measured.plan->steps.size(); ++i) {
    const RecordedPlan::Step& step = measured.plan->steps[i];
    const Place from = place(step.origin);
    const PlanRuns::StepTime time =
        i < measured.runs.steps.size() ? measured.runs.steps[i] : PlanRuns::StepTime();
    text += fmt::format(
        R"({}{{"op":{},"site":{},"scope":{},"kind":{},"unit":{},"live":{},"predicted_ns":{},"measured_ns":{},"again":{}}})",
        i == 0 ? "" : ",", from.op, from.site, from.scope, static_cast<int>(step.category),
        step.unit, step.live, step.cost, time.times == 0 ? 0 : time.ns / time.times, step.is_again);
  }
  return text;
}

std::string Report::times() {
  for (const auto& [origin, spent] : history_.time_spent) place(origin);  // all get their numbers
  const auto list = [&](std::size_t n, std::uint32_t Place::*member) {
    std::vector<std::int64_t> ns(n + 1);
    std::vector<std::int64_t> calls(n + 1);
    for (const auto& [origin, spent] : history_.time_spent) {
      const std::uint32_t number = place(origin).*member;
      ns[number] += spent.ns;
      calls[number] += spent.times;
    }
    return fmt::format(R"({{"ns":[{}],"calls":[{}]}})", fmt::join(ns, ","), fmt::join(calls, ","));
  };
  return fmt::format(R"({{"op":{},"site":{},"scope":{}}})", list(ops_.list().size(), &Place::op),
                     list(sites_.list().size(), &Place::site),
                     list(scopes_.list().size(), &Place::scope));
}

std::string Report::misses() {
  std::string text;
  for (const auto& [miss, times] : history_.misses) {
    const Place disposed = place(miss.disposed);
    const Place used = place(miss.used);
    text += fmt::format(R"({}{{"times":{},"disposed_site":{},"used_site":{},"used_op":{}}})",
                        text.empty() ? "" : ",", times, disposed.site, used.site, used.op);
  }
  return text;
}

std::string Report::held() {
  std::string text;
  for (const auto& [origin, times] : history_.disposed_while_held) {
    text += fmt::format(R"({}{{"times":{},"site":{}}})", text.empty() ? "" : ",", times,
                        place(origin).site);
  }
  return text;
}

bool Report::is_asked(const RecordedPlan& plan) const {
  constexpr std::size_t kQuick = 300;
  if (what_ifs_ != WhatIfs::quick) return what_ifs_ == WhatIfs::all;
  std::int64_t largest = 0;
  for (const MeasuredPlan& other : profile::plans(history_)) {
    largest = std::max(largest, other.plan->peak);
  }
  return plan.peak == largest && plan.steps.size() <= kQuick;
}

/// What parts of its peak would cost a program; nothing where that is not asked or not known.
std::string Report::what_ifs_of(const RecordedPlan& plan) const try {
  if (plan.steps.empty() || !is_asked(plan)) return {};
  constexpr int kPercents[] = {90, 80, 70, 60, 50, 40, 30};
  const std::int64_t all = planned_peak(plan);
  std::vector<std::int64_t> budgets;
  for (const int percent : kPercents) budgets.push_back(all / 100 * percent);
  std::string text;
  for (const WhatIf& answer : what_if(plan, budgets)) {
    std::string again;
    for (const ComputedAgain& one : answer.again) {
      again += fmt::format(R"({}{{"step":{},"times":{},"bytes":{},"ns":{}}})",
                           again.empty() ? "" : ",", one.step, one.times, one.bytes, one.cost);
    }
    const auto i = static_cast<std::size_t>(
        std::find(budgets.begin(), budgets.end(), answer.budget) - budgets.begin());
    text += fmt::format(
        R"({}{{"percent":{},"budget":{},"fits":{},"peak":{},"added":{:.4f},"again":[{}]}})",
        text.empty() ? "" : ",", kPercents[i], answer.budget, answer.fits, answer.peak,
        answer.added, again);
  }
  return text;
} catch (const ValueError&) {  // the file is damaged
  return {};
}

std::string Report::plans() {
  std::string text;
  for (const MeasuredPlan& measured : profile::plans(history_)) {
    const RecordedPlan& plan = *measured.plan;
    const Origin& from = recorded_.origin(plan.origin);
    text += fmt::format(
        R"({}{{"name":{},"predicted":{},"measured":{},"arena":{},"runs":{},"ns":{},"number":{},"steps":[{}],"what_if":[{}],"buffers":[)",
        text.empty() ? "" : ",", json_string(fmt::format("{} at {}", from.op, place_text(from))),
        plan.peak, measured.runs.highest, plan.arena, measured.runs.runs,
        measured.runs.runs == 0 ? 0 : measured.runs.ns / measured.runs.runs,
        &plan - recorded_.plans().data() + 1, steps_of(measured), what_ifs_of(plan));
    for (std::size_t i = 0; i < plan.buffers.size(); ++i) {
      const RecordedPlan::Buffer& b = plan.buffers[i];
      const Place made = place(b.origin);
      text += fmt::format(
          R"({}{{"op":{},"offset":{},"bytes":{},"first":{},"last":{},"site":{},"scope":{},"kind":{},"again":{}}})",
          i == 0 ? "" : ",", json_string(b.op), b.offset, b.bytes, b.first, b.last, made.site,
          made.scope, kind_of(b), b.is_again);
    }
    text += "]}";
  }
  return text;
}

std::string Report::header(std::size_t columns_at) {
  const Level highest = peak(history_);
  std::string sites = R"({"file":"","line":0})";
  for (const auto& [file, line] : sites_.list()) {
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
      quoted_list(strings_.list()), sites, quoted_list(scopes_.list()), quoted_list(ops_.list()),
      op_counts(), names_of(kKinds, [](int i) { return kind_name(i); }),
      names_of(kDTypes, [](int i) { return name_of(static_cast<DType>(i)); }),
      names_of(static_cast<int>(history_.devices.size()),
               [&](int i) { return name_of(history_.devices[static_cast<std::size_t>(i)]); }),
      history_.threads, steps(), growing_, plans_, limits_, times_, misses_, held_,
      history_.evictions, history_.recomputations, history_.recomputed_bytes,
      names_of(kHolderKinds, [](int i) { return name_of(static_cast<HolderKind>(i)); }), rows_,
      history_.storages.size(), columns_.describe(columns_at));
}

std::string Report::data() {
  add_rows();
  // These may add places; the times are those of all.
  growing_ = growing();
  misses_ = misses();
  held_ = held();
  limits_ = report_limits(history_, origins_of_addresses(), [this](std::uint32_t origin) {
    const Place from = place(origin);
    return ReportPlace{from.op, from.site};
  });
  plans_ = plans();
  times_ = times();
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
