#include <fmt/format.h>
#include <fmt/ranges.h>
#include <CLI/CLI.hpp>

#include <memory>
#include <string>
#include <vector>

#include "cli/command_line.h"
#include "cli/commands.h"

// Completions and the manual are made from the commands themselves: they cannot fall behind.

namespace tenure::cli {
namespace {

/// An option or argument of a command, as a shell knows it.
struct Word {
  std::vector<std::string> flags{};  ///< "-o", "--output"; none: an argument
  std::string description{};
  bool takes_value = false;
  std::vector<std::string> values{};  ///< that it can have; none: a file, or anything
};

std::vector<Word> shell_words(const CLI::App& command) {
  std::vector<Word> words;
  for (const CLI::Option* option : command.get_options()) {
    Word word;
    for (const std::string& name : option->get_snames()) word.flags.push_back("-" + name);
    for (const std::string& name : option->get_lnames()) word.flags.push_back("--" + name);
    word.description = option->get_description();
    word.takes_value = option->get_items_expected_max() > 0;
    word.values = words_of(*option);
    words.push_back(std::move(word));
  }
  return words;
}

std::string flag_words(const CLI::App& command) {
  std::string words;
  for (const Word& word : shell_words(command)) {
    for (const std::string& flag : word.flags) words += flag + " ";
  }
  return words;
}

/// What the arguments of a command can be; empty: files.
std::vector<std::string> argument_values(const CLI::App& command) {
  for (const Word& word : shell_words(command)) {
    if (word.flags.empty()) return word.values;
  }
  return {};
}

std::vector<const CLI::App*> commands_of(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App*) { return true; });
}

/// The cases of one command: what its options take, then what it takes itself.
std::string bash_case(const CLI::App& command) {
  std::string values;
  for (const Word& word : shell_words(command)) {
    if (word.flags.empty()) continue;
    const std::string flags = fmt::format("{}", fmt::join(word.flags, "|"));
    if (!word.takes_value) continue;
    if (!word.values.empty()) {
      values += fmt::format("        {}) values=\"{}\" ;;\n", flags, fmt::join(word.values, " "));
    } else {
      values += fmt::format("        {}) values= ;;\n", flags);
    }
  }
  return fmt::format(
      "    {})\n      words=\"{}\"\n      case $previous in\n{}        *) values=\"{}\" ;;\n"
      "      esac ;;\n",
      command.get_name(), flag_words(command), values, fmt::join(argument_values(command), " "));
}

std::string bash(const CLI::App& app) {
  std::string names;
  std::string cases;
  for (const CLI::App* command : commands_of(app)) {
    names += command->get_name() + " ";
    cases += bash_case(*command);
  }
  return fmt::format(R"(# bash completion of tenure
_tenure() {{
  local words="" values="" current=${{COMP_WORDS[COMP_CWORD]}} previous=${{COMP_WORDS[COMP_CWORD-1]}}
  case ${{COMP_WORDS[1]-}} in
{}  esac
  if [[ $COMP_CWORD -eq 1 ]]; then
    COMPREPLY=($(compgen -W "{}{}" -- "$current"))
  elif [[ $current == -* ]]; then
    COMPREPLY=($(compgen -W "$words" -- "$current"))
  elif [[ -n $values ]]; then
    COMPREPLY=($(compgen -W "$values" -- "$current"))
  else
    COMPREPLY=($(compgen -f -- "$current"))
  fi
}}
complete -o filenames -F _tenure tenure
)",
                     cases, names, flag_words(app));
}

std::string escaped(const std::string& text) {
  std::string result;
  for (const char c : text) {
    if (c == '\'') {
      result += "'\\''";
    } else if (c == ':' || c == '[' || c == ']') {
      result += std::string("\\") + c;
    } else {
      result += c;
    }
  }
  return result;
}

/// What follows an option or is an argument: its values, or files.
std::string zsh_action(const std::vector<std::string>& values) {
  return values.empty() ? ":file:_files" : fmt::format(":value:({})", fmt::join(values, " "));
}

std::string zsh(const CLI::App& app) {
  std::string names;
  std::string cases;
  for (const CLI::App* command : commands_of(app)) {
    names += fmt::format("    '{}:{}'\n", command->get_name(), escaped(command->get_description()));
    cases += fmt::format("    {}) _arguments", command->get_name());
    for (const Word& word : shell_words(*command)) {
      for (const std::string& flag : word.flags) {
        cases += fmt::format(" '{}[{}]{}'", flag, escaped(word.description),
                             word.takes_value ? zsh_action(word.values) : "");
      }
    }
    cases += fmt::format(" '*{}' ;;\n", zsh_action(argument_values(*command)));
  }
  return fmt::format(R"(#compdef tenure
_tenure() {{
  local -a commands
  commands=(
{}  )
  if (( CURRENT == 2 )); then
    _describe command commands
    return
  fi
  case $words[2] in
{}  esac
}}
_tenure "$@"
)",
                     names, cases);
}

