#include "tenure/io/byte_source.h"

#include <fmt/format.h>

#include <algorithm>

#include "tenure/base/error.h"

namespace tenure::io {

void ByteSource::read_all(std::span<std::byte> to, const char* what) {
  const std::size_t got = read(to);
  if (got < to.size()) {
    throw FormatError(
        path(), offset(),
        fmt::format("the data ends within {}: {} of {} bytes are there", what, got, to.size()));
  }
}

void ByteSource::expect_end(const char* what) {
  std::byte more{};
  const std::uint64_t at = offset();
  if (read({&more, 1}) != 0)
    throw FormatError(path(), at, fmt::format("{} has bytes after its end", what));
}

std::size_t FilePart::read(std::span<std::byte> to) {
  const auto size = static_cast<std::size_t>(std::min<std::uint64_t>(to.size(), end_ - at_));
  file_.read_at(at_, to.first(size));
  at_ += size;
  return size;
}

std::unique_ptr<ByteSource> open_source(const InputFile& file) {
  std::byte magic[2]{};
  if (file.size() >= 2) file.read_at(0, magic);
  if (magic[0] == std::byte{0x1f} && magic[1] == std::byte{0x8b}) {
    return inflated(file, 0, file.size(), Wrapper::gzip);
  }
  return std::make_unique<FilePart>(file, 0, file.size());
}

}  // namespace tenure::io
