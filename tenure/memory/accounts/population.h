#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <string_view>
#include <utility>
#include <vector>

#include "tenure/base/error.h"
#include "tenure/base/site.h"

namespace tenure::mem {

class Crowd;

/// Counts things that take memory without being tensors, by the source line that made them: nodes
/// of graphs, functions, variables, values of tapes. A LeakGuard watches all populations. Any
/// thread may count.
class Population {
 public:
  /// `kind` has static storage duration: "graph node". It is known from the first thing it counts
  /// on, and stays until the process has ended; one that counted nothing may go before.
  explicit Population(const char* kind) noexcept : kind_(kind) {}
  Population(const Population&) = delete;
  Population& operator=(const Population&) = delete;

  void add(Site site);
  void remove(Site site) noexcept;

  /// How many there are of each population, in the order in which they first counted.
  static void count(std::vector<std::int64_t>& numbers);
  /// All populations, a group for each kind and line; `tensors` is the number of things, `bytes`
  /// what they take, where that is known.
  static std::vector<HolderGroup> groups();

  /// All their locks, for a fork.
  static void lock_all() noexcept;
  static void unlock_all() noexcept;

 private:
  friend class Crowd;
  void make_known() noexcept;
  using Place = std::pair<std::string_view, std::uint32_t>;  // file and line
  struct Count {
    Site site;
    std::int64_t number = 0;
    std::int64_t bytes = 0;
  };

  const char* kind_;
  std::atomic<bool> is_known_{false};
  Population* next_ = nullptr;  // in the list of all
  std::mutex mutex_;            // of all below
  std::int64_t singles_ = 0;
  std::map<Place, Count> counts_;
  Crowd* crowds_ = nullptr;
};

/// Counts as one of a population while it lives.
class Counted {
 public:
  Counted(Population& population, Site site) : population_(population), site_(site) {
    population_.add(site_);
  }
  ~Counted() { population_.remove(site_); }
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;

 private:
  Population& population_;
  Site site_;
};

/// Counts as so many of a population while it lives. To say how many costs two stores.
class Crowd {
 public:
  Crowd(Population& population, Site site) noexcept;
  ~Crowd();
  Crowd(const Crowd&) = delete;
  Crowd& operator=(const Crowd&) = delete;

  /// `bytes`: of memory that no ledger counts; 0: not known.
  void set(std::size_t number, std::size_t bytes = 0) noexcept {
    number_.store(static_cast<std::int64_t>(number), std::memory_order_relaxed);
    bytes_.store(static_cast<std::int64_t>(bytes), std::memory_order_relaxed);
  }

 private:
  friend class Population;
  Population& population_;
  const Site site_;
  std::atomic<std::int64_t> number_{0};
  std::atomic<std::int64_t> bytes_{0};
  Crowd* next_ = nullptr;
  Crowd** link_ = nullptr;  // what points to this one
};

}  // namespace tenure::mem
