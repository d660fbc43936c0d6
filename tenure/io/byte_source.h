#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "tenure/base/file.h"

namespace tenure::io {

/// Bytes of a file from front to back, as they stand there or decompressed.
class ByteSource {
 public:
  virtual ~ByteSource() = default;

  /// The next bytes; fewer than asked for only at the end.
  virtual std::size_t read(std::span<std::byte> to) = 0;
  /// Where in the file reading stands.
  virtual std::uint64_t offset() const = 0;
  virtual const std::string& path() const = 0;
  /// At most this many bytes are still to come, whatever the file claims.
  virtual std::uint64_t at_most() const = 0;

  /// Throws FormatError if the end comes before `to` is full; `what` is being read.
  void read_all(std::span<std::byte> to, const char* what);
  /// Throws FormatError unless all was read; `what` ends here.
  void expect_end(const char* what);
};

/// Bytes [begin, end) of a file.
class FilePart final : public ByteSource {
 public:
  FilePart(const InputFile& file, std::uint64_t begin, std::uint64_t end)
      : file_(file), at_(begin), end_(end) {}

  std::size_t read(std::span<std::byte> to) override;
  std::uint64_t offset() const override { return at_; }
  const std::string& path() const override { return file_.path(); }
  std::uint64_t at_most() const override { return end_ - at_; }

 private:
  const InputFile& file_;
  std::uint64_t at_;
  std::uint64_t end_;
};

enum class Wrapper : std::uint8_t { none, gzip };

/// What was compressed into bytes [begin, end) of a file by the method deflate. Its state lies in
/// Tenure's pool.
std::unique_ptr<ByteSource> inflated(const InputFile& file, std::uint64_t begin, std::uint64_t end,
                                     Wrapper wrapper);

/// A file as it is, or decompressed if it begins as gzip's files do.
std::unique_ptr<ByteSource> open_source(const InputFile& file);

}  // namespace tenure::io
