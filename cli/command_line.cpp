#include "cli/command_line.h"

#include <CLI/CLI.hpp>

#include <utility>

namespace tenure::cli {

Option Option::required() const { return Option(option_->required()); }
Option Option::type_name(const std::string& name) const { return Option(option_->type_name(name)); }
Option Option::one_of(const std::vector<std::string>& words) const {
  return Option(option_->check(CLI::IsMember(words)));
}
Option Option::within(long low, long high) const {
  return Option(option_->check(CLI::Range(low, high)));
}
Option Option::within(double low, double high) const {
  return Option(option_->check(CLI::Range(low, high)));
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
  return Option(app_->add_option(name, value, description));
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
