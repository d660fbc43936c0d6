#include "tenure/base/descriptor.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace tenure {

int above_standard(int descriptor) {
  if (descriptor < 0 || descriptor > STDERR_FILENO) return descriptor;
  const int moved = fcntl(descriptor, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  const int problem = errno;
  close(descriptor);
  errno = problem;
  return moved;
}

int open_descriptor(const std::string& path, int flags, unsigned mode) {
  int opened = -1;
  do {
    opened = open(path.c_str(), flags | O_CLOEXEC, mode);
  } while (opened == -1 && errno == EINTR);
  return above_standard(opened);
}

std::ptrdiff_t read_descriptor(int descriptor, std::uint64_t offset, std::span<std::byte> to) {
  std::size_t there = 0;
  while (there < to.size()) {
    // The system moves at most 2 GiB in one call.
    const std::size_t step = std::min<std::size_t>(to.size() - there, std::size_t{1} << 30);
    const ssize_t got =
        pread(descriptor, to.data() + there, step, static_cast<off_t>(offset + there));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return -1;
    if (got == 0) break;
    there += static_cast<std::size_t>(got);
  }
  return static_cast<std::ptrdiff_t>(there);
}

}  // namespace tenure
