#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <unordered_map>
#include <vector>

#include "tenure/base/error.h"

namespace tenure::planner {

/// No choice of results to give up frees enough. Nothing was changed.
class EvictionError : public ValueError {
 public:
  EvictionError(std::int64_t wanted, std::int64_t possible);

  std::int64_t wanted() const { return wanted_; }
  /// The bytes that all results that may be given up have together.
  std::int64_t possible() const { return possible_; }

 private:
  std::int64_t wanted_;
  std::int64_t possible_;
};

/// Says what to give up when memory runs short in a program whose future is not known. Results are
/// known by ids of the caller. What a change costs does not depend on how many results there are;
/// choose() looks at every live result once.
class Eviction {
 public:
  using Id = std::uint64_t;

  struct Result {
    std::int64_t bytes = 0;
    std::int64_t cost = 0;
    std::vector<Id> inputs{};  ///< what it was computed from; ids that are not known cost nothing
    bool pure = true;          ///< it can be computed again
  };

  /// A result was computed for the first time. Throws ValueError for an id that is known and for
  /// negative amounts. Ids that are not known are a ValueError in all that follows.
  void on_compute(Id id, const Result& result);
  /// An evicted result was computed again.
  void on_recompute(Id id);
  void on_access(Id id);
  /// A live result was given up, by choice or otherwise.
  void on_evict(Id id);
  /// The program does not want the result any more. It stays known, live or not, while something
  /// that was computed from it is wanted; if not, it is forgotten, and so is what stayed for it.
  void on_free(Id id);
  /// A live result stays for good: it is forgotten, and so is what stayed for it alone.
  void on_settle(Id id);

  /// While it has pins, a result is not chosen.
  void pin(Id id);
  void unpin(Id id);

  /// Live, pure, unpinned results that have at least so many bytes together, the first to give up
  /// first; of those that `may_go`, if it is given. Nothing is changed: the caller evicts them and
  /// says so. Throws EvictionError.
  std::vector<Id> choose(std::int64_t bytes, const std::function<bool(Id)>& may_go = {});

  bool is_known(Id id) const { return index_.count(id) != 0; }
  bool is_live(Id id) const;
  std::int64_t live_bytes() const { return live_bytes_; }
  std::size_t known() const { return index_.size(); }

 private:
  struct Entry {
    Id id = 0;
    std::int64_t bytes = 0;
    std::int64_t cost = 0;
    std::vector<std::size_t> inputs{};
    std::vector<std::size_t> readers{};
    double price = 0;  // see the Note in eviction.cpp; right unless is_stale
    std::int64_t last_use = 0;
    std::int64_t visit = 0;
    std::size_t place = 0;  // in live_, while it is live
    int pins = 0;
    bool pure = true;
    bool live = true;
    bool wanted = true;
    bool is_stale = true;
  };

  std::size_t at(Id id) const;
  void enter_live(std::size_t index);
  void leave_live(std::size_t index);
  void touch(std::size_t index);
  void mark_stale_around(std::size_t index);
  double worth(std::size_t index);
  std::size_t take_least_worth();
  template <class Visit>
  void walk_evicted(std::size_t from, bool upwards, Visit visit);
  void forget_unwanted(std::size_t index);

  std::int64_t clock_ = 0;  // total cost so far
  std::int64_t visits_ = 0;
  std::int64_t live_bytes_ = 0;
  std::unordered_map<Id, std::size_t> index_;
  std::vector<Entry> entries_;
  std::vector<std::size_t> spare_;
  std::vector<std::size_t> live_;
  std::vector<std::size_t> queue_;
  std::vector<std::size_t> candidates_;
};

}  // namespace tenure::planner
