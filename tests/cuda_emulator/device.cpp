#include <dlfcn.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <chrono>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "tests/cuda_emulator/block.h"
#include "tests/cuda_emulator/protocol.h"

// The process of an emulated GPU. See protocol.h.

namespace tenure::test {
namespace {

Progress* progress = nullptr;

void ring() {
  progress->bell.fetch_add(1, std::memory_order_release);
  syscall(SYS_futex, &progress->bell, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

void on_fault(int signal) {
  progress->fault.store(static_cast<std::uint32_t>(signal), std::memory_order_release);
  ring();
  _exit(1);
}

/// False: the host has ended.
bool read_all(int socket, void* to, std::size_t bytes) {
  for (std::size_t done = 0; done < bytes;) {
    const ssize_t got = recv(socket, static_cast<char*>(to) + done, bytes - done, 0);
    if (got <= 0) return false;
    done += static_cast<std::size_t>(got);
  }
  return true;
}

void* as_pointer(std::uint64_t address) { return reinterpret_cast<void*>(address); }

void fill(const Command& command) {
  auto* const to = static_cast<char*>(as_pointer(command.to));
  if (command.width == 1) {
    std::memset(to, static_cast<int>(command.from & 0xff), command.bytes);
    return;
  }
  for (std::uint64_t i = 0; i < command.bytes; i += command.width) {
    std::memcpy(to + i, &command.from, command.width);
  }
}

void stamp(const Command& command) {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  *static_cast<std::int64_t*>(as_pointer(command.to)) =
      std::chrono::duration_cast<std::chrono::nanoseconds>(now).count();
}

void work(const Command& command, const std::vector<char>& attached) {
  switch (command.kind) {
    case Command::launch:
      return run_grid(reinterpret_cast<EmulatedKernel>(command.to), attached.data(), command);
    case Command::copy:
      std::memmove(as_pointer(command.to), as_pointer(command.from), command.bytes);
      return;
    case Command::write:
      std::memcpy(as_pointer(command.to), attached.data(), command.bytes);
      return;
    case Command::fill:
      return fill(command);
    case Command::stamp:
      return stamp(command);
    default:
      _exit(2);
  }
}

/// What the stream has, in order.
void work_through() {
  std::mt19937 pauses(20261118);
  Command command;
  std::vector<char> attached;
  while (read_all(kStreamSocket, &command, sizeof command)) {
    attached.resize(command.attached);
    if (!read_all(kStreamSocket, attached.data(), attached.size())) break;
    if (pauses() % 64 == 0) usleep(100);
    work(command, attached);
    progress->done.fetch_add(1, std::memory_order_release);
    ring();
  }
  _exit(0);
}

std::uint64_t load(const std::vector<char>& code) {
  const int made = memfd_create("kernel", 0);
  if (write(made, code.data(), code.size()) != static_cast<ssize_t>(code.size())) return 0;
  // The loader knows objects by their names: none may come twice.
  static int last = 64;
  const int file = last = fcntl(made, F_DUPFD, last + 1);
  close(made);
  const std::string path = "/proc/self/fd/" + std::to_string(file);
  void* const module = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (module == nullptr) std::fprintf(stderr, "emulated GPU: %s\n", dlerror());
  close(file);
  return reinterpret_cast<std::uint64_t>(module);
}

/// What is done at once; the answer is not 0 if it could be.
std::uint64_t control(const Command& command, const std::vector<char>& attached) {
  void* const at = as_pointer(command.to);
  switch (command.kind) {
    case Command::map:
      return mmap(at, command.bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, kDeviceFile,
                  static_cast<off_t>(command.from)) != MAP_FAILED;
    case Command::unmap:
      return mmap(at, command.bytes, PROT_NONE,
                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) != MAP_FAILED;
    case Command::load:
      return load(attached);
    case Command::find:
      return reinterpret_cast<std::uint64_t>(dlsym(at, attached.data()));
    default:
      return 0;
  }
}

}  // namespace
}  // namespace tenure::test

int main(int, char** arguments) {
  using namespace tenure::test;
  const auto index = static_cast<std::uintptr_t>(std::atoi(arguments[1]));
  void* const pinned =
      mmap(reinterpret_cast<void*>(kPinnedAddresses + index * kPinnedBytes), kPinnedBytes,
           PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED_NOREPLACE, kPinnedFile, 0);
  if (pinned == MAP_FAILED) return 2;
  progress = static_cast<Progress*>(pinned);

  rlimit files{};
  getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = files.rlim_max;
  setrlimit(RLIMIT_NOFILE, &files);

  stack_t stack{};
  stack.ss_sp = mmap(nullptr, 1 << 16, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  stack.ss_size = 1 << 16;
  std::thread worker([&] {
    sigaltstack(&stack, nullptr);  // a thread's own
    struct sigaction action {};
    action.sa_handler = on_fault;
    action.sa_flags = SA_ONSTACK;
    for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT}) {
      sigaction(signal, &action, nullptr);
    }
    work_through();
  });
  Command command;
  std::vector<char> attached;
  while (read_all(kControlSocket, &command, sizeof command)) {
    attached.resize(command.attached);
    if (!read_all(kControlSocket, attached.data(), attached.size())) break;
    const std::uint64_t answer = control(command, attached);
    if (send(kControlSocket, &answer, sizeof answer, MSG_NOSIGNAL) != sizeof answer) break;
  }
  _exit(0);
}
