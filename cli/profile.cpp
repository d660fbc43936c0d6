#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>

#include "cli/bytes.h"
#include "cli/command_line.h"
#include "cli/commands.h"
#include "cli/leaks.h"
#include "cli/limits.h"
#include "cli/recording.h"
#include "cli/terminal.h"
#include "cli/top.h"
#include "tenure/base/text.h"

namespace tenure::cli {
namespace {

namespace fs = std::filesystem;

struct ProfileOptions {
  std::string output;
  std::string capacity;
  bool stacks = false;
  std::vector<std::string> command;
  bool json = false;
};

/// The program that runs, for the handler of signals.
volatile std::sig_atomic_t running = 0;

void pass_on(int signal) { kill(static_cast<pid_t>(running), signal); }

/// Where the program and its children record themselves; gone with the object, but for what was
/// taken out.
class Folder {
 public:
  /// Beside the output, so that a recording can be renamed into it.
  explicit Folder(const fs::path& beside) {
    std::string name = (beside / ".tenure-profile-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) {
      throw std::runtime_error(
          fmt::format("{} cannot be written: {}", beside.string(), std::strerror(errno)));
    }
    path_ = name;
  }
  ~Folder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  std::string pattern() const { return (path_ / "%p").string(); }
  /// Named by process, the largest first.
  std::vector<fs::path> recordings() const {
    std::vector<fs::path> found{fs::directory_iterator(path_), fs::directory_iterator()};
    std::sort(found.begin(), found.end(), [](const fs::path& a, const fs::path& b) {
      return fs::file_size(a) > fs::file_size(b);
    });
    return found;
  }

