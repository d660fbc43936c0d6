#include "tenure/profile/recording_input.h"

#include <errno.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "tenure/base/descriptor.h"
#include "tenure/base/units.h"
#include "tenure/profile/format.h"
#include "tenure/profile/profile.h"

namespace tenure::profile {
namespace {

constexpr std::uint64_t kMostTaken = 1024 * MiB;  // into memory

[[noreturn]] void throw_unreadable(const std::string& path, int error) {
  throw ProfileError(fmt::format("{} cannot be read: {}", path, std::strerror(error)));
}

}  // namespace

RecordingInput::RecordingInput(std::string path) : path_(std::move(path)) {
  file_ = open_descriptor(path_, O_RDONLY);
  if (file_ < 0) throw_unreadable(path_, errno);
  struct stat status {};
  if (fstat(file_, &status) == 0 && S_ISREG(status.st_mode)) {
    size_ = static_cast<std::uint64_t>(status.st_size);
    return;
  }
  try {
    take_all();
  } catch (...) {
    close(file_);
    throw;
  }
}

RecordingInput::~RecordingInput() { close(file_); }

void RecordingInput::take_all() {
  constexpr std::size_t kPart = 1024 * 1024;
  for (;;) {
    taken_.resize(size_ + kPart);
    const ssize_t got = ::read(file_, taken_.data() + size_, kPart);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw_unreadable(path_, errno);
    size_ += static_cast<std::uint64_t>(got);
    if (got == 0) break;
    // What is no recording is not taken to its end: it may have none.
    const std::size_t known = std::min<std::uint64_t>(size_, sizeof kMagic);
    if (std::memcmp(taken_.data(), kMagic, known) != 0) break;
    if (size_ > kMostTaken) {
      throw ProfileError(
          fmt::format("{} gives more than {}, and cannot be read twice: save it to a file first",
                      path_, format_bytes(static_cast<std::int64_t>(kMostTaken))));
    }
  }
  taken_.resize(size_);
  is_taken_ = true;
}

std::size_t RecordingInput::read(std::uint64_t offset, std::span<std::byte> to) const {
  if (is_taken_) {
    const std::size_t begin = std::min<std::uint64_t>(offset, taken_.size());
    const std::size_t there = std::min(to.size(), taken_.size() - begin);
    std::memcpy(to.data(), taken_.data() + begin, there);
    return there;
  }
  const std::ptrdiff_t got = read_descriptor(file_, offset, to);
  if (got < 0) throw_unreadable(path_, errno);
  return static_cast<std::size_t>(got);
}

}  // namespace tenure::profile
