#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <set>
#include <string_view>

#include "tenure/base/error.h"
#include "tenure/io/zip.h"
#include "tenure/io/zip_fields.h"

namespace tenure::io {
namespace {

/// Where the list of entries is.
struct List {
  std::uint64_t offset = 0;
  std::uint64_t size = 0;
  std::uint64_t entries = 0;
};

std::string read_record(const InputFile& file, std::uint64_t offset, std::uint64_t size) {
  if (offset > file.size() || size > file.size() - offset) {
    throw FormatError(
        file.path(), file.size(),
        fmt::format("the archive ends before a record of {} bytes at byte {}", size, offset));
  }
  std::string record(static_cast<std::size_t>(size), '\0');
  file.read_at(offset, std::as_writable_bytes(std::span(record)));
  return record;
}

/// The archive's last record says where the list is; a comment may follow it.
List find_list(const InputFile& file) {
  constexpr std::uint64_t kLongestComment = 0xffff;
  const std::uint64_t tail_size =
      std::min<std::uint64_t>(file.size(), zip::kEndSize + kLongestComment);
  const std::uint64_t tail_begin = file.size() - tail_size;
  const std::string tail = read_record(file, tail_begin, tail_size);
  for (std::size_t at = tail.size() + 1 - std::min(tail.size() + 1, zip::kEndSize); at-- > 0;) {
    if (zip::read<std::uint32_t>(tail, at) != zip::kEnd) continue;
    if (zip::read<std::uint16_t>(tail, at + 20) != tail.size() - at - zip::kEndSize) continue;
    List list{.offset = zip::read<std::uint32_t>(tail, at + 16),
              .size = zip::read<std::uint32_t>(tail, at + 12),
              .entries = zip::read<std::uint16_t>(tail, at + 10)};
    const std::uint64_t end = tail_begin + at;
    if (end < zip::kEnd64PlaceSize) return list;
    const std::string place = read_record(file, end - zip::kEnd64PlaceSize, zip::kEnd64PlaceSize);
    if (zip::read<std::uint32_t>(place, 0) != zip::kEnd64Place) return list;
    const auto at64 = zip::read<std::uint64_t>(place, 8);
    const std::string end64 = read_record(file, at64, zip::kEnd64Size);
    if (zip::read<std::uint32_t>(end64, 0) != zip::kEnd64) {
      throw FormatError(file.path(), at64, "the archive's end record is missing");
    }
    return {.offset = zip::read<std::uint64_t>(end64, 48),
            .size = zip::read<std::uint64_t>(end64, 40),
            .entries = zip::read<std::uint64_t>(end64, 32)};
  }
  throw FormatError(file.path(), file.size(), "this is no zip archive, or it was cut short");
}

/// Replaces numbers that are in the extra field by what stands there.
void read_extra(std::string_view extra, ZipEntry& entry, std::uint64_t& compressed,
                std::uint64_t& header) {
  while (extra.size() >= 4) {
    const auto size = std::size_t{zip::read<std::uint16_t>(extra, 2)};
    const bool is_sizes = zip::read<std::uint16_t>(extra, 0) == zip::kExtra64;
    std::string_view field = extra.substr(4, size);
    extra.remove_prefix(std::min(extra.size(), 4 + size));
    if (!is_sizes) continue;
    for (std::uint64_t* const number : {&entry.size, &compressed, &header}) {
      if (*number != zip::kElsewhere || field.size() < 8) continue;
      *number = zip::read<std::uint64_t>(field, 0);
      field.remove_prefix(8);
    }
  }
}

/// Where the bytes of an entry begin: behind a header of its own, whose length varies.
std::uint64_t content_of(const InputFile& file, std::uint64_t header, const std::string& name) {
  const std::string record = read_record(file, header, zip::kLocalHeaderSize);
  if (zip::read<std::uint32_t>(record, 0) != zip::kLocalHeader) {
    throw FormatError(file.path(), header, fmt::format("\"{}\" has no header here", name));
  }
  return header + zip::kLocalHeaderSize + zip::read<std::uint16_t>(record, 26) +
         zip::read<std::uint16_t>(record, 28);
}

/// Reads the entry at `at` of the list, and moves on to the next.
ZipEntry read_entry(const InputFile& file, std::string_view list, std::size_t& at,
                    std::uint64_t list_begin) {
  const auto fail = [&](const std::string& problem) {
    throw FormatError(file.path(), list_begin + at, problem);
  };
  if (list.size() - at < zip::kListedEntrySize ||
      zip::read<std::uint32_t>(list, at) != zip::kListedEntry) {
    fail("the list of entries is damaged");
  }
  const std::string_view record = list.substr(at);
  const auto name_size = std::size_t{zip::read<std::uint16_t>(record, 28)};
  const auto extra_size = std::size_t{zip::read<std::uint16_t>(record, 30)};
  const auto comment_size = std::size_t{zip::read<std::uint16_t>(record, 32)};
  const std::size_t whole = zip::kListedEntrySize + name_size + extra_size + comment_size;
  if (record.size() < whole) fail("the list of entries ends within an entry");

  ZipEntry entry;
  entry.name = record.substr(zip::kListedEntrySize, name_size);
  entry.checksum = zip::read<std::uint32_t>(record, 16);
  entry.size = zip::read<std::uint32_t>(record, 24);
  std::uint64_t compressed = zip::read<std::uint32_t>(record, 20);
  std::uint64_t header = zip::read<std::uint32_t>(record, 42);
  read_extra(record.substr(zip::kListedEntrySize + name_size, extra_size), entry, compressed,
             header);

  const auto method = zip::read<std::uint16_t>(record, 10);
  if ((zip::read<std::uint16_t>(record, 8) & zip::kEncrypted) != 0) {
    fail(fmt::format("\"{}\" is encrypted", entry.name));
  }
  if (method != zip::kStored && method != zip::kDeflated) {
    fail(fmt::format("\"{}\" is compressed by method {}, which is not supported", entry.name,
                     method));
  }
  entry.deflated = method == zip::kDeflated;
  entry.begin = content_of(file, header, entry.name);
  if (entry.begin > file.size() || compressed > file.size() - entry.begin) {
    fail(fmt::format("\"{}\" lies outside of the archive", entry.name));
  }
  entry.end = entry.begin + compressed;
  if (!entry.deflated && entry.size != compressed) {
    fail(fmt::format("\"{}\" is stored in {} bytes and claims {}", entry.name, compressed,
                     entry.size));
  }
  at += whole;
  return entry;
}

/// An entry with its size and its checksum held to.
class CheckedEntry final : public ByteSource {
 public:
  CheckedEntry(const ZipEntry& entry, std::unique_ptr<ByteSource> bytes)
      : entry_(entry), bytes_(std::move(bytes)), left_(entry.size) {}

