#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tenure/base/file.h"
#include "tenure/io/byte_source.h"

namespace tenure::io {

/// One file of an archive, checked against the file that it stands in.
struct ZipEntry {
  std::string name;
  bool deflated = false;
  std::uint32_t checksum = 0;
  std::uint64_t begin = 0;  ///< of its bytes in the archive
  std::uint64_t end = 0;
  std::uint64_t size = 0;  ///< once decompressed
};

// Reading is in zip_read.cpp.

/// The entries of a zip archive in the order of their bytes. Throws FormatError for entries that
/// overlap, lie outside, share a name, are encrypted, or claim more than their bytes can hold.
std::vector<ZipEntry> read_zip(const InputFile& file);

/// The content of an entry; reading past its size or to an end with another checksum throws
/// FormatError.
std::unique_ptr<ByteSource> open_entry(const InputFile& file, const ZipEntry& entry);

/// Writes a zip archive, with 64 bits for every size. In zip_write.cpp.
class ZipWriter {
 public:
  explicit ZipWriter(AtomicFile& file) : file_(file) {}

  /// Adds a file of these parts, one after the other. Throws ValueError for a name over 65535
  /// bytes.
  void add(const std::string& name, bool deflated,
           std::span<const std::span<const std::byte>> parts);
  /// Writes the list of entries; nothing may follow.
  void finish();

 private:
  struct Added {
    ZipEntry entry;
    std::uint64_t header;  // where it begins
  };
  AtomicFile& file_;
  std::vector<Added> entries_;
};

}  // namespace tenure::io
