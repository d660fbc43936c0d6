#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "tenure/eager/recipe.h"
#include "tenure/memory/accounts/population.h"
#include "tenure/memory/holders/evictable.h"
#include "tenure/planner/eviction.h"

namespace tenure::eager {

// Note: how results are given up and computed again
//
// Under a budget that evicts, each call leaves a recipe: its op, attributes (with the counters of a
// random op), and what it read. Values and recipes make a graph. A value is
//
//     live      its storage has its data
//     hollow    its tensors remain, its data was given up: a use computes it again
//     a ghost   no tensor remains: its data went at once, its recipe stays while something that was
//               computed from it is there
//     a source  it has no recipe: it came from elsewhere, or its recipe is no longer needed. If its
//               last tensor goes while recipes read it, its storage is kept for them.
//
// What may not be given up: what is small (its data lies in one block with its header), has a
// span(), or was computed from what the host may write to (from_memory(), mutable_span()).
//
// A write changes what recipes read. Every write in place asks can_take_over() first, and so
// let_go() here: a value with a recipe becomes a ghost, the storage goes on to the new value; of a
// source, all that was computed from it and is live becomes a source too; where that is not live,
// the write does not happen in place. Before a mutable_span(), it is computed first.
//
// A source that is kept, and a long row of ghosts, are let go of where all that was computed from
// them is live: those become sources.

/// All values and recipes of the process. Every function expects mem::lock_results().
class Evictor {
 public:
  static Evictor& get();
  Evictor(const Evictor&) = delete;
  Evictor& operator=(const Evictor&) = delete;

  /// A call that has run, as it was made.
  struct Call {
    const ops::OpRecord& op;
    std::span<const Operand> operands;
    const ops::Attributes& attributes;
    Way way;
    Device device;
    Site site;
    std::span<const Tensor> outputs;
  };
  /// Takes note of a call whose operands are pinned still; those that it computed in are used up.
  void note(const Call& call);

  // As in memory/holders/evictable.h.
  void pin(mem::ThreadContext& context, mem::Storage& storage);
  void unpin(std::uint64_t serial) noexcept;
  bool make_room(mem::ThreadContext& context, const mem::BudgetAccount& refusing,
                 std::size_t bytes) noexcept;
  bool let_go(mem::Storage& storage) noexcept;
  void expose(mem::Storage& storage, bool may_write);
  bool outlives_holders(mem::Storage& storage) noexcept;
  void stop_evicting() noexcept;

 private:
  using Values = std::vector<Value*>;
  struct Step;

  Evictor();

  // The graph, in evictor_graph.cpp.

  Value* find(std::uint64_t serial) const;
  Value* value_of_input(const Operand& operand);
  /// nullptr: the call cannot be made again.
  std::unique_ptr<Recipe> recipe_of(const Call& call);
  void add(std::unique_ptr<Recipe> recipe, const Call& call);
  void leave(mem::Storage& storage);
  void remove(Recipe& recipe, Values& unneeded);
  void drop_output(Value& value, Values& unneeded);
  /// Ends them, and what was there for them alone, but for those that something needs.
  void forget_unneeded(Values values);
  /// Its recipe goes: it is live and stays. It may be forgotten.
  void settle(Value& value);
  /// The values with tensors that a change of `value` would reach first.
  static Values reached_from(const Value& value);
  /// Makes sources of all that was computed from it, if that is live; false: it is not. It may be
  /// forgotten if no tensor has it.
  bool settle_readers(Value& value);
  void shorten_ghosts(Value& value);
  void drop_kept(bool all);
  bool has_ended(mem::Storage& storage);

  // What is done to data, in evictor.cpp.

  void give_up(mem::ThreadContext& context, Value& value);
  void compute(mem::ThreadContext& context, Value& target);
  bool try_run(mem::ThreadContext& context, Recipe& recipe);
  void drop_if_idle(mem::ThreadContext& context, Value& value);

  planner::Eviction policy_;
  std::unordered_map<std::uint64_t, Value*> places_;   // by the storage's serial
  std::unordered_map<std::uint64_t, Value*> results_;  // by id
  std::unordered_map<Value*, std::unique_ptr<Value>> values_;
  std::unordered_map<Recipe*, std::unique_ptr<Recipe>> recipes_;
  std::unordered_set<Value*> kept_;  // sources that no tensor has
  /// Storages whose last reference another thread gave up, which waits to hear whether they stay.
  std::unordered_map<std::uint64_t, bool> ended_;
  std::uint64_t last_id_ = 0;
  bool is_running_ = false;
  mem::Crowd counted_;
};

/// mem::lock_results(), and the other.
void lock_results() noexcept;
void unlock_results() noexcept;

class ResultsLock {
 public:
  ResultsLock() noexcept { lock_results(); }
  ~ResultsLock() { unlock_results(); }
  ResultsLock(const ResultsLock&) = delete;
  ResultsLock& operator=(const ResultsLock&) = delete;
};

/// Takes note of a call that has run; see Evictor::note(). For whoever finds needs_attention().
void note_slowly(const Evictor::Call& call);

}  // namespace tenure::eager
