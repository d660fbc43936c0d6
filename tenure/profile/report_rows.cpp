#include "tenure/profile/report_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <unordered_map>

#include "tenure/profile/plan_moments.h"
#include "tenure/profile/queries.h"
#include "tenure/profile/rows.h"

namespace tenure::profile {
namespace {

std::uint8_t number_of(const History& history, Device device) {
  const auto& all = history.devices;
  return static_cast<std::uint8_t>(std::find(all.begin(), all.end(), device) - all.begin());
}

/// Who shares storages: rows of their own, by row of the storage.
void add_holders(const History& history, const std::vector<std::uint32_t>& row_of,
                 ReportNumbers& numbers, Columns& columns) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  std::vector<const TensorLife*> all;
  for (const TensorLife& tensor : history.tensors) {
    if (history.storages[tensor.storage].tensors > 1) all.push_back(&tensor);
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
    const ReportPlace from = numbers.place(tensor.origin);
    row[i] = row_of[tensor.storage];
    op[i] = from.op;
    site[i] = from.site;
    name[i] = tensor.name == 0 ? 0 : numbers.string(history.recorded.string(tensor.name));
    kind[i] = static_cast<std::uint8_t>(tensor.kind);
    birth[i] = static_cast<double>(tensor.birth_ns);
    end[i] = tensor.end_ns == kNever ? kInfinity : static_cast<double>(tensor.end_ns);
  }
  columns.add("holder_row", "u32", row);
  columns.add("holder_op", "u32", op);
  columns.add("holder_site", "u32", site);
  columns.add("holder_name", "u32", name);
  columns.add("holder_kind", "u8", kind);
  columns.add("holder_birth_ns", "f64", birth);
  columns.add("holder_end_ns", "f64", end);
}

}  // namespace

std::string Columns::describe(std::size_t base) const {
  std::string text;
  for (const Place& place : places_) {
    text += fmt::format(R"({}{{"name":"{}","type":"{}","offset":{},"length":{}}})",
                        text.empty() ? "" : ",", place.name, place.type, base + place.offset,
                        place.length);
  }
  return text;
}

