#include "bench/peer_python.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdio>
#include <utility>

extern char** environ;

namespace tenure::bench {

/// The process, and a line to it and from it.
struct PythonPeer::Process {
  pid_t id = 0;
  std::FILE* to = nullptr;
  std::FILE* from = nullptr;

  ~Process() {
    if (to != nullptr) std::fclose(to);  // the end of its input ends it
    if (from != nullptr) std::fclose(from);
    if (id > 0) waitpid(id, nullptr, 0);
  }

  /// Empty if it has ended.
  std::string answer() const {
    std::string text;
    for (int c = 0; (c = std::fgetc(from)) != EOF && c != '\n';) text += static_cast<char>(c);
    return text;
  }

  bool tell(const std::string& command) const {
    std::fputs((command + '\n').c_str(), to);
    std::fflush(to);
    const std::string said = answer();
    if (said == "done") return true;
    fmt::print(stderr, "PyTorch, {}: {}\n", command, said.empty() ? "it has ended" : said);
    return false;
  }
};

PythonPeer::PythonPeer(std::unique_ptr<Process> process) : process_(std::move(process)) {}
PythonPeer::~PythonPeer() = default;

std::shared_ptr<PythonPeer> PythonPeer::start(int threads) {
  std::array<int, 2> input{};
  std::array<int, 2> output{};
  if (pipe(input.data()) != 0 || pipe(output.data()) != 0) return nullptr;
  std::signal(SIGPIPE, SIG_IGN);
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_adddup2(&files, input[0], STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&files, output[1], STDOUT_FILENO);
  posix_spawn_file_actions_addopen(&files, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  for (const int end : {input[0], input[1], output[0], output[1]}) {
    posix_spawn_file_actions_addclose(&files, end);
  }
  std::string program = "python3";
  std::string script = TENURE_BENCH_FOLDER "/peer_torch.py";
  std::array<char*, 3> arguments{program.data(), script.data(), nullptr};
  auto process = std::make_unique<Process>();
  const bool is_there =
      posix_spawnp(&process->id, "python3", &files, nullptr, arguments.data(), environ) == 0;
  posix_spawn_file_actions_destroy(&files);
  close(input[0]);
  close(output[1]);
  process->to = fdopen(input[1], "w");
  process->from = fdopen(output[0], "r");
  if (!is_there) {
    process->id = 0;
    return nullptr;
  }
  const std::string version = process->answer();
  if (version.empty() || !process->tell(fmt::format("threads {}", threads))) return nullptr;
  std::shared_ptr<PythonPeer> peer(new PythonPeer(std::move(process)));
  peer->description_ = "PyTorch " + version;
  return peer;
}

Work PythonPeer::steps(const std::string& model, const std::string& mode) {
  if (!process_->tell(fmt::format("make {} {}", model, mode))) return {};
  return [this, model, mode](std::int64_t n) {
    if (!process_->tell(fmt::format("step {} {} {}", model, mode, n))) {
      throw PeerError("PyTorch cannot go on");
    }
  };
}

}  // namespace tenure::bench
