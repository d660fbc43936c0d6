#include "tenure/profile/arenas.h"

#include <algorithm>
#include <map>
#include <utility>

namespace tenure::profile {

std::string_view kind_name(int kind) {
  return kind == kSavedKind    ? "saved for backward"
         : kind == kUnusedKind ? kUnusedArena
                               : name_of(static_cast<Category>(kind));
}

int kind_of(const RecordedPlan::Buffer& buffer) {
  return buffer.is_saved ? kSavedKind : static_cast<int>(buffer.category);
}

std::string_view scope_of(const History& history, const StorageLife& life) {
  const Origin& origin = history.recorded.origin(life.origin);
  if (!origin.scope.empty() || life.name == 0) return origin.scope;
  const std::string_view name = history.recorded.string(life.name);
  const std::size_t end = name.find_last_of('/');
  return end == std::string_view::npos ? std::string_view() : name.substr(0, end);
}

std::size_t step_at(const History& history, const RunLife& run, std::int64_t time_ns) {
  const auto begin = history.kernel_ends.begin() + static_cast<std::ptrdiff_t>(run.first_kernel);
  const auto step = std::upper_bound(begin, begin + run.kernels, time_ns) - begin;
  return std::min(static_cast<std::size_t>(step), history.in_use[run.plan].size());
}

std::int64_t begin_of(const History& history, const RunLife& run, std::size_t step) {
  const std::size_t before = std::min<std::size_t>(step, run.kernels);
  if (before != 0) return history.kernel_ends[run.first_kernel + before - 1];
  return run.arena == RunLife::kNoArena ? run.begin_ns : history.storages[run.arena].birth_ns;
}

std::int64_t end_of(const History& history, const RunLife& run, std::size_t step) {
  if (step < run.kernels) return history.kernel_ends[run.first_kernel + step];
  return run.arena == RunLife::kNoArena ? run.end_ns : history.storages[run.arena].death_ns;
}

std::int64_t busiest_moment(const History& history, std::span<const std::uint32_t> storages,
                            std::int64_t from, std::int64_t until) {
  const StorageLife* largest = nullptr;
  for (const std::uint32_t i : storages) {
    const StorageLife& life = history.storages[i];
    if (life.run != 0 && (largest == nullptr || life.bytes > largest->bytes)) largest = &life;
  }
  if (largest == nullptr) return from;
  const RunLife& run = history.run_lives[largest->run - 1];
  const std::vector<std::int64_t>& in_use = history.in_use[run.plan];
  const std::size_t first = step_at(history, run, from);
  const std::size_t last =
      std::min({step_at(history, run, until - 1) + 1, in_use.size(), std::size_t{run.kernels} + 1});
  if (first >= last) return from;
  const auto most = std::max_element(in_use.begin() + static_cast<std::ptrdiff_t>(first),
                                     in_use.begin() + static_cast<std::ptrdiff_t>(last));
  const auto step = static_cast<std::size_t>(most - in_use.begin());
  return std::max(from, begin_of(history, run, step));
}

std::vector<SavedLayer> saved_by_layer(const History& history, const RecordedPlan& plan) {
  std::map<std::string_view, SavedLayer> layers;
  std::map<std::string_view, std::map<std::string_view, std::int64_t>> ops;  // bytes of each
  for (const RecordedPlan::Buffer& buffer : plan.buffers) {
    if (!buffer.is_saved || !buffer.is_shown) continue;
    const std::string_view scope = history.recorded.origin(buffer.origin).scope;
    SavedLayer& layer = layers[scope];
    layer.bytes += buffer.bytes;
    ++layer.buffers;
    ops[scope][buffer.op] += buffer.bytes;
  }
  std::vector<SavedLayer> result;
  for (auto& [scope, layer] : layers) {
    layer.scope = scope;
    std::vector<std::pair<std::string_view, std::int64_t>> makers(ops[scope].begin(),
                                                                  ops[scope].end());
    std::stable_sort(makers.begin(), makers.end(),
                     [](const auto& a, const auto& b) { return a.second > b.second; });
    for (const auto& [op, bytes] : makers) {
      layer.ops += layer.ops.empty() ? "" : ", ";
      layer.ops += op;
    }
    result.push_back(std::move(layer));
  }
  std::stable_sort(result.begin(), result.end(),
                   [](const auto& a, const auto& b) { return a.bytes > b.bytes; });
  return result;
}

}  // namespace tenure::profile
