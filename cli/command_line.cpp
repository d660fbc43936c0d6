#include "cli/command_line.h"

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <charconv>
#include <map>
#include <utility>

namespace tenure::cli {
namespace {

std::map<const CLI::Option*, std::vector<std::string>>& all_words() {
  static std::map<const CLI::Option*, std::vector<std::string>> words;
  return words;
}

/// What is wrong with `text` as a number without a sign; empty: nothing. CLI11 lets -3 be a large
/// one.
std::string problem_of_count(const std::string& text) {
  std::size_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  const bool is_count = error == std::errc() && rest == end;
  return is_count ? "" : "\"" + text + "\" is no whole number from 0 up";
}

}  // namespace

Option Option::required() const { return Option(option_->required()); }
Option Option::type_name(const std::string& name) const { return Option(option_->type_name(name)); }
Option Option::one_of(const std::vector<std::string>& words) const {
  return Option(completes(words).option_->check(CLI::IsMember(words)));
}
Option Option::completes(const std::vector<std::string>& words) const {
  all_words()[option_] = words;
  return *this;
}
const std::vector<std::string>& words_of(const CLI::Option& option) {
  static const std::vector<std::string> none;
  const auto found = all_words().find(&option);
  return found == all_words().end() ? none : found->second;
}
Option Option::within(long low, long high) const {
  return Option(option_->check(CLI::Range(low, high)));
}
Option Option::within(double low, double high) const {
  const auto problem = [low, high](const std::string& text) {
    double value = 0;
    const char* const end = text.data() + text.size();
    const auto [rest, error] = std::from_chars(text.data(), end, value);
    // What is no number at all is in no range.
    const bool is_in = error == std::errc() && rest == end && value >= low && value <= high;
    return is_in ? std::string()
                 : fmt::format("\"{}\" is no number from {} to {}", text, low, high);
  };
  return Option(option_->check(CLI::Validator(problem, "", "number")));
}
Option Option::show_default() const { return Option(option_->capture_default_str()); }
Option Option::excludes(Option other) const { return Option(option_->excludes(other.option_)); }

Command::Command(CLI::App& app, const std::string& name, const std::string& description)
    : app_(app.add_subcommand(name, description)) {}

Option Command::option(const std::string& name, std::string& value,
                       const std::string& description) const {
  return Option(app_->add_option(name, value, description));
}
Option Command::option(const std::string& name, std::vector<std::string>& values,
                       const std::string& description) const {
  return Option(app_->add_option(name, values, description));
}
Option Command::option(const std::string& name, std::size_t& value,
                       const std::string& description) const {
  return Option(app_->add_option(name, value, description)
                    ->check(CLI::Validator(problem_of_count, "", "count")));
}
Option Command::option(const std::string& name, int& value, const std::string& description) const {
  return Option(app_->add_option(name, value, description));
}
Option Command::option(const std::string& name, long& value, const std::string& description) const {
  return Option(app_->add_option(name, value, description));
}
Option Command::option(const std::string& name, double& value,
                       const std::string& description) const {
  return Option(app_->add_option(name, value, description));
}
Option Command::option(const std::string& name, std::function<void(const std::string&)> read,
                       const std::string& description) const {
  return Option(app_->add_option_function<std::string>(name, read, description));
}
Option Command::flag(const std::string& name, bool& value, const std::string& description) const {
  return Option(app_->add_flag(name, value, description));
}

void Command::positionals_at_end() const { app_->positionals_at_end(); }
void Command::footer(const std::string& text) const { app_->footer(text); }
void Command::run(std::function<void()> action) const { app_->callback(std::move(action)); }

}  // namespace tenure::cli
