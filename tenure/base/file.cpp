#include "tenure/base/file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <filesystem>
#include <utility>

#include "tenure/base/descriptor.h"
#include "tenure/base/error.h"

namespace tenure {
namespace {

/// Calls `f` until no signal interrupts it.
template <class F>
auto uninterrupted(const F& f) {
  auto result = f();
  while (result == -1 && errno == EINTR) result = f();
  return result;
}

/// What a path names in the end, so that a link to a file stays one.
std::string followed(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::is_symlink(path, error)) return path;
  const std::filesystem::path target = std::filesystem::canonical(path, error);
  if (error) throw FileError("follow the link", path, error.value());
  return target.string();
}

/// On the disk, and not only in the system's memory.
bool sync(int descriptor) {
  return uninterrupted([&] { return fsync(descriptor); }) == 0;
}

/// A name beside `path`. It may be cut: the lock, not the name, says whose the file is.
std::string name_beside(const std::filesystem::path& path, int number) {
  const std::string end = fmt::format(".new-{}", number);
  const std::string name = path.filename().string().substr(0, NAME_MAX - 1 - end.size());
  return (path.parent_path() / fmt::format(".{}{}", name, end)).string();
}

/// Whether `path` still names the open file.
bool has_name(int descriptor, const std::string& path) {
  struct stat open {};
  struct stat named {};
  return fstat(descriptor, &open) == 0 && lstat(path.c_str(), &named) == 0 &&
         open.st_ino == named.st_ino && open.st_dev == named.st_dev;
}

/// Removes a new file whose writer was killed.
void remove_abandoned(const std::string& path) {
  const int opened = open_descriptor(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  if (opened == -1) return;
  struct stat status {};
  const bool is_own =
      fstat(opened, &status) == 0 && S_ISREG(status.st_mode) && status.st_uid == geteuid();
  if (is_own && flock(opened, LOCK_EX | LOCK_NB) == 0 && has_name(opened, path)) {
    unlink(path.c_str());
  }
  close(opened);
}

/// Gives a new file the owner, group and rights of the old one. Where the system does not let it
/// have the group, that of the new file has no more rights than everybody: it may be another's.
/// Rights that cannot be kept are no reason to keep the data from the disk.
void take_rights(int descriptor, const struct stat& old) {
  mode_t mode = old.st_mode & 0777;
  if (fchown(descriptor, old.st_uid, old.st_gid) != 0 &&
      fchown(descriptor, static_cast<uid_t>(-1), old.st_gid) != 0) {
    mode &= ~070U | (mode & 07) << 3;
  }
  static_cast<void>(fchmod(descriptor, mode));
}

}  // namespace

InputFile::InputFile(std::string path)
    : path_(std::move(path)),
      // Else the opening of a pipe would wait for its writer.
      descriptor_(open_descriptor(path_, O_RDONLY | O_NONBLOCK)) {
  if (descriptor_ == -1) throw FileError("open", path_, errno);
  struct stat status {};
  int problem = fstat(descriptor_, &status) == 0 ? 0 : errno;
  if (problem == 0 && !S_ISREG(status.st_mode)) problem = S_ISDIR(status.st_mode) ? EISDIR : EINVAL;
  if (problem != 0) {
    close(descriptor_);
    throw FileError("read", path_, problem);
  }
  size_ = static_cast<std::uint64_t>(status.st_size);
}

InputFile::~InputFile() { close(descriptor_); }

void InputFile::read_at(std::uint64_t offset, std::span<std::byte> to) const {
  const std::uint64_t left = offset < size_ ? size_ - offset : 0;
  if (to.size() > left) {
    throw FormatError(
        path_, size_,
        fmt::format("the file ends, and {} more bytes are expected", to.size() - left));
  }
  const std::ptrdiff_t got = read_descriptor(descriptor_, offset, to);
  if (got < 0) throw FileError("read", path_, errno);
  if (const auto there = static_cast<std::size_t>(got); there < to.size()) {
    throw FormatError(path_, offset + there, "the file became shorter while it was read");
  }
}

MappedFile::MappedFile(const InputFile& file) {
  if (file.size() == 0) return;
  const auto size = static_cast<std::size_t>(file.size());
  // Writable, as tensors are: a page that is written to becomes a copy of this process's.
  void* const memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_NORESERVE,
                            file.descriptor(), 0);
  if (memory == MAP_FAILED) throw FileError("map", file.path(), errno);
  bytes_ = {static_cast<std::byte*>(memory), size};
}

MappedFile::~MappedFile() {
  if (!bytes_.empty()) munmap(bytes_.data(), bytes_.size());
}

AtomicFile::AtomicFile(const std::string& path) : path_(followed(path)) {
  struct stat status {};
  const bool exists = stat(path_.c_str(), &status) == 0;
  if (!exists && errno == ENAMETOOLONG) throw FileError("write", path_, errno);
  // Renaming over a device or a pipe would remove it.
  if (exists && !S_ISREG(status.st_mode)) {
    throw FileError("replace", path_, S_ISDIR(status.st_mode) ? EISDIR : EINVAL);
  }
  for (int number = 0; descriptor_ == -1; ++number) {
    temporary_ = name_beside(path_, number);
    remove_abandoned(temporary_);
    // Nobody may look into it who may not look into the old one.
    claim(exists ? 0600 : 0666);
  }
  if (exists) take_rights(descriptor_, status);
}

void AtomicFile::claim(unsigned mode) {
  descriptor_ = open_descriptor(temporary_, O_RDWR | O_CREAT | O_EXCL, mode);
  if (descriptor_ == -1) {
    if (errno != EEXIST) throw FileError("write", path_, errno);
    return;
  }
  // Just now somebody may have taken it for abandoned. Where there are no locks, nobody does.
  const bool is_locked = flock(descriptor_, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK;
  if (!is_locked || !has_name(descriptor_, temporary_)) close(std::exchange(descriptor_, -1));
}

AtomicFile::~AtomicFile() {
  if (descriptor_ == -1) return;
  unlink(temporary_.c_str());  // while it is locked: afterwards the name may be another's
  close(descriptor_);
}

void AtomicFile::put(std::uint64_t offset, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const std::size_t step = std::min<std::size_t>(bytes.size(), std::size_t{1} << 30);
    const ssize_t put = uninterrupted(
        [&] { return pwrite(descriptor_, bytes.data(), step, static_cast<off_t>(offset)); });
    if (put == -1) throw FileError("write", path_, errno);
    bytes = bytes.subspan(static_cast<std::size_t>(put));
    offset += static_cast<std::uint64_t>(put);
  }
}

void AtomicFile::write(std::span<const std::byte> bytes) {
  put(size_, bytes);
  size_ += bytes.size();
}

void AtomicFile::overwrite(std::uint64_t offset, std::span<const std::byte> bytes) {
  internal_check(offset + bytes.size() <= size_, "only what was written is overwritten");
  put(offset, bytes);
}

void AtomicFile::commit() {
  if (!sync(descriptor_)) throw FileError("write", path_, errno);
  if (rename(temporary_.c_str(), path_.c_str()) != 0) throw FileError("replace", path_, errno);
  close(std::exchange(descriptor_, -1));
  const std::string folder = std::filesystem::path(path_).parent_path().string();
  const int opened = open_descriptor(folder.empty() ? "." : folder, O_RDONLY | O_DIRECTORY);
  const bool is_safe = opened != -1 && (sync(opened) || errno == EINVAL);  // some have no such sync
  const int problem = errno;
  if (opened != -1) close(opened);
  if (!is_safe) throw FileError("have the new name on the disk of", path_, problem);
}

}  // namespace tenure
