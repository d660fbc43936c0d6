#include "tenure/profile/rows.h"

#include <algorithm>
#include <map>
#include <utility>

#include "tenure/profile/queries.h"

namespace tenure::profile {
namespace {

/// Of each run, whether its arena is told apart.
std::vector<bool> chosen_runs(const History& history, std::size_t most) {
  const std::vector<RunLife>& runs = history.run_lives;
  const auto size_of = [&](const RunLife& run) {
    return history.recorded.plans()[run.plan].buffers.size() + history.in_use[run.plan].size();
  };
  std::size_t all = 0;
  for (const RunLife& run : runs) all += size_of(run);
  const std::size_t stride = all / std::max<std::size_t>(most, 1) + 1;
  std::vector<bool> chosen(runs.size());
  std::map<std::uint32_t, std::size_t> seen;  // of each plan
  std::map<std::uint32_t, std::size_t> last;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    chosen[i] = seen[runs[i].plan]++ % stride == 0;
    last[runs[i].plan] = i;
  }
  for (const auto& [plan, i] : last) chosen[i] = true;
  const std::int64_t moment = stride == 1 ? 0 : peak(history).time_ns;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    if (runs[i].begin_ns <= moment && runs[i].end_ns > moment) chosen[i] = true;
  }
  return chosen;
}

Row row_of(const History& history, const Piece& piece, const StorageLife& life) {
  return {.birth_ns = life.birth_ns,
          .death_ns = life.death_ns,
          .bytes = piece.bytes,
          .address = life.address,
          .op = piece.op,
          .origin = piece.origin,
          .scope = piece.scope,
          .kind = piece.kind,
          .device = piece.device,
          .thread = life.thread,
          .storage = static_cast<std::uint32_t>(&life - history.storages.data())};
}

/// What no buffer uses, from one change of that to the next.
void add_unused(const History& history, const RunLife& run, const StorageLife& life,
                std::vector<Row>& rows) {
  const std::vector<std::int64_t>& in_use = history.in_use[run.plan];
  Row row = row_of(history, piece_of(history, life), life);
  row.op = kUnusedArena;
  row.scope = "(unused in the arena)";
  row.kind = kUnusedKind;
  row.address = 0;
  row.arena = std::exchange(row.storage, Row::kNoStorage);
  const auto add_until = [&](std::int64_t time, std::int64_t next_bytes) {
    row.death_ns = time;
    if (row.bytes > 0 && row.death_ns > row.birth_ns) rows.push_back(row);
    row.birth_ns = time;
    row.bytes = next_bytes;
  };
  row.bytes = in_use.empty() ? life.bytes : life.bytes - in_use[0];
  for (std::size_t step = 1; step <= in_use.size() && step <= run.kernels; ++step) {
    const std::int64_t unused = life.bytes - (step < in_use.size() ? in_use[step] : 0);
    if (unused != row.bytes) add_until(end_of(history, run, step - 1), unused);
  }
  add_until(life.death_ns, 0);
}

void add_arena(const History& history, const StorageLife& life, std::vector<Row>& rows) {
  const RunLife& run = history.run_lives[life.run - 1];
  const RecordedPlan& plan = history.recorded.plans()[run.plan];
  for (const RecordedPlan::Buffer& buffer : plan.buffers) {
    const auto first = static_cast<std::size_t>(buffer.first);
    if (!buffer.is_shown || first > run.kernels || first >= plan.steps.size()) continue;
    Row row = row_of(history,
                     {.op = buffer.op,
                      .origin = buffer.origin,
                      .scope = history.recorded.origin(buffer.origin).scope,
                      .kind = kind_of(buffer),
                      .device = life.device,
                      .bytes = buffer.bytes},
                     life);
    row.birth_ns = begin_of(history, run, first);
    row.death_ns = end_of(history, run, static_cast<std::size_t>(buffer.last));
    row.address = life.address == 0 ? 0 : life.address + static_cast<std::uint64_t>(buffer.offset);
    row.arena = std::exchange(row.storage, Row::kNoStorage);
    row.plan = run.plan + 1;
    row.buffer = &buffer;
    rows.push_back(row);
  }
  add_unused(history, run, life, rows);
}

}  // namespace

std::vector<Row> rows(const History& history, std::size_t most_buffers) {
  const std::vector<bool> chosen = chosen_runs(history, most_buffers);
  std::vector<Row> rows;
  for (const StorageLife& life : history.storages) {
    if (life.run != 0 && chosen[life.run - 1]) {
      add_arena(history, life, rows);
    } else {
      rows.push_back(row_of(history, piece_of(history, life), life));
    }
  }
  std::stable_sort(rows.begin(), rows.end(),
                   [](const Row& a, const Row& b) { return a.birth_ns < b.birth_ns; });
  return rows;
}

}  // namespace tenure::profile
