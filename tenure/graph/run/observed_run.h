#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tenure/graph/passes/unit.h"
#include "tenure/memory/observer.h"

namespace tenure::graph {

/// A number that no other executable has.
std::uint64_t next_executable() noexcept;

/// The node whose result a unit's is.
const Node& result_of(const Unit& unit, const Lowered& lowered);
/// The named scopes in which each output of a run was made.
std::vector<const std::string*> scopes_of_outputs(const Lowered& lowered);

/// Tells the observer, if there is one, when a run begins and ends.
class ObservedRun {
 public:
  ObservedRun(mem::ThreadContext& context, const mem::PlannedRun& run) noexcept
      : context_(context), run_(run), observer_(mem::observer(context)) {
    if (observer_ != nullptr) observer_->run_began(context, run_);
  }
  ~ObservedRun() {
    if (observer_ != nullptr) observer_->run_ended(context_, run_);
  }
  ObservedRun(const ObservedRun&) = delete;
  ObservedRun& operator=(const ObservedRun&) = delete;

  bool is_told() const noexcept { return observer_ != nullptr; }
  void kernel_ran(const Unit& unit) noexcept {
    if (observer_ == nullptr) return;
    observer_->kernel_ran(context_, unit.nodes == 0 ? "copy" : unit.node->op->name, unit.node->site,
                          run_.device);
  }

 private:
  mem::ThreadContext& context_;
  const mem::PlannedRun run_;
  mem::Observer* const observer_;
};

}  // namespace tenure::graph
