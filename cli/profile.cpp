#include <fmt/format.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>

#include "cli/bytes.h"
#include "cli/commands.h"
#include "cli/recording.h"
#include "cli/top.h"

namespace tenure::cli {
namespace {

namespace fs = std::filesystem;

struct Options {
  std::string output;
  std::string capacity;
  std::vector<std::string> command;
  bool json = false;
};

/// Runs the program with these variables in its environment; its exit status, 128 and more for a
/// signal.
int run(std::vector<std::string> command, const std::string& pattern, const std::string& capacity) {
  std::vector<char*> arguments;
  for (std::string& word : command) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  const pid_t child = fork();
  if (child < 0) throw std::runtime_error(fmt::format("cannot fork: {}", std::strerror(errno)));
  if (child == 0) {
    setenv("TENURE_PROFILE", pattern.c_str(), 1);
    if (!capacity.empty()) setenv("TENURE_PROFILE_CAPACITY", capacity.c_str(), 1);
    execvp(arguments[0], arguments.data());
    fmt::print(stderr, "tenure: {} cannot be run: {}\n", arguments[0], std::strerror(errno));
    _exit(127);
  }
  // An interrupt is for the program; what it has written is then looked at.
  signal(SIGINT, SIG_IGN);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  signal(SIGINT, SIG_DFL);
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

/// The recordings of the program and its children: OUTPUT.PID, the largest first.
std::vector<fs::path> recordings_of(const std::string& output) {
  const fs::path path = fs::absolute(output);
  const std::string prefix = path.filename().string() + ".";
  std::vector<fs::path> found;
  for (const fs::directory_entry& entry : fs::directory_iterator(path.parent_path())) {
    const std::string name = entry.path().filename().string();
    const bool is_one = name.starts_with(prefix) && name.size() > prefix.size() &&
                        std::all_of(name.begin() + static_cast<std::ptrdiff_t>(prefix.size()),
                                    name.end(), [](char c) { return c >= '0' && c <= '9'; });
    if (is_one) found.push_back(entry.path());
  }
  std::sort(found.begin(), found.end(), [](const fs::path& a, const fs::path& b) {
    return fs::file_size(a) > fs::file_size(b);
  });
  return found;
}

void profile(const Options& options) {
  const std::string output = options.output.empty()
                                 ? fs::path(options.command[0]).filename().string() + ".tenure"
                                 : options.output;
  const fs::path folder = fs::absolute(output).parent_path();
  if (!fs::is_directory(folder)) {
    throw UsageError(fmt::format("--output: there is no folder {}", folder.string()));
  }
  std::string capacity;
  if (!options.capacity.empty()) {
    capacity = fmt::to_string(parse_bytes(options.capacity, "--capacity"));
  }
  for (const fs::path& old : recordings_of(output)) fs::remove(old);
  const int status = run(options.command, fs::absolute(output).string() + ".%p", capacity);
  if (status == 127) throw ExitWith{127};
  const std::vector<fs::path> found = recordings_of(output);
  if (found.empty()) {
    fmt::print(stderr,
               "tenure: {} made no recording: it made no tensors, is not linked with Tenure, or "
               "the file could not be written\n",
               options.command[0]);
    throw ExitWith{status == 0 ? kUnanswered : status};
  }
  fs::rename(found[0], output);
  const auto loaded = load(output);
  if (options.json) {
    Json document = summary_json(loaded->history);
    document["exit_status"] = status;
    Json others = Json::array();
    for (std::size_t i = 1; i < found.size(); ++i) others.push_back(found[i].string());
    document["other_processes"] = std::move(others);
    print_json(document);
  } else {
    print_summary(loaded->history);
    print_peak(loaded->history, tenure::profile::GroupBy::line, 5);
    for (std::size_t i = 1; i < found.size(); ++i) {
      fmt::print("\nanother process recorded {}\n", found[i].string());
    }
    fmt::print("\n{}: `tenure top`, `tenure leaks` and `tenure report` have more\n", output);
  }
  if (status > 128) {
    fmt::print(stderr, "tenure: the program was ended by signal {} ({})\n", status - 128,
               strsignal(status - 128));
  }
  if (status != 0) throw ExitWith{status};
}

}  // namespace

void add_profile(CLI::App& app) {
  CLI::App* const command =
      app.add_subcommand("profile", "Runs a program, records its memory and sums it up");
  const auto options = std::make_shared<Options>();
  command->add_option("-o,--output", options->output, "The recording (default: PROGRAM.tenure)")
      ->type_name("FILE");
  command->add_option("--capacity", options->capacity, "Keep the newest events within this size")
      ->type_name("BYTES");
  command->add_flag("--json", options->json, "Print JSON");
  command->add_option("PROGRAM", options->command, "The program and its arguments, after --")
      ->required();
  command->positionals_at_end();
  command->footer(
      R"(The program needs no change: whatever links Tenure records itself when it is told to by its
environment (TENURE_PROFILE=FILE does the same by hand). A program that crashes or is killed
leaves what it did until then. The exit status is the program's own.

Examples:
  tenure profile -- ./train --epochs 1
  tenure profile -o step.tenure --capacity 64MiB -- ./serve)");
  command->callback([options] { profile(*options); });
}

}  // namespace tenure::cli
