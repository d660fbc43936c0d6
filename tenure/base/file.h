#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace tenure {

/// A regular file, open for reading. What the system refuses is thrown as FileError.
class InputFile {
 public:
  explicit InputFile(std::string path);
  ~InputFile();
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  const std::string& path() const { return path_; }
  /// When it was opened.
  std::uint64_t size() const { return size_; }
  /// Fills `to` with what stands from `offset` on. Throws FormatError if the file ends before.
  void read_at(std::uint64_t offset, std::span<std::byte> to) const;
  int descriptor() const { return descriptor_; }

 private:
  std::string path_;
  int descriptor_;
  std::uint64_t size_ = 0;
};

/// A file as memory: the system reads each page when it is first touched. What is written to it
/// stays in this process. The file may be replaced or removed meanwhile; if another program cuts it
/// short in place, pages that are gone end the process when they are touched.
class MappedFile {
 public:
  explicit MappedFile(const InputFile& file);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  std::span<std::byte> bytes() const { return bytes_; }

 private:
  std::span<std::byte> bytes_;
};

// Note: old or new, nothing between
//
// Bytes go to a new file beside the old one, which nobody may look into who may not look into that.
// commit() has them on the disk (fsync), gives the new file the old one's name (rename, which the
// system does at once or not at all), and has the name on the disk (fsync of the folder). A program
// that ends anywhere before the rename leaves the old file.
//
// One that is killed leaves the new bytes too, as ".NAME.new-0", which nobody reads. Whoever writes
// such a file has it locked (flock); so the next writer sees that it is abandoned, and removes it.

/// Replaces a file as a whole, or not at all; see the Note. A link stays, and what it names is
/// replaced. Throws FileError; then the old file is untouched, unless the name alone could not be
/// put on the disk.
class AtomicFile {
 public:
  explicit AtomicFile(const std::string& path);
  /// Drops what was not committed.
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void write(std::span<const std::byte> bytes);
  void write(std::string_view text) { write(std::as_bytes(std::span(text))); }
  /// Over what was written at `offset` before.
  void overwrite(std::uint64_t offset, std::span<const std::byte> bytes);
  /// Bytes written so far.
  std::uint64_t size() const { return size_; }
  void commit();

 private:
  /// Makes and locks `temporary_`, unless that is another's.
  void claim(unsigned mode);
  void put(std::uint64_t offset, std::span<const std::byte> bytes);

  std::string path_;
  std::string temporary_;
  int descriptor_ = -1;
  std::uint64_t size_ = 0;
};

}  // namespace tenure
