#pragma once

#include <memory>
#include <string>

#include "tenure/base/site.h"

namespace tenure {

/// While it lives, `tenure watch PID` shows what this program holds. It listens on a local socket
/// that its user alone can reach, and costs nothing while nobody looks. A child process that is
/// forked is not watched. TENURE_WATCH=1 in the
/// environment does the same for a whole program.
class Watch {
 public:
  /// Throws ProfileError if the socket cannot be made, or while another one is on.
  explicit Watch(Site site = Site::current());
  ~Watch();
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

  const std::string& socket() const;

 private:
  class Server;
  std::unique_ptr<Server> server_;
};

}  // namespace tenure

namespace tenure::profile {

/// The socket of a process of this user. Throws ProfileError if its folder is not safe.
std::string watch_socket(long pid);

/// One line of JSON: of each device the ledger's counters, what others have of its memory, and the
/// largest holders by op and line.
std::string watch_snapshot();

/// Asks a process that is watched for snapshots.
class WatchClient {
 public:
  /// Throws ProfileError if there is no such process, it is not watched, or the socket is another
  /// user's.
  explicit WatchClient(long pid);
  ~WatchClient();
  WatchClient(const WatchClient&) = delete;
  WatchClient& operator=(const WatchClient&) = delete;

  /// The next snapshot; empty when the process has ended. Throws ProfileError if it does not
  /// answer.
  std::string snapshot();

 private:
  long pid_;
  int socket_ = -1;
};

}  // namespace tenure::profile
