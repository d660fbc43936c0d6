#include "tenure/memory/accounts/population.h"

namespace tenure::mem {
namespace {

// The list of all populations, and its lock.
constinit std::mutex list_mutex;
constinit Population* first_known = nullptr;

}  // namespace

void Population::make_known() noexcept {
  if (is_known_.load(std::memory_order_acquire)) return;
  const std::lock_guard lock(list_mutex);
  if (is_known_.load(std::memory_order_relaxed)) return;
  Population** last = &first_known;
  while (*last != nullptr) last = &(*last)->next_;
  *last = this;
  is_known_.store(true, std::memory_order_release);
}

void Population::add(Site site) {
  make_known();
  const std::lock_guard lock(mutex_);
  Count& count = counts_[{site.file_name(), site.line()}];
  count.site = site;
  ++count.number;
  ++singles_;
}

void Population::remove(Site site) noexcept {
  const std::lock_guard lock(mutex_);
  const auto found = counts_.find({site.file_name(), site.line()});
  if (found == counts_.end()) return;
  if (--found->second.number == 0) counts_.erase(found);
  --singles_;
}

void Population::count(std::vector<std::int64_t>& numbers) {
  const std::lock_guard lock(list_mutex);
  numbers.clear();
  for (Population* population = first_known; population != nullptr;
       population = population->next_) {
    const std::lock_guard counting(population->mutex_);
    std::int64_t number = population->singles_;
    for (const Crowd* crowd = population->crowds_; crowd != nullptr; crowd = crowd->next_) {
      number += crowd->number_.load(std::memory_order_relaxed);
    }
    numbers.push_back(number);
  }
}

std::vector<HolderGroup> Population::groups() {
  std::vector<HolderGroup> groups;
  const std::lock_guard lock(list_mutex);
  for (Population* population = first_known; population != nullptr;
       population = population->next_) {
    const std::lock_guard counting(population->mutex_);
    std::map<Place, Count> counts = population->counts_;
    for (const Crowd* crowd = population->crowds_; crowd != nullptr; crowd = crowd->next_) {
      Count& count = counts[{crowd->site_.file_name(), crowd->site_.line()}];
      count.site = crowd->site_;
      count.number += crowd->number_.load(std::memory_order_relaxed);
      count.bytes += crowd->bytes_.load(std::memory_order_relaxed);
    }
    for (const auto& [place, count] : counts) {
      groups.push_back({.op = population->kind_,
                        .site = count.site,
                        .tensors = count.number,
                        .bytes = count.bytes});
    }
  }
  return groups;
}

void Population::lock_all() noexcept {
  list_mutex.lock();
  for (Population* p = first_known; p != nullptr; p = p->next_) p->mutex_.lock();
}

void Population::unlock_all() noexcept {
  for (Population* p = first_known; p != nullptr; p = p->next_) p->mutex_.unlock();
  list_mutex.unlock();
}

Crowd::Crowd(Population& population, Site site) noexcept : population_(population), site_(site) {
  population_.make_known();
  const std::lock_guard lock(population_.mutex_);
  next_ = population_.crowds_;
  link_ = &population_.crowds_;
  if (next_ != nullptr) next_->link_ = &next_;
  population_.crowds_ = this;
}

Crowd::~Crowd() {
  const std::lock_guard lock(population_.mutex_);
  *link_ = next_;
  if (next_ != nullptr) next_->link_ = link_;
}

}  // namespace tenure::mem
