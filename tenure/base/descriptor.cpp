#include "tenure/base/descriptor.h"

#include <fcntl.h>
#include <unistd.h>

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

}  // namespace tenure