std::vector<double> origins_of_addresses(const History& history) {
  const std::size_t n = history.devices.size();
  std::vector<double> lowest(n, std::numeric_limits<double>::infinity());
  std::vector<double> end(n, 0);
  for (const StorageLife& life : history.storages) {
    if (life.address == 0) continue;
    const std::size_t device = number_of(history, life.device);
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

std::size_t add_report_rows(const History& history, ReportNumbers& numbers, Columns& columns) {
  const Recorded& recorded = history.recorded;
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const std::vector<Row> all = rows(history);
  const std::size_t n = all.size();
  std::vector<double> birth(n), death(n), bytes(n), address(n), last_use(n);
  std::vector<std::uint8_t> category(n), device(n), thread(n), dtype(n);
  std::vector<std::uint32_t> op(n), site(n), scope(n), shape(n), tensors(n), holders(n), name(n);
  std::vector<std::uint32_t> calls(n);
  std::vector<std::int32_t> disposed(n);
  std::vector<std::uint16_t> plan(n);
  std::vector<std::uint32_t> first_step(n), last_step(n);
  std::vector<std::uint8_t> again(n);
  std::vector<std::uint32_t> inside(n);
  std::unordered_map<const RecordedPlan::Buffer*, std::uint32_t> insides;
  std::map<std::uint32_t, PlanPositions> positions;  // by plan
  const auto inside_of = [&](const RecordedPlan::Buffer& buffer, std::uint32_t number) {
    const auto [found, is_new] = insides.try_emplace(&buffer);
    if (!is_new) return found->second;
    const RecordedPlan& its = recorded.plans()[number - 1];
    const PlanPositions& places = positions.try_emplace(number, its).first->second;
    return found->second = numbers.string(
               fmt::format("{}, {}", places.label_of(buffer), body_text(its, buffer.body)));
  };
  std::vector<std::uint32_t> row_of(history.storages.size());
  const std::vector<double> origins = origins_of_addresses(history);
  std::unordered_map<std::uint32_t, std::uint32_t> shapes;
  std::unordered_map<std::uint32_t, std::uint32_t> names;
  for (std::size_t i = 0; i < n; ++i) {
    const Row& row = all[i];
    const ReportPlace from = numbers.place(row.origin);
    birth[i] = static_cast<double>(row.birth_ns);
    death[i] = row.death_ns == kNever ? kInfinity : static_cast<double>(row.death_ns);
    bytes[i] = static_cast<double>(row.bytes);
    device[i] = number_of(history, row.device);
    address[i] = row.address == 0 ? -1 : static_cast<double>(row.address) - origins[device[i]];
    category[i] = static_cast<std::uint8_t>(row.kind);
    op[i] = numbers.op(row.op);
    site[i] = from.site;
    scope[i] = row.scope.empty() ? 0 : numbers.scope(row.scope);
    calls[i] = from.calls;
    thread[i] = static_cast<std::uint8_t>(std::min<std::uint32_t>(row.thread, 255));
    dtype[i] = 255;
    disposed[i] = -1;
    last_use[i] = static_cast<double>(std::min(row.death_ns, history.end_ns));
    if (row.buffer != nullptr) {
      plan[i] = static_cast<std::uint16_t>(std::min<std::uint32_t>(row.plan, UINT16_MAX));
      first_step[i] = static_cast<std::uint32_t>(row.buffer->first);
      last_step[i] = static_cast<std::uint32_t>(row.buffer->last);
      again[i] = row.buffer->is_again ? 1 : 0;
      shape[i] = row.buffer->layout.empty() ? 0 : numbers.string(std::string(row.buffer->layout));
      if (row.buffer->body != RecordedPlan::kNoBody) inside[i] = inside_of(*row.buffer, row.plan);
    }
    if (row.storage == Row::kNoStorage) continue;
    row_of[row.storage] = static_cast<std::uint32_t>(i);
    const StorageLife& life = history.storages[row.storage];
    const RecordedSpec& layout = recorded.layout(life.layout);
    const auto [text, is_new] = shapes.try_emplace(life.layout);
    if (is_new && layout.dtype >= 0) text->second = numbers.string(to_string(layout));
    shape[i] = text->second;
    if (life.name != 0) {
      const auto [known, is_first] = names.try_emplace(life.name);
      if (is_first) known->second = numbers.string(recorded.string(life.name));
      name[i] = known->second;
    }
    dtype[i] = layout.dtype < 0 ? 255 : static_cast<std::uint8_t>(layout.dtype);
    tensors[i] = life.tensors;
    disposed[i] =
        life.disposed == 0 ? -1 : static_cast<std::int32_t>(numbers.place(life.disposed).site);
    last_use[i] =
        static_cast<double>(life.tensors == 0 ? life.idle_since(history.end_ns) : life.last_use_ns);
  }
  std::string text;
  for (std::size_t h = 0; h < history.holders.size(); ++h) {
    const LiveHolder& holder = history.holders[h];
    if (!text.empty()) text += '\n';
    text += to_string(holder, recorded);
    const bool is_last =
        h + 1 == history.holders.size() || history.holders[h + 1].storage != holder.storage;
    if (is_last) {
      holders[row_of[holder.storage]] = numbers.string(text);
      text.clear();
    }
  }
  columns.add("birth_ns", "f64", birth);
  columns.add("death_ns", "f64", death);
  columns.add("bytes", "f64", bytes);
  columns.add("address", "f64", address);
  columns.add("category", "u8", category);
  columns.add("device", "u8", device);
  columns.add("op", "u32", op);
  columns.add("site", "u32", site);
  columns.add("scope", "u32", scope);
  columns.add("thread", "u8", thread);
  columns.add("shape", "u32", shape);
  columns.add("dtype", "u8", dtype);
  columns.add("tensors", "u32", tensors);
  columns.add("disposed_site", "i32", disposed);
  columns.add("last_use_ns", "f64", last_use);
  columns.add("holders", "u32", holders);
  columns.add("name", "u32", name);
  add_holders(history, row_of, numbers, columns);
  if (recorded.has_stacks()) columns.add("calls", "u32", calls);
  if (history.run_lives.empty()) return n;
  columns.add("plan", "u16", plan);
  columns.add("first_step", "u32", first_step);
  columns.add("last_step", "u32", last_step);
  columns.add("again", "u8", again);
  columns.add("inside", "u32", inside);
  return n;
}

}  // namespace tenure::profile
