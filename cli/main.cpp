#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <sstream>
#include <string>

#include "cli/commands.h"
#include "cli/recording.h"
#include "cli/terminal.h"
#include "tenure/profile/profile.h"

namespace {

constexpr const char* kFooter = R"(Examples:
  tenure profile -- ./train       record a program and see what made its peak
  tenure report train.tenure      a page to look at in a browser
  tenure leaks train.tenure       does it grow from step to step? exit status 1 if so
  tenure diff old.tenure new.tenure
  tenure demo                     the questions users bring, answered live
  tenure ops add softmax          what ops compute and what they do to memory
  tenure plan step.json --budget 8GiB
                                  what a training step costs within 8 GiB

`tenure COMMAND --help` explains each with examples; --json prints for programs.
Exit status: 0 done, 1 found what was looked for (growth) or failed, 2 wrong usage,
3 a recording cannot be read, is damaged, or does not say.)";

/// That it cannot be written is no exception: where it says why a command ended, none may leave.
void put(std::FILE* file, const std::string& text) {
  static_cast<void>(std::fputs(text.c_str(), file));
}

int run(int argc, char** argv) {
  using namespace tenure::cli;
  CLI::App app(
      "Looks at tensor programs: what operations do to memory, how programs fit in it, and what "
      "they did with it.");
  app.name("tenure");
  app.set_version_flag("--version", "tenure " TENURE_VERSION);
  app.footer(kFooter);
  app.require_subcommand(0, 1);
  add_profile(app);
  add_top(app);
  add_leaks(app);
  add_holders(app);
  add_diff(app);
  add_report(app);
  add_export(app);
  add_watch(app);
  add_ops(app);
  add_plan(app);
  add_demo(app);
  add_doctor(app);
  add_completions(app);
  add_man(app);
  try {
    app.parse(argc, argv);
    if (app.get_subcommands().empty()) fmt::print("{}", app.help());
    return has_read_damage() ? kUnanswered : kYes;
  } catch (const CLI::ParseError& error) {
    std::ostringstream out;
    std::ostringstream problem;
    // Help was asked for, but of a command that there is not.
    const bool is_unknown = app.get_subcommands().empty() && !app.remaining().empty();
    const int status = is_unknown
                           ? app.exit(CLI::ExtrasError("tenure", app.remaining()), out, problem)
                           : app.exit(error, out, problem);
    put(stdout, out.str());
    put(stderr, plain_lines(problem.str()));
    return status == 0 ? kYes : kUsage;
  } catch (const ExitWith& exit) {
    return exit.status;
  } catch (const UsageError& error) {
    put(stderr, fmt::format("tenure: {}\n", plain_lines(error.what())));
    return kUsage;
  } catch (const tenure::ProfileError& error) {
    put(stderr, fmt::format("tenure: {}\n", plain_lines(error.what())));
    return kUnanswered;
  } catch (const std::exception& error) {
    put(stderr, fmt::format("tenure: {}\n", plain_lines(error.what())));
    return kFound;
  }
}

/// Whether all that was printed could be written; says so if not.
bool is_output_written() {
  errno = 0;
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return true;
  put(stderr, fmt::format("tenure: standard output cannot be written: {}\n",
                          std::strerror(errno == 0 ? EIO : errno)));
  return false;
}

}  // namespace

int main(int argc, char** argv) {
  const int status = run(argc, argv);
  return is_output_written() || status != tenure::cli::kYes ? status : tenure::cli::kFound;
}