 private:
  fs::path path_;
};

/// How a program ended: its exit status, 128 and more for a signal.
struct Ending {
  int status = 0;
  int signal = 0;       ///< that ended it; 0: none
  bool has_run = true;  ///< false: it could not be run, and that was said
};

/// Runs the program with these variables in its environment. Where what is printed is for another
/// program, its standard output goes to standard error.
Ending run(const ProfileOptions& options, const std::string& pattern, const std::string& capacity) {
  std::vector<std::string> command = options.command;
  std::vector<char*> arguments;
  arguments.reserve(command.size() + 1);
  for (std::string& word : command) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  int failure[2];  // closed when the program runs
  if (pipe2(failure, O_CLOEXEC) != 0) {
    throw std::runtime_error(fmt::format("cannot make a pipe: {}", std::strerror(errno)));
  }
  std::fflush(stdout);
  const pid_t child = fork();
  if (child < 0) throw std::runtime_error(fmt::format("cannot fork: {}", std::strerror(errno)));
  if (child == 0) {
    setenv("TENURE_PROFILE", pattern.c_str(), 1);
    if (!capacity.empty()) setenv("TENURE_PROFILE_CAPACITY", capacity.c_str(), 1);
    if (options.stacks) setenv("TENURE_STACKS", "1", 1);
    if (options.json) dup2(STDERR_FILENO, STDOUT_FILENO);
    execvp(arguments[0], arguments.data());
    const int problem = errno;
    static_cast<void>(!write(failure[1], &problem, sizeof problem));
    _exit(127);
  }
  close(failure[1]);
  // Signals are for the program; what it has written is then looked at. Those from the keyboard
  // reach it by themselves.
  running = child;
  signal(SIGINT, SIG_IGN);
  signal(SIGQUIT, SIG_IGN);
  signal(SIGTERM, pass_on);
  signal(SIGHUP, pass_on);
  int problem = 0;
  const bool is_told = read(failure[0], &problem, sizeof problem) == sizeof problem;
  close(failure[0]);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  for (const int each : {SIGINT, SIGQUIT, SIGTERM, SIGHUP}) signal(each, SIG_DFL);
  if (is_told) {
    fmt::print(stderr, "tenure: {} cannot be run: {}\n", plain(arguments[0]),
               std::strerror(problem));
    return {.status = problem == ENOENT ? 127 : 126, .has_run = false};  // as shells say it
  }
  if (WIFSIGNALED(status)) {
    return {.status = 128 + WTERMSIG(status), .signal = WTERMSIG(status)};
  }
  return {.status = WEXITSTATUS(status)};
}

/// What may be renamed to `path`: nothing is there, or a file, of which a link is followed. Throws
/// UsageError for whatever else is there: a device, a pipe, a link to nothing.
fs::path replaceable(const std::string& path) {
  const fs::file_status there = fs::status(path);
  if (fs::is_directory(there)) throw UsageError(fmt::format("--output: {} is a folder", path));
  if (fs::exists(there) && !fs::is_regular_file(there)) {
    throw UsageError(fmt::format("--output: {} is no file that could be replaced", path));
  }
  if (!fs::is_symlink(path)) return path;
  if (!fs::exists(there)) {
    throw UsageError(fmt::format("--output: {} is a link to nothing", path));
  }
  return fs::canonical(path);
}

/// Takes the recordings out of the folder: the largest to `output`. Returns where the others went.
std::vector<std::string> take_out(const std::vector<fs::path>& found, const std::string& output) {
  fs::rename(found[0], replaceable(output));
  std::vector<std::string> others;
  for (std::size_t i = 1; i < found.size(); ++i) {
    others.push_back(fmt::format("{}.{}", output, found[i].filename().string()));
    fs::rename(found[i], replaceable(others.back()));
  }
  return others;
}

void sum_up(const ProfileOptions& options, const std::string& output, int status,
            const std::vector<std::string>& others) {
  constexpr std::size_t kRows = 5;
  const auto loaded = load(output);
  if (options.json) {
    Json document = summary_json(loaded->history);
    document.update(growth_json(loaded->history, growth(loaded->history)));
    document["refusals"] = refusals_json(loaded->history, SIZE_MAX);
    document["exit_status"] = status;
    document["other_processes"] = others;
    return print_json(document);
  }
  print_summary(loaded->history);
  print_peak(loaded->history, tenure::profile::GroupBy::line, kRows);
  print_refusals(loaded->history, kRows);
  for (const std::string& other : others) {
    fmt::print("\nanother process recorded {}\n", plain(other));
  }
  fmt::print("\n{}: `tenure top`, `tenure leaks` and `tenure report` have more\n", plain(output));
  for (const tenure::profile::Loop& loop : growth(loaded->history)) {
    if (loop.can_tell) fmt::print("{}\n", plain(judgement(loop, loaded->recorded)));
  }
}

void profile(const ProfileOptions& options) {
  const std::string output = options.output.empty()
                                 ? fs::path(options.command[0]).filename().string() + ".tenure"
                                 : options.output;
  const fs::path folder = fs::absolute(replaceable(output)).parent_path();
  if (!fs::is_directory(folder)) {
    throw UsageError(fmt::format("--output: there is no folder {}", folder.string()));
  }
  std::string capacity;
  if (!options.capacity.empty()) {
    capacity = fmt::to_string(parse_bytes(options.capacity, "--capacity"));
  }
  const Folder scratch(folder);
  const Ending ending = run(options, scratch.pattern(), capacity);
  const int status = ending.status;
  if (!ending.has_run) throw ExitWith{status};
  const std::vector<fs::path> found = scratch.recordings();
  if (found.empty()) {
    fmt::print(stderr,
               "tenure: {} made no recording: it made no tensors, is not linked with Tenure, or "
               "the file could not be written\n",
               plain(options.command[0]));
    throw ExitWith{status == 0 ? kUnanswered : status};
  }
  try {
    sum_up(options, output, status, take_out(found, output));
  } catch (const std::exception& error) {
    if (status == 0) throw;  // else the program's status is more than what became of its recording
    fmt::print(stderr, "tenure: {}\n", plain_lines(error.what()));
  }
  if (ending.signal != 0) {
    fmt::print(stderr, "tenure: the program was ended by signal {} ({})\n", ending.signal,
               strsignal(ending.signal));
  }
  if (status != 0) throw ExitWith{status};
}

}  // namespace

void add_profile(CLI::App& app) {
  const Command command(app, "profile", "Runs a program, records its memory and sums it up");
  const auto options = std::make_shared<ProfileOptions>();
  command.option("-o,--output", options->output, "The recording (default: PROGRAM.tenure)")
      .type_name("FILE");
  command.option("--capacity", options->capacity, "Keep the newest events within this size")
      .type_name("BYTES");
  command.flag("--stacks", options->stacks,
               "Record the calls that led to every tensor, not only to some");
  command.flag("--json", options->json, "Print JSON; the program prints to standard error");
  command.option("PROGRAM", options->command, "The program and its arguments, after --").required();
  command.positionals_at_end();
  command.footer(
      R"(It prints what made the peak and what was refused, and last whether the program leaks: which line makes what piles up, who
called it (compile with -g), and who holds it.

The program needs no change: whatever links Tenure records itself when it is told to by its
environment (TENURE_PROFILE=FILE does the same by hand). A program that crashes or is killed
leaves what it did until then. With --json what the program prints goes to standard error, so that
standard output is JSON alone.

The exit status is the program's own: 128 and more for a signal, 127 if there is no such program,
126 if it cannot be run; 3 if it ended well but made no recording.

Examples:
  tenure profile -- ./train --epochs 1
  tenure profile -o step.tenure --capacity 64MiB -- ./serve
  tenure profile --stacks -- ./train           then: tenure top train.tenure --by calls)");
  command.run([options] { profile(*options); });
}

}  // namespace tenure::cli
