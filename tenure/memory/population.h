#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "tenure/base/error.h"
#include "tenure/base/site.h"

namespace tenure::mem {

/// Counts things that take memory without being tensors, by the source line that made them: nodes
/// of graphs, traces of functions, variables. A LeakGuard watches all populations. Any thread may
/// count.
class Population {
 public:
  /// `kind` has static storage duration: "graph node". It is never destroyed before the process
  /// ends.
  explicit Population(const char* kind);
  Population(const Population&) = delete;
  Population& operator=(const Population&) = delete;

  void add(Site site);
  void remove(Site site) noexcept;

  /// Of all populations.
  static std::int64_t total() noexcept { return all_.load(std::memory_order_relaxed); }
  /// All populations, a group for each kind and line; `tensors` is the number of things.
  static std::vector<HolderGroup> groups();

 private:
  using Place = std::pair<std::string, std::uint32_t>;  // file and line
  struct Count {
    Site site;
    std::int64_t number = 0;
  };

  static std::atomic<std::int64_t> all_;
  const char* kind_;
  std::mutex mutex_;
  std::map<Place, Count> counts_;
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

}  // namespace tenure::mem
