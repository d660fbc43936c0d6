#include "tenure/memory/population.h"

namespace tenure::mem {
namespace {

/// All populations of the process.
struct List {
  std::mutex mutex;
  std::vector<Population*> populations;
};

List& list() {
  static auto* const one = new List;
  return *one;
}

}  // namespace

std::atomic<std::int64_t> Population::all_{0};

Population::Population(const char* kind) : kind_(kind) {
  const std::lock_guard lock(list().mutex);
  list().populations.push_back(this);
}

void Population::add(Site site) {
  {
    const std::lock_guard lock(mutex_);
    Count& count = counts_[{site.file_name(), site.line()}];
    count.site = site;
    ++count.number;
  }
  all_.fetch_add(1, std::memory_order_relaxed);
}

void Population::remove(Site site) noexcept {
  {
    const std::lock_guard lock(mutex_);
    const auto found = counts_.find({site.file_name(), site.line()});
    if (found == counts_.end()) return;
    if (--found->second.number == 0) counts_.erase(found);
  }
  all_.fetch_sub(1, std::memory_order_relaxed);
}

std::vector<HolderGroup> Population::groups() {
  std::vector<HolderGroup> groups;
  const std::lock_guard lock(list().mutex);
  for (Population* const population : list().populations) {
    const std::lock_guard counting(population->mutex_);
    for (const auto& [place, count] : population->counts_) {
      groups.push_back({.op = population->kind_, .site = count.site, .tensors = count.number});
    }
  }
  return groups;
}

}  // namespace tenure::mem
