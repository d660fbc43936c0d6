#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>

#include "cli/plan_svg.h"

// What the sources of `tenure plan` share.

namespace tenure::cli {

struct PlanOptions {
  std::string file;
  std::optional<std::int64_t> capacity;
  std::optional<std::int64_t> budget;
  double deadline = std::numeric_limits<double>::infinity();
  std::uint64_t seed = 0;
  std::int64_t effort = 1;  ///< times what is usual
  std::string svg;
  bool json = false;

  bool has_deadline() const { return deadline < std::numeric_limits<double>::infinity(); }

  /// For the options of a solver, which may take `share` of the time. Where there is a deadline, it
  /// alone ends a search.
  template <class Options>
  Options search(double share) const {
    Options options;
    options.deadline = share * deadline;
    options.seed = seed;
    options.steps *= effort;
    if (has_deadline()) {
      options.steps = std::numeric_limits<std::int64_t>::max() / 2;
    }
    return options;
  }
};

/// Plans the buffers of a CSV text. Throws std::runtime_error, after printing, if they do not fit.
void plan_buffers(const std::string& text, const PlanOptions& options);

/// Plans the program of a JSON text: order, arena and, with a budget, rematerialization.
void plan_program(const std::string& text, const PlanOptions& options);

/// "none: nothing is lower", or how far above the lower bound in percent.
std::string gap_text(std::int64_t value, std::int64_t bound);
double gap_percent(std::int64_t value, std::int64_t bound);

/// Throws InternalError if a validator has found something.
void expect_valid(bool valid, const std::string& problem);

/// Throws std::runtime_error if there is a capacity and the height is above it.
void expect_fits(const PlanOptions& options, std::int64_t height, std::int64_t bound);

/// Shows on a terminal how far a search is, and wipes that away in the end.
class Progress {
 public:
  Progress();
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void show(double share);

 private:
  bool shows_;
  int shown_ = -1;
};

/// Seconds since its making.
class Stopwatch {
 public:
  Stopwatch();
  double seconds() const;

 private:
  std::int64_t start_;
};

}  // namespace tenure::cli