std::string quoted_fish(const std::string& text) {
  std::string result = "'";
  for (const char c : text) {
    if (c == '\'' || c == '\\') result += '\\';
    result += c;
  }
  return result + "'";
}

std::string fish(const CLI::App& app) {
  std::string text = "# fish completion of tenure\n";
  for (const CLI::App* command : commands_of(app)) {
    text += fmt::format("complete -c tenure -n __fish_use_subcommand -a {} -d {}\n",
                        command->get_name(), quoted_fish(command->get_description()));
    const std::string within =
        fmt::format("complete -c tenure -n '__fish_seen_subcommand_from {}'", command->get_name());
    for (const Word& word : shell_words(*command)) {
      const std::string values =
          word.values.empty()
              ? ""
              : fmt::format(" -a {}", quoted_fish(fmt::format("{}", fmt::join(word.values, " "))));
      if (word.flags.empty() && !values.empty()) text += fmt::format("{} -f{}\n", within, values);
      for (const std::string& flag : word.flags) {
        const bool is_long = flag.starts_with("--");
        text += fmt::format("{} {} {} -d {}{}{}\n", within, is_long ? "-l" : "-s",
                            flag.substr(is_long ? 2 : 1), quoted_fish(word.description),
                            word.takes_value ? (values.empty() ? " -r" : " -x") : "", values);
      }
    }
  }
  return text;
}

/// A text as roff: no line begins with a command, and backslashes are shown.
std::string roff(const std::string& text) {
  std::string result;
  bool begins = true;
  for (const char c : text) {
    if (begins && (c == '.' || c == '\'')) result += "\\&";
    if (c == '\\') {
      result += "\\e";
    } else if (c == '-') {
      result += "\\-";
    } else {
      result += c;
    }
    begins = c == '\n';
  }
  return result;
}

std::string manual(const CLI::App& app) {
  std::string text = fmt::format(R"(.TH TENURE 1 "" "tenure {}" "User Commands"
.SH NAME
tenure \- {}
.SH SYNOPSIS
.B tenure
.I COMMAND
.RI [ ARGUMENTS ]
.SH COMMANDS
)",
                                 TENURE_VERSION, roff(app.get_description()));
  for (const CLI::App* command : commands_of(app)) {
    text +=
        fmt::format(".SS {}\n{}.\n", roff(command->get_name()), roff(command->get_description()));
    for (const CLI::Option* option : command->get_options()) {
      if (option->get_name() == "--help") continue;
      text += fmt::format(".TP\n.B {}\n{}\n", roff(option->get_name(false, true)),
                          roff(option->get_description()));
    }
    if (!command->get_footer().empty()) {
      text += fmt::format(".PP\n.nf\n{}\n.fi\n", roff(command->get_footer()));
    }
  }
  return text + R"(.SH EXIT STATUS
.TP
.B 0
done; nothing found that was asked about
.TP
.B 1
what was looked for was found (growth), or the work failed
.TP
.B 2
the command line is wrong
.TP
.B 3
a recording cannot be read, or does not say
.PP
.B tenure profile
ends with the status of the program.
.SH ENVIRONMENT
.TP
.B TENURE_PROFILE
a program that links Tenure records itself into this file; %p is the number of the process
.TP
.B TENURE_PROFILE_CAPACITY
bytes of that file; the newest events are kept
.TP
.B TENURE_WATCH
1: a program that links Tenure lets itself be watched
.TP
.B NO_COLOR
no colours, also on a terminal
)";
}

}  // namespace

void add_completions(CLI::App& app) {
  const Command command(app, "completions", "Prints completions for a shell: bash, zsh or fish");
  const auto shell = std::make_shared<std::string>();
  command.option("SHELL", *shell, "bash, zsh or fish").required().one_of({"bash", "zsh", "fish"});
  command.footer(R"(Examples:
  source <(tenure completions bash)
  tenure completions fish > ~/.config/fish/completions/tenure.fish)");
  command.run([shell, &app] {
    fmt::print("{}", *shell == "bash" ? bash(app) : *shell == "zsh" ? zsh(app) : fish(app));
  });
}

void add_man(CLI::App& app) {
  const Command command(app, "man", "Prints the manual page");
  command.footer("Examples:\n  tenure man | man -l -");
  command.run([&app] { fmt::print("{}", manual(app)); });
}

}  // namespace tenure::cli
