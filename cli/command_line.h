#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

// What subcommands say about their command line. CLI11 parses it, and no other header knows that:
// its own takes seconds in every source that includes it, and more for each type of values.

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace tenure::cli {

/// An option, a flag or an argument; each function returns it again.
class Option {
 public:
  explicit Option(CLI::Option* option) : option_(option) {}

  Option required() const;
  Option type_name(const std::string& name) const;
  Option one_of(const std::vector<std::string>& words) const;
  /// What shells offer for it; one_of() says it too.
  Option completes(const std::vector<std::string>& words) const;
  Option within(long low, long high) const;
  Option within(double low, double high) const;
  Option show_default() const;  ///< what its variable has now
  Option excludes(Option other) const;

 private:
  CLI::Option* option_;
};

/// What completes() or one_of() said of an option; else nothing.
const std::vector<std::string>& words_of(const CLI::Option& option);

/// A subcommand. Its variables must live until the command line is parsed.
class Command {
 public:
  Command(CLI::App& app, const std::string& name, const std::string& description);

  Option option(const std::string& name, std::string& value, const std::string& description) const;
  Option option(const std::string& name, std::vector<std::string>& values,
                const std::string& description) const;
  /// A whole number from 0 up.
  Option option(const std::string& name, std::size_t& value, const std::string& description) const;
  Option option(const std::string& name, int& value, const std::string& description) const;
  Option option(const std::string& name, long& value, const std::string& description) const;
  Option option(const std::string& name, double& value, const std::string& description) const;
  /// `read` is called with what is given, also if it is nothing.
  Option option(const std::string& name, std::function<void(const std::string&)> read,
                const std::string& description) const;
  Option flag(const std::string& name, bool& value, const std::string& description) const;

  /// All that comes after its first argument are arguments.
  void positionals_at_end() const;
  void footer(const std::string& text) const;
  /// What it does, once the command line is parsed.
  void run(std::function<void()> action) const;

 private:
  CLI::App* app_;
};

}  // namespace tenure::cli
