#pragma once

#include <stdexcept>

// The subcommands of `tenure`, each in a source of its own. Adding one is a function here and a
// line in main.cpp.

namespace CLI {
class App;  // see command_line.h
}

namespace tenure::cli {

/// Exit statuses, for scripts.
inline constexpr int kYes = 0;         ///< done; nothing found that was asked about
inline constexpr int kFound = 1;       ///< what was looked for was found, or the work failed
inline constexpr int kUsage = 2;       ///< the command line is wrong
inline constexpr int kUnanswered = 3;  ///< a recording cannot be read, is damaged, or does not say

/// What the user asked for cannot be: printed to standard error, exit status 2.
class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Ends the command with a status, everything having been printed.
struct ExitWith {
  int status;
};

void add_ops(CLI::App& app);
void add_plan(CLI::App& app);
void add_profile(CLI::App& app);
void add_report(CLI::App& app);
void add_top(CLI::App& app);
void add_leaks(CLI::App& app);
void add_holders(CLI::App& app);
void add_diff(CLI::App& app);
void add_export(CLI::App& app);
void add_watch(CLI::App& app);
void add_demo(CLI::App& app);
void add_doctor(CLI::App& app);
void add_completions(CLI::App& app);
void add_man(CLI::App& app);

}  // namespace tenure::cli
