#include "tenure/profile/file.h"

#include <errno.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <utility>

#include "tenure/base/descriptor.h"
#include "tenure/memory/ledger.h"
#include "tenure/profile/paths.h"
#include "tenure/profile/profile.h"

namespace tenure::profile {
namespace {

/// What a file may have: writing past the limit of a process would end it.
std::size_t at_most_the_limit(std::size_t capacity) {
  rlimit limit{};
  if (getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return capacity;
  return std::min<std::size_t>(capacity, limit.rlim_cur);
}

template <std::size_t n>
void copy_text(char (&to)[n], const std::string& text) {
  std::memcpy(to, text.data(), std::min(text.size(), n - 1));
}

}  // namespace

std::string program_path() {
  char buffer[4096];
  const ssize_t length = readlink("/proc/self/exe", buffer, sizeof buffer);
  return length <= 0 ? std::string("program")
                     : std::string(buffer, static_cast<std::size_t>(length));
}

void Chunk::commit(std::uint32_t bytes) noexcept {
  used += bytes;
  std::atomic_ref(header().committed).store(used, std::memory_order_release);
}

RecordingFile::RecordingFile(const std::string& path, std::size_t capacity)
    : max_chunks_(at_most_the_limit(capacity) / kChunkBytes), census_at_(max_chunks_ / 2) {
  const std::string program = seen_from(current_folder(), program_path());
  file_ = open_descriptor(path, O_RDWR | O_CREAT, 0600);
  if (file_ < 0) {
    throw ProfileError(
        fmt::format("Profile: {} cannot be written: {}", path, std::strerror(errno)));
  }
  struct stat status {};
  const bool is_file = fstat(file_, &status) == 0 && S_ISREG(status.st_mode);
  // Whoever writes to it has it mapped: to cut it would end that program.
  if (is_file && flock(file_, LOCK_EX | LOCK_NB) != 0) {
    close(file_);
    throw ProfileError(fmt::format(
        "Profile: {} is being written by another recording; \"%p\" in the name gives each process "
        "a file of its own",
        path));
  }
  // It tells of a program's inside, whatever was there before. Another user's file stays as it is.
  if (is_file && status.st_uid == geteuid()) static_cast<void>(fchmod(file_, 0600));
  if (!is_file || ftruncate(file_, 0) != 0 || map_next() == nullptr) {
    const int error = errno;
    close(file_);
    throw ProfileError(fmt::format("Profile: {} cannot be written: {}", path,
                                   is_file ? std::strerror(error) : "it is not a file"));
  }
  FileHeader& head = header();
  std::memcpy(head.magic, kMagic, sizeof kMagic);
  head.version = kVersion;
  head.byte_order = kByteOrder;
  head.chunk_bytes = kChunkBytes;
  head.pid = static_cast<std::uint32_t>(getpid());
  head.started_ns = std::chrono::duration_cast<std::chrono::nanoseconds>(
                        std::chrono::system_clock::now().time_since_epoch())
                        .count();
  head.base_bytes = mem::counts().bytes;
  copy_text(head.library, TENURE_VERSION);
  copy_text(head.program, program);
  head.head_check =
      checksum({reinterpret_cast<const std::byte*>(&head), offsetof(FileHeader, head_check)});
}

RecordingFile::~RecordingFile() {
  for (std::byte* const chunk : mapped_) munmap(chunk, kChunkBytes);
  if (file_ >= 0) close(file_);
}

std::byte* RecordingFile::map_next() noexcept try {
  const bool is_new = used_chunks_ < max_chunks_;
  if (!is_new && copies_.empty()) {
    errno = EFBIG;
    return nullptr;
  }
  mapped_.reserve(mapped_.size() + 1);
  const std::size_t place = is_new ? used_chunks_ : copies_.front().place;
  const auto offset = static_cast<off_t>(place * kChunkBytes);
  // The room is taken now: without it, a full disk would end the program when it writes.
  if (const int error = posix_fallocate(file_, offset, kChunkBytes); error != 0) {
    errno = error;
    return nullptr;
  }
  void* const chunk = mmap(nullptr, kChunkBytes, PROT_READ | PROT_WRITE, MAP_SHARED, file_, offset);
  if (chunk == MAP_FAILED) return nullptr;
  mapped_.push_back(static_cast<std::byte*>(chunk));
  if (is_new) {
    ++used_chunks_;
  } else {
    give_up_oldest();
  }
  note_length((place + 1) * kChunkBytes);
  return mapped_.back();
} catch (const std::bad_alloc&) {
  errno = ENOMEM;
  return nullptr;
}

void RecordingFile::begin(std::byte* chunk, ChunkKind kind, ThreadNumber thread,
                          std::int64_t time_ns, std::int64_t live_bytes) noexcept {
  auto& head = *reinterpret_cast<ChunkHeader*>(chunk);
  std::atomic_ref(head.committed).store(0, std::memory_order_release);
  head.sealed = 0;
  head.magic = kChunkMagic;
  head.kind = kind;
  head.thread = thread.number;
  head.life = thread.life;
  head.sequence = ++sequence_;
  head.time_ns = time_ns;
  head.live_bytes = live_bytes;
  head.head_check = checksum({chunk, offsetof(ChunkHeader, head_check)});
  header().duration_ns = std::max(header().duration_ns, time_ns);
}

Chunk RecordingFile::open(ChunkKind kind, ThreadNumber thread, std::int64_t time_ns,
                          std::int64_t live_bytes) noexcept {
  const std::lock_guard lock(mutex_);
  std::byte* const chunk = map_next();
  if (chunk != nullptr) begin(chunk, kind, thread, time_ns, live_bytes);
  return {chunk, 0};
}

std::size_t RecordingFile::place_for_copy() noexcept {
  if (used_chunks_ < max_chunks_) return used_chunks_++;
  return copies_.empty() ? 0 : give_up_oldest();
}

std::size_t RecordingFile::give_up_oldest() noexcept {
  const Copy oldest = copies_.front();
  copies_.pop_front();
  forget_before(oldest.end_ns, oldest.live_bytes);
  std::atomic_ref(header().recycled).fetch_add(1, std::memory_order_relaxed);
  return oldest.place;
}

void RecordingFile::note_length(std::size_t bytes) noexcept {
  header().file_bytes = std::max<std::uint64_t>(header().file_bytes, bytes);
}

void RecordingFile::forget_before(std::int64_t time_ns, std::int64_t live_bytes) noexcept {
  if (time_ns < header().horizon_ns) return;
  header().horizon_ns = time_ns;
  header().horizon_bytes = live_bytes;
}

bool RecordingFile::is_census_due() noexcept {
  const std::uint64_t copied = copied_.load(std::memory_order_relaxed);
  std::uint64_t due = census_at_.load(std::memory_order_relaxed);
  return copied >= due && census_at_.compare_exchange_strong(
                              due, copied + std::max<std::size_t>(max_chunks_ / 4, 1));
}

void RecordingFile::renew(Chunk& chunk, ThreadNumber thread, std::int64_t time_ns,
                          std::int64_t live_bytes) noexcept {
  ChunkHeader& head = chunk.header();
  head.checksum = checksum({chunk.payload(), chunk.used});
  head.sealed = 1;
  std::size_t place = 0;
  {
    const std::lock_guard lock(mutex_);
    place = place_for_copy();
  }
  const std::size_t bytes = sizeof(ChunkHeader) + chunk.used;
  const bool is_kept =
      place != 0 && pwrite(file_, chunk.begin, bytes, static_cast<off_t>(place * kChunkBytes)) ==
                        static_cast<ssize_t>(bytes);
  if (!is_kept) count_dropped(chunk.used / 24);  // about so many were in it
  const std::lock_guard lock(mutex_);
  if (is_kept) note_length(place * kChunkBytes + bytes);
  if (head.kind == ChunkKind::events) {
    if (!is_kept) forget_before(time_ns, live_bytes);
    copied_.fetch_add(1, std::memory_order_relaxed);
    try {
      if (place != 0) copies_.push_back({place, time_ns, live_bytes});
    } catch (const std::bad_alloc&) {  // then it does not give way
    }
  }
  begin(chunk.begin, head.kind, thread, time_ns, live_bytes);
  chunk.used = 0;
}

void RecordingFile::seal(Chunk& chunk) noexcept {
  if (chunk.begin == nullptr) return;
  ChunkHeader& head = chunk.header();
  head.checksum = checksum({chunk.payload(), chunk.used});
  std::atomic_ref(head.sealed).store(1, std::memory_order_release);
  chunk = {};
}

void RecordingFile::count_dropped(std::uint64_t events) noexcept {
  std::atomic_ref(header().dropped).fetch_add(events, std::memory_order_relaxed);
}

void RecordingFile::finish(std::int64_t duration_ns) noexcept {
  const std::lock_guard lock(mutex_);
  header().duration_ns = duration_ns;
  std::atomic_ref(header().finished).store(1, std::memory_order_release);
}

void RecordingFile::forget() noexcept {
  if (file_ >= 0) close(std::exchange(file_, -1));
}

}  // namespace tenure::profile
