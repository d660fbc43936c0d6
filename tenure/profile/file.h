#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <string>
#include <vector>

#include "tenure/profile/format.h"

namespace tenure::profile {

/// The file of this program.
std::string program_path();

/// A chunk in the making, mapped.
struct Chunk {
  std::byte* begin = nullptr;  ///< nullptr: there is no room
  std::uint32_t used = 0;      ///< of its payload

  ChunkHeader& header() const { return *reinterpret_cast<ChunkHeader*>(begin); }
  std::byte* payload() const { return begin + sizeof(ChunkHeader); }
  bool has_room(std::size_t bytes) const {
    return begin != nullptr && used + bytes <= kPayloadBytes;
  }
  /// Makes all that was written before readable.
  void commit(std::uint32_t bytes) noexcept;
};

/// A thread: the number that it has in reports, and which of those it is that had the number.
struct ThreadNumber {
  std::uint32_t number = 0;
  std::uint32_t life = 0;
};

/// The file that a recording goes to. Any thread may call anything.
class RecordingFile {
 public:
  /// Makes or replaces the file. Throws ProfileError.
  RecordingFile(const std::string& path, std::size_t capacity);
  ~RecordingFile();
  RecordingFile(const RecordingFile&) = delete;
  RecordingFile& operator=(const RecordingFile&) = delete;

  /// A chunk to fill; without room where the disk or the file is full.
  Chunk open(ChunkKind kind, ThreadNumber thread, std::int64_t time_ns,
             std::int64_t live_bytes) noexcept;
  /// Puts what is in the chunk away and empties it, for what this thread writes.
  void renew(Chunk& chunk, ThreadNumber thread, std::int64_t time_ns,
             std::int64_t live_bytes) noexcept;
  /// Nothing more comes into it.
  void seal(Chunk& chunk) noexcept;
  void count_dropped(std::uint64_t events) noexcept;
  /// True, once each time that what is live should be told anew: before older events give way to
  /// newer ones, and again whenever a quarter of the file is new.
  bool is_census_due() noexcept;
  std::size_t capacity() const { return max_chunks_ * kChunkBytes; }
  /// Says that it ends here.
  void finish(std::int64_t duration_ns) noexcept;
  /// In a child process: the file is the parent's.
  void forget() noexcept;

 private:
  FileHeader& header() const { return *reinterpret_cast<FileHeader*>(mapped_.front()); }
  /// Maps the next chunk of the file, or that of the oldest copy; nullptr if there is no room.
  std::byte* map_next() noexcept;
  /// Where a copy may go; 0: nowhere.
  std::size_t place_for_copy() noexcept;
  /// The place of the oldest copy, of which there is one.
  std::size_t give_up_oldest() noexcept;
  /// There are bytes up to here: whoever finds fewer has a part of the file.
  void note_length(std::size_t bytes) noexcept;
  /// Events before this moment are missing.
  void forget_before(std::int64_t time_ns, std::int64_t live_bytes) noexcept;
  void begin(std::byte* chunk, ChunkKind kind, ThreadNumber thread, std::int64_t time_ns,
             std::int64_t live_bytes) noexcept;

  std::mutex mutex_;  // of all below
  int file_ = -1;
  const std::size_t max_chunks_;
  std::size_t used_chunks_ = 0;
  std::uint64_t sequence_ = 0;
  std::vector<std::byte*> mapped_;  // the header first
  /// Of events: where it is, when it ended and what was live then.
  struct Copy {
    std::size_t place;
    std::int64_t end_ns;
    std::int64_t live_bytes;
  };
  std::deque<Copy> copies_;               // the oldest first
  std::atomic<std::uint64_t> copied_{0};  // that there ever were
  std::atomic<std::uint64_t> census_at_;  // due when there were so many
};

}  // namespace tenure::profile
