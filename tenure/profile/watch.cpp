#include "tenure/profile/watch.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <system_error>
#include <thread>

#include "tenure/base/descriptor.h"
#include "tenure/base/environment.h"
#include "tenure/memory/holders/holder_groups.h"
#include "tenure/memory/ledger.h"
#include "tenure/memory/pool/devices.h"
#include "tenure/memory/threads/call.h"
#include "tenure/profile/profile.h"
#include "tenure/profile/text.h"

namespace tenure {
namespace profile {
namespace {

constexpr char kQuestion = '?';
constexpr int kPatience = 2000;  // milliseconds

sockaddr_un address_of(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) {
    throw ProfileError(fmt::format("Watch: the path {} is too long for a socket", path));
  }
  std::memcpy(address.sun_path, path.data(), path.size());
  return address;
}

/// A folder that only this user can look into, made if it is not there.
std::string own_folder() {
  const char* const given = environment("XDG_RUNTIME_DIR");
  std::string folder =
      given != nullptr && *given != '\0' ? given : fmt::format("/tmp/tenure-{}", geteuid());
  mkdir(folder.c_str(), 0700);
  struct stat status {};
  if (lstat(folder.c_str(), &status) != 0 || !S_ISDIR(status.st_mode)) {
    throw ProfileError(fmt::format("Watch: {} is not a folder", folder));
  }
  if (status.st_uid != geteuid() || (status.st_mode & 077) != 0) {
    throw ProfileError(fmt::format(
        "Watch: {} is not safe: it must belong to this user and be closed to all others (mode 700)",
        folder));
  }
  return folder;
}

bool is_peer_this_user(int socket) {
  ucred peer{};
  socklen_t size = sizeof peer;
  return getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 && peer.uid == geteuid();
}

bool send_all(int socket, std::string_view text) {
  while (!text.empty()) {
    const ssize_t sent = send(socket, text.data(), text.size(), MSG_NOSIGNAL);
    if (sent <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

void set_patience(int socket) {
  const timeval limit{.tv_sec = kPatience / 1000, .tv_usec = 0};
  setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
  setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
}

}  // namespace

std::string watch_socket(long pid) { return fmt::format("{}/tenure-{}.sock", own_folder(), pid); }

namespace {

/// What one device holds.
std::string device_json(Device device) {
  constexpr std::size_t kLargest = 100;  // a line that begins to grow is none of the very largest
  const MemoryStats stats = memory(device);
  const OutsideMemory outside = memory_outside(device);
  std::string categories;
  for (int c = 0; c < kCategories; ++c) {
    const auto category = static_cast<Category>(c);
    categories +=
        fmt::format(R"({}"{}":{})", c == 0 ? "" : ",", name_of(category), stats[category].bytes);
  }
  std::string largest;
  std::size_t n = 0;
  for (const HolderGroup& group : mem::holder_groups({.device = device})) {
    if (++n > kLargest) break;
    largest += fmt::format(R"({}{{"op":{},"place":{},"tensors":{},"bytes":{}}})",
                           largest.empty() ? "" : ",", json_string(group.op),
                           json_string(tenure::to_string(group.site)), group.tensors, group.bytes);
  }
  return fmt::format(
      R"({{"device":"{}","tensors":{},"storages":{},"bytes":{},"peak":{},"allocations":{},)"
      R"("frees":{},"cached_bytes":{},"reserved_bytes":{},"outside_bytes":{},"total_bytes":{},)"
      R"("fragmentation":{:.4f},"categories":{{{}}},"largest":[{}]}})",
      name_of(device), stats.tensors, stats.storages, stats.bytes, stats.peak, stats.allocations,
      stats.frees, stats.cached_bytes, stats.reserved_bytes, outside.bytes, outside.total,
      stats.fragmentation, categories, largest);
}

}  // namespace

std::string watch_snapshot() {
  std::string devices;
  mem::for_each_device([&](Device device) {
    devices += devices.empty() ? "" : ",";
    devices += device_json(device);
  });
  return fmt::format(R"({{"pid":{},"devices":[{}]}})", getpid(), devices);
}

WatchClient::WatchClient(long pid) : pid_(pid) {
  const std::string path = watch_socket(pid);
  struct stat status {};
  if (lstat(path.c_str(), &status) != 0) {
    const bool is_there = kill(static_cast<pid_t>(pid), 0) == 0 || errno == EPERM;
    throw ProfileError(is_there
                           ? fmt::format("process {} does not let itself be watched: start it with "
                                         "TENURE_WATCH=1, or make a tenure::Watch in it",
                                         pid)
                           : fmt::format("there is no process {}", pid));
  }
  if (!S_ISSOCK(status.st_mode) || status.st_uid != geteuid()) {
    throw ProfileError(fmt::format("{} is not a socket of this user: it is not used", path));
  }
  const sockaddr_un address = address_of(path);
  socket_ = above_standard(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (socket_ < 0 ||
      connect(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    if (socket_ >= 0) close(socket_);
    throw ProfileError(fmt::format("process {} is gone, or no longer watched", pid));
  }
  if (!is_peer_this_user(socket_)) {
    close(socket_);
    throw ProfileError(fmt::format("the socket of process {} is another user's", pid));
  }
  set_patience(socket_);
}

WatchClient::~WatchClient() { close(socket_); }

std::string WatchClient::snapshot() {
  constexpr std::size_t kLongest = 1 << 20;
  if (!send_all(socket_, std::string_view(&kQuestion, 1))) return {};
  std::string line;
  char buffer[4096];
  while (line.size() < kLongest) {
    const ssize_t got = recv(socket_, buffer, sizeof buffer, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
      throw ProfileError(fmt::format(
          "process {} does not answer: it is stopped, or too busy to look at its memory", pid_));
    }
    if (got <= 0) return {};
    line.append(buffer, static_cast<std::size_t>(got));
    if (line.back() == '\n') {
      line.pop_back();
      return line;
    }
  }
  throw ProfileError(fmt::format("what process {} says is no snapshot: it has no end", pid_));
}

}  // namespace profile

namespace {

/// While it lives, this thread, and those that it starts, get no signals.
class NoSignals {
 public:
  NoSignals() {
    sigset_t all{};
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~NoSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  NoSignals(const NoSignals&) = delete;
  NoSignals& operator=(const NoSignals&) = delete;

 private:
  sigset_t before_{};
};

}  // namespace

class Watch::Server {
 public:
  Server() {
    if (is_on.exchange(true)) throw ProfileError("Watch: another one is on");
    try {
      listen();
    } catch (...) {
      close_all();
      is_on = false;
      throw;
    }
  }
  ~Server() {
    if (getpid() == pid_) {
      const char stop = 0;
      static_cast<void>(!write(wake_[1], &stop, 1));
      thread_.join();
      unlink(path_.c_str());
    } else {
      thread_.detach();  // in a child: the thread is not here, and the socket is the parent's
    }
    close_all();
    is_on = false;
  }
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;
  const std::string& path() const { return path_; }

 private:
  void listen() {
    path_ = profile::watch_socket(getpid());
    const sockaddr_un address = profile::address_of(path_);
    unlink(path_.c_str());  // of a process that had this number before
    listening_ = above_standard(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (listening_ < 0 || !open_pipe() ||
        bind(listening_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
        chmod(path_.c_str(), 0600) != 0 || ::listen(listening_, 4) != 0) {
      throw ProfileError(fmt::format("Watch: {} cannot be made: {}", path_, std::strerror(errno)));
    }
    try {
      const NoSignals none;  // they are for the program's own threads
      thread_ = std::thread([this] { serve(); });
    } catch (const std::system_error& error) {
      unlink(path_.c_str());
      throw ProfileError(fmt::format("Watch: there is no thread for it: {}", error.what()));
    } catch (...) {
      unlink(path_.c_str());
      throw;
    }
  }

  bool open_pipe() {
    if (pipe2(wake_, O_CLOEXEC) != 0) return false;
    for (int& end : wake_) end = above_standard(end);
    return wake_[0] >= 0 && wake_[1] >= 0;
  }

  void close_all() {
    for (const int file : {listening_, wake_[0], wake_[1]}) {
      if (file >= 0) close(file);
    }
  }

  void serve() {
    std::array<pollfd, 2 + kMostClients> files{};
    files[0] = {wake_[0], POLLIN, 0};
    files[1] = {listening_, POLLIN, 0};
    std::size_t count = 2;
    for (;;) {
      if (poll(files.data(), count, -1) < 0 && errno != EINTR) break;
      if (files[0].revents != 0) break;
      for (std::size_t i = count; i-- > 2;) {
        if (files[i].revents == 0 || answer(files[i].fd)) continue;
        close(files[i].fd);
        files[i] = files[--count];
      }
      if (files[1].revents == 0) continue;
      const int client = above_standard(accept4(listening_, nullptr, nullptr, SOCK_CLOEXEC));
      if (client < 0) {
        // Without a descriptor for it the client stays where it is, and poll() would return at
        // once: look again when some may have been given back.
        poll(files.data(), 1, kPause);
        continue;
      }
      profile::set_patience(client);
      if (count < files.size() && profile::is_peer_this_user(client)) {
        files[count++] = {client, POLLIN, 0};
      } else {
        close(client);
      }
    }
    for (std::size_t i = 2; i < count; ++i) close(files[i].fd);
  }

  /// Answers one question; false if the client is gone.
  static bool answer(int client) {
    char question = 0;
    if (recv(client, &question, 1, 0) != 1) return false;
    try {
      return profile::send_all(client, profile::watch_snapshot() + '\n');
    } catch (const std::exception&) {  // no memory for an answer: the client may ask again
      return false;
    }
  }

  static constexpr std::size_t kMostClients = 16;
  static constexpr int kPause = 100;  // milliseconds
  static inline std::atomic<bool> is_on{false};
  std::string path_;
  int listening_ = -1;
  int wake_[2] = {-1, -1};
  const pid_t pid_ = getpid();
  std::thread thread_;
};

Watch::Watch(Site site)
    : server_(mem::in_call("Watch", site, [] { return std::make_unique<Server>(); })) {}
Watch::~Watch() = default;
const std::string& Watch::socket() const { return server_->path(); }

}  // namespace tenure
