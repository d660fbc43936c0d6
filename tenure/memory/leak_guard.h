#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "tenure/base/error.h"
#include "tenure/base/site.h"
#include "tenure/memory/ledger.h"

namespace tenure {

/// Proves that a loop holds no more after an iteration than it did after the warm-up:
///
///     LeakGuard guard;
///     while (serving) { handle(request); guard.mark(); }
///
/// Disposed tensors whose handles pile up count too: each still has its record. So do nodes of
/// graphs, traces of functions and variables; a group of these has their number for tensors. A mark
/// costs a few counter reads; only a suspicion takes a census. Counts are the process's, so other
/// threads' growth shows too.
class LeakGuard {
 public:
  struct Options {
    /// Iterations that may still grow; the level after them is the baseline.
    int warm_up = 3;
    /// The level must lie above the baseline for this many marks in a row.
    int patience = 3;
    /// Growth in live bytes that is no leak.
    std::int64_t slack_bytes = 0;
    /// Called instead of throwing LeakError; the higher level is then the new baseline.
    std::function<void(const LeakError&)> report{};
  };

  explicit LeakGuard(std::string name = "loop");
  LeakGuard(std::string name, Options options);

  /// Ends an iteration. Throws LeakError that names the growing source lines.
  void mark();

  std::int64_t iterations() const { return iterations_; }

 private:
  void set_baseline(const mem::Counts& counts, std::int64_t things);
  LeakError explain(const mem::Counts& now) const;

  std::string name_;
  Options options_;
  std::int64_t iterations_ = 0;
  int above_ = 0;
  mem::Counts baseline_;
  std::int64_t baseline_things_ = 0;
  std::vector<HolderGroup> baseline_groups_;
  std::vector<HolderGroup> baseline_populations_;
};

}  // namespace tenure