  std::size_t read(std::span<std::byte> to) override;
  std::uint64_t offset() const override { return bytes_->offset(); }
  const std::string& path() const override { return bytes_->path(); }
  std::uint64_t at_most() const override { return std::min(left_, bytes_->at_most()); }

 private:
  ZipEntry entry_;
  std::unique_ptr<ByteSource> bytes_;
  std::uint64_t left_;
  std::uint32_t checksum_ = 0;
};

std::size_t CheckedEntry::read(std::span<std::byte> to) {
  const std::size_t got = bytes_->read(to);
  if (got > left_) {
    throw FormatError(path(), offset(),
                      fmt::format("\"{}\" is longer than its {} bytes", entry_.name, entry_.size));
  }
  left_ -= got;
  checksum_ = static_cast<std::uint32_t>(
      crc32_z(checksum_, reinterpret_cast<const Bytef*>(to.data()), got));
  if (got < to.size() && (left_ != 0 || checksum_ != entry_.checksum)) {
    throw FormatError(path(), offset(),
                      fmt::format("\"{}\" is damaged: it has another length or checksum than its "
                                  "entry says",
                                  entry_.name));
  }
  return got;
}

}  // namespace

std::vector<ZipEntry> read_zip(const InputFile& file) {
  const List place = find_list(file);
  const std::string list = read_record(file, place.offset, place.size);
  std::vector<ZipEntry> entries;
  std::set<std::string_view> names;
  for (std::size_t at = 0; at < list.size();) {
    entries.push_back(read_entry(file, list, at, place.offset));
  }
  if (entries.size() != place.entries) {
    throw FormatError(
        file.path(), place.offset,
        fmt::format("the archive lists {} entries and claims {}", entries.size(), place.entries));
  }
  std::sort(entries.begin(), entries.end(),
            [](const ZipEntry& a, const ZipEntry& b) { return a.begin < b.begin; });
  std::uint64_t end = 0;
  for (const ZipEntry& entry : entries) {
    if (!names.insert(entry.name).second) {
      throw FormatError(file.path(), entry.begin,
                        fmt::format("two entries have the name \"{}\"", entry.name));
    }
    if (entry.begin < end) {
      throw FormatError(file.path(), entry.begin,
                        fmt::format("\"{}\" overlaps another entry", entry.name));
    }
    end = entry.end;
  }
  return entries;
}

std::unique_ptr<ByteSource> open_entry(const InputFile& file, const ZipEntry& entry) {
  std::unique_ptr<ByteSource> bytes;
  if (entry.deflated) {
    bytes = inflated(file, entry.begin, entry.end, Wrapper::none);
  } else {
    bytes = std::make_unique<FilePart>(file, entry.begin, entry.end);
  }
  return std::make_unique<CheckedEntry>(entry, std::move(bytes));
}

}  // namespace tenure::io
