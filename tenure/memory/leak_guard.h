#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tenure/base/error.h"
#include "tenure/base/site.h"
#include "tenure/memory/accounts/trend.h"
#include "tenure/memory/ledger.h"

namespace tenure {

/// Proves that a loop does not hold more and more:
///
///     LeakGuard guard;
///     while (serving) { handle(request); guard.mark(); }
///
/// A leak is growth that goes on: the least that the loop holds within a window of marks rises from
/// window to window (accounts/rise.h has the rule, which recordings are judged by too). What fills
/// up and stays, or varies in size, is none, nor is what is emptied at least once in `patience`
/// marks. Growth that stays is found: with the usual options one tensor more in every k marks
/// within 72 marks, or 36 k if that is more, whenever it begins. Tensors count and their bytes,
/// disposed tensors whose handles pile up (each still has its record), nodes of graphs, sessions,
/// functions, variables, values of tapes and passes of datasets; a group of these has their number
/// for tensors. What programs keep in caches that have a bound does not count. A mark costs a few
/// counter reads; only a suspicion takes a census. Counts are the process's, so other threads'
/// growth shows too.
class LeakGuard {
 public:
  struct Options {
    /// Iterations that may still grow; the level after them is the first.
    int warm_up = 3;
    /// Growth must go on for this many marks: a window has a sixteenth of them, rounded up.
    int patience = mem::kPatience;
    /// Growth in live bytes that is no leak.
    std::int64_t slack_bytes = 0;
    /// Called instead of throwing LeakError; the higher level is then the first.
    std::function<void(const LeakError&)> report{};
  };

  explicit LeakGuard(std::string name = "loop", Site site = Site::current());
  LeakGuard(std::string name, Options options, Site site = Site::current());

  /// Ends an iteration. Throws LeakError that names the growing source lines.
  void mark();

  std::int64_t iterations() const { return iterations_; }

 private:
  /// What is watched now, in a fixed order: tensors, tensors with those disposed, bytes, and each
  /// population.
  void read_levels();
  void restart();
  std::shared_ptr<const mem::Snapshot> look();
  void complain(std::size_t level, const mem::Snapshot& before, const mem::Snapshot& now);

  std::string name_;
  Options options_;
  std::int64_t iterations_ = 0;
  mem::Counts counts_{};
  std::vector<std::int64_t> levels_;
  std::vector<std::int64_t> things_;
  std::vector<mem::Trend> trends_;
  std::shared_ptr<const mem::Snapshot> present_;  // while a mark looks
};

}  // namespace tenure
