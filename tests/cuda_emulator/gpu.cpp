#include "tests/cuda_emulator/gpu.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <filesystem>
#include <string>

namespace tenure::test {
namespace {

/// The program of the GPU lies beside this library.
std::string device_program() {
  static const int here = 0;
  Dl_info info{};
  if (dladdr(&here, &info) == 0) return {};
  return (std::filesystem::path(info.dli_fname).parent_path() / "emulated_gpu").string();
}

int spawn(int index, const int (&descriptors)[4]) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  // Past those that the program finds open, so that none is replaced before it was copied.
  int copies[4];
  for (int i = 0; i < 4; ++i) {
    copies[i] = fcntl(descriptors[i], F_DUPFD_CLOEXEC, 16);
    posix_spawn_file_actions_adddup2(&actions, copies[i], kStreamSocket + i);
  }
  const std::string program = device_program();
  std::string number = std::to_string(index);
  char* arguments[] = {const_cast<char*>(program.c_str()), number.data(), nullptr};
  pid_t process = -1;
  if (posix_spawn(&process, program.c_str(), &actions, nullptr, arguments, environ) != 0) {
    process = -1;
  }
  posix_spawn_file_actions_destroy(&actions);
  for (const int copy : copies) close(copy);
  return process;
}

}  // namespace

EmulatedGpu::EmulatedGpu(int index, std::size_t memory) : index_(index), memory_(memory) {
  int streams[2];
  int controls[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, streams) != 0 ||
      socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, controls) != 0) {
    return;
  }
  file_ = memfd_create("emulated GPU", MFD_CLOEXEC);
  const int pinned_file = memfd_create("emulated GPU, pinned", MFD_CLOEXEC);
  if (ftruncate(file_, static_cast<off_t>(memory)) != 0 ||
      ftruncate(pinned_file, kPinnedBytes) != 0) {
    return;
  }
  // Each GPU has its own pinned memory, at an address of its own in the host.
  pinned_ = mmap(
      reinterpret_cast<void*>(kPinnedAddresses + static_cast<std::uintptr_t>(index) * kPinnedBytes),
      kPinnedBytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED_NOREPLACE, pinned_file, 0);
  void* const reserved =
      mmap(reinterpret_cast<void*>(addresses()), kAddressesOfOne, PROT_NONE,
           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
  if (pinned_ == MAP_FAILED || reserved == MAP_FAILED) return;
  process_ = spawn(index, {streams[1], controls[1], file_, pinned_file});
  close(streams[1]);
  close(controls[1]);
  close(pinned_file);
  if (process_ < 0) return;
  free_.emplace(0, memory - kTakenOutside);
  control_ = controls[0];
  stream_ = streams[0];
}

bool EmulatedGpu::send_all(int socket, const Command& command, const void* attached) {
  const auto send_bytes = [&](const void* from, std::size_t bytes) {
    for (std::size_t done = 0; done < bytes;) {
      const ssize_t sent =
          send(socket, static_cast<const char*>(from) + done, bytes - done, MSG_NOSIGNAL);
      if (sent <= 0) return false;
      done += static_cast<std::size_t>(sent);
    }
    return true;
  };
  return send_bytes(&command, sizeof command) && send_bytes(attached, command.attached);
}

bool EmulatedGpu::queue(Command command, const void* attached) {
  const std::lock_guard lock(mutex_);
  if (!send_all(stream_, command, attached)) return false;
  ++queued_;
  return true;
}

std::uint64_t EmulatedGpu::ask(Command command, const void* attached) {
  const std::lock_guard lock(control_mutex_);
  std::uint64_t answer = 0;
  if (!send_all(control_, command, attached)) return 0;
  return recv(control_, &answer, sizeof answer, MSG_WAITALL) == sizeof answer ? answer : 0;
}

std::uint64_t EmulatedGpu::queued() {
  const std::lock_guard lock(mutex_);
  return queued_;
}

int EmulatedGpu::fault() const {
  return static_cast<int>(progress().fault.load(std::memory_order_acquire));
}

bool EmulatedGpu::is_done(std::uint64_t number) const {
  return progress().done.load(std::memory_order_acquire) >= number;
}

bool EmulatedGpu::wait_for(std::uint64_t number) {
  while (true) {
    const std::uint32_t bell = progress().bell.load(std::memory_order_acquire);
    if (is_done(number)) return true;
    if (fault() != 0) return false;
    const timespec limit{.tv_sec = 0, .tv_nsec = 100'000'000};
    syscall(SYS_futex, &progress().bell, FUTEX_WAIT, bell, &limit, nullptr, 0);
    if (waitpid(process_, nullptr, WNOHANG) == process_ && fault() == 0) {
      progress().fault.store(SIGKILL);  // it ended without a word
    }
  }
}

std::int64_t EmulatedGpu::take(std::size_t bytes) {
  const std::lock_guard lock(memory_mutex_);
  const auto found = std::find_if(free_.begin(), free_.end(),
                                  [&](const auto& range) { return range.second >= bytes; });
  if (found == free_.end()) return -1;
  const auto [place, room] = *found;
  free_.erase(found);
  if (room > bytes) free_.emplace(place + bytes, room - bytes);
  return static_cast<std::int64_t>(place);
}

void EmulatedGpu::give_back(std::int64_t place, std::size_t bytes) {
  fallocate(file_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, place, static_cast<off_t>(bytes));
  const std::lock_guard lock(memory_mutex_);
  auto at = free_.emplace(static_cast<std::size_t>(place), bytes).first;
  if (const auto next = std::next(at);
      next != free_.end() && at->first + at->second == next->first) {
    at->second += next->second;
    free_.erase(next);
  }
  if (at != free_.begin()) {
    const auto before = std::prev(at);
    if (before->first + before->second == at->first) {
      before->second += at->second;
      free_.erase(at);
    }
  }
}

std::size_t EmulatedGpu::free_memory() {
  const std::lock_guard lock(memory_mutex_);
  std::size_t bytes = 0;
  for (const auto& range : free_) bytes += range.second;
  return bytes;
}

void* EmulatedGpu::pin(std::size_t bytes) {
  const std::lock_guard lock(memory_mutex_);
  const std::size_t at = pinned_used_;
  if (bytes > kPinnedBytes - at) return nullptr;
  pinned_used_ += (bytes + 4095) / 4096 * 4096;
  return static_cast<char*>(pinned_) + at;
}

std::int64_t* EmulatedGpu::stamp() {
  constexpr std::size_t kStamps = 512;
  const std::lock_guard lock(mutex_);
  if (stamps_left_ == 0) {
    stamps_ = static_cast<std::int64_t*>(pin(kStamps * sizeof *stamps_));
    if (stamps_ == nullptr) return nullptr;
    stamps_left_ = kStamps;
  }
  return stamps_ + --stamps_left_;
}

bool EmulatedGpu::is_pinned(const void* address) const {
  const auto* const byte = static_cast<const char*>(address);
  const auto* const begin = static_cast<const char*>(pinned_);
  return byte >= begin && byte < begin + kPinnedBytes;
}

}  // namespace tenure::test
