#pragma once

#include <CLI/CLI.hpp>
#include <stdexcept>

// The subcommands of `tenure`, each in a source of its own. Adding one is a function here and a
// line in main.cpp.

namespace tenure::cli {

/// What the user asked for cannot be: printed to standard error, exit status 2.
class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

void add_ops(CLI::App& app);
void add_plan(CLI::App& app);

}  // namespace tenure::cli
