#include <fmt/format.h>
#include <zlib.h>

#include <limits>
#include <optional>

#include "tenure/base/error.h"
#include "tenure/io/deflate.h"
#include "tenure/io/zip.h"
#include "tenure/io/zip_fields.h"

namespace tenure::io {
namespace {

constexpr std::uint16_t kVersion = 45;     // of the format: the one with 64-bit sizes
constexpr std::uint16_t kFirstDay = 0x21;  // of the format's calendar; files must not depend on now
constexpr std::uint16_t kCount16 = 0xffff;  // a number that is elsewhere

/// What the header of an entry and its place in the list have in common.
void put_common(zip::Fields& fields, const ZipEntry& entry) {
  fields.put(kVersion)
      .put(zip::kUtf8)
      .put(entry.deflated ? zip::kDeflated : zip::kStored)
      .put(std::uint16_t{0})
      .put(kFirstDay)
      .put(entry.checksum)
      .put(zip::kElsewhere)
      .put(zip::kElsewhere)
      .put(static_cast<std::uint16_t>(entry.name.size()));
}

std::string local_header(const ZipEntry& entry) {
  zip::Fields fields;
  fields.put(zip::kLocalHeader);
  put_common(fields, entry);
  fields.put(std::uint16_t{20}).put_text(entry.name);
  fields.put(zip::kExtra64).put(std::uint16_t{16}).put(entry.size).put(entry.end - entry.begin);
  return fields.text();
}

std::string listed_entry(const ZipEntry& entry, std::uint64_t header) {
  constexpr std::uint16_t kUnix = 3 << 8;
  constexpr std::uint32_t kPlainFile = 0100644u << 16;
  zip::Fields fields;
  fields.put(zip::kListedEntry).put(static_cast<std::uint16_t>(kUnix | kVersion));
  put_common(fields, entry);
  fields.put(std::uint16_t{28})
      .put(std::uint16_t{0})
      .put(std::uint16_t{0})
      .put(std::uint16_t{0})
      .put(kPlainFile)
      .put(zip::kElsewhere)
      .put_text(entry.name);
  fields.put(zip::kExtra64)
      .put(std::uint16_t{24})
      .put(entry.size)
      .put(entry.end - entry.begin)
      .put(header);
  return fields.text();
}

}  // namespace

void ZipWriter::add(const std::string& name, bool deflated,
                    std::span<const std::span<const std::byte>> parts) {
  if (name.size() > std::numeric_limits<std::uint16_t>::max()) {
    throw ValueError(fmt::format("a name of {} bytes does not fit in a zip archive", name.size()));
  }
  Added added{.entry = {.name = name, .deflated = deflated}, .header = file_.size()};
  ZipEntry& entry = added.entry;
  file_.write(local_header(entry));
  entry.begin = file_.size();
  std::optional<Deflater> deflater;
  if (deflated) deflater.emplace(file_);
  for (const std::span<const std::byte> part : parts) {
    entry.size += part.size();
    entry.checksum = static_cast<std::uint32_t>(
        crc32_z(entry.checksum, reinterpret_cast<const Bytef*>(part.data()), part.size()));
    if (deflated) {
      deflater->write(part);
    } else {
      file_.write(part);
    }
  }
  if (deflated) deflater->finish();
  entry.end = file_.size();
  const std::string header = local_header(entry);  // size and checksum are known only now
  file_.overwrite(added.header, std::as_bytes(std::span(header)));
  entries_.push_back(std::move(added));
}

void ZipWriter::finish() {
  const std::uint64_t begin = file_.size();
  for (const Added& added : entries_) file_.write(listed_entry(added.entry, added.header));
  const std::uint64_t end = file_.size();
  zip::Fields fields;
  fields.put(zip::kEnd64)
      .put(std::uint64_t{zip::kEnd64Size - 12})  // of what follows in this record
      .put(kVersion)
      .put(kVersion)
      .put(std::uint32_t{0})
      .put(std::uint32_t{0})
      .put(std::uint64_t{entries_.size()})
      .put(std::uint64_t{entries_.size()})
      .put(end - begin)
      .put(begin);
  fields.put(zip::kEnd64Place).put(std::uint32_t{0}).put(end).put(std::uint32_t{1});
  fields.put(zip::kEnd)
      .put(std::uint16_t{0})
      .put(std::uint16_t{0})
      .put(kCount16)
      .put(kCount16)
      .put(zip::kElsewhere)
      .put(zip::kElsewhere)
      .put(std::uint16_t{0});
  file_.write(fields.text());
}

}  // namespace tenure::io
