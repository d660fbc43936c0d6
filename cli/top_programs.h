#pragma once

#include <optional>
#include <string>

#include "cli/recording.h"

// What `tenure top` says of compiled programs.

namespace tenure::cli {

struct ProgramOptions {
  bool steps = false;          ///< each step and buffer
  std::optional<double> at{};  ///< percent of the peak
};

Json programs_json(const profile::History& history, const ProgramOptions& options);

/// Predicted against measured.
void print_programs(const profile::History& history, std::size_t rows);
/// What the largest program keeps from its way forth for its way back, by layer.
void print_saved(const profile::History& history, std::size_t rows);
/// Every step of every program.
void print_steps(const profile::History& history);
/// What the largest program would compute again at a part of its peak, and at what price.
void print_what_if(const profile::History& history, double percent, std::size_t rows);

/// "60", "60%". Throws UsageError.
double parse_percent(const std::string& text);

/// "12 %"; empty of nothing.
std::string share_text(std::int64_t part, std::int64_t whole);

}  // namespace tenure::cli
