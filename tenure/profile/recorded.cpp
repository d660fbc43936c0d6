#include "tenure/profile/recorded.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <queue>

#include "tenure/tensor/dtype.h"

namespace tenure::profile {
namespace {

// Numbers are given from 1 up without gaps; a damaged one must not take all memory.
constexpr std::uint32_t kMostDefinitions = 1u << 26;

template <class T>
T read(const std::byte* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

std::vector<std::byte> read_file(const std::string& path) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"),
                                                             std::fclose);
  if (file == nullptr) {
    throw ProfileError(fmt::format("{} cannot be read: {}", path, std::strerror(errno)));
  }
  std::vector<std::byte> bytes;
  constexpr std::size_t kPart = 16 * 1024 * 1024;
  for (;;) {
    const std::size_t before = bytes.size();
    bytes.resize(before + kPart);
    const std::size_t got = std::fread(bytes.data() + before, 1, kPart, file.get());
    bytes.resize(before + got);
    if (std::ferror(file.get()) != 0) {
      throw ProfileError(fmt::format("{} cannot be read: {}", path, std::strerror(errno)));
    }
    if (got < kPart) return bytes;
  }
}

/// Text of a field that may have no end.
template <std::size_t n>
std::string text(const char (&field)[n]) {
  return std::string(field, strnlen(field, n));
}

/// Makes `list[number]` exist; false if that is absurd.
template <class T>
bool make_room(std::vector<T>& list, std::uint32_t number, std::size_t file_bytes) {
  // Each definition takes at least its head in the file.
  if (number >= kMostDefinitions || number > file_bytes / sizeof(DefinitionHead)) return false;
  if (number >= list.size()) list.resize(number + 1);
  return true;
}

template <class T>
const T& at_or_first(const std::vector<T>& list, std::uint64_t number) {
  return number < list.size() ? list[number] : list.front();
}

}  // namespace

std::string place_text(const Origin& origin) {
  if (origin.file.empty()) return "unknown";
  return fmt::format("{}:{}", origin.file.substr(origin.file.find_last_of('/') + 1), origin.line);
}

std::string to_string(const Layout& layout) {
  if (layout.dtype < 0) return "";
  return fmt::format("{}[{}]", name_of(static_cast<DType>(layout.dtype)),
                     fmt::join(layout.shape, ", "));
}

Recorded::Recorded(const std::string& file)
    : path(file), bytes_(read_file(file)), strings_(1), raw_origins_(1), origins_(1), layouts_(1) {
  read_header();
  for (std::size_t begin = kChunkBytes; begin < bytes_.size(); begin += kChunkBytes) {
    read_chunk(begin);
  }
  std::stable_sort(pieces_.begin(), pieces_.end(), [](const Piece& a, const Piece& b) {
    return a.thread != b.thread ? a.thread < b.thread : a.sequence < b.sequence;
  });
  if (recycled != 0 && !pieces_.empty()) {
    base_bytes = std::min_element(pieces_.begin(), pieces_.end(), [](const auto& a, const auto& b) {
                   return a.sequence < b.sequence;
                 })->live_bytes;
  }
  check_references();
}

void Recorded::read_header() {
  if (bytes_.size() < sizeof(FileHeader)) {
    const bool is_begun =
        bytes_.size() >= sizeof kMagic && std::memcmp(bytes_.data(), kMagic, sizeof kMagic) == 0;
    throw ProfileError(path + (is_begun
                                   ? " is cut off: not even its header is there"
                                   : " is not a recording of Tenure: it does not begin like one"));
  }
  const auto head = read<FileHeader>(bytes_.data());
  if (std::memcmp(head.magic, kMagic, sizeof kMagic) != 0) {
    throw ProfileError(
        fmt::format("{} is not a recording of Tenure: it does not begin like one", path));
  }
  if (head.byte_order != kByteOrder) {
    throw ProfileError(fmt::format(
        "{} was written on a machine with another byte order, or its beginning is damaged", path));
  }
  if (head.version != kVersion) {
    throw ProfileError(fmt::format(
        "{} has format {}, and this version of Tenure reads format {}; use the version that wrote "
        "it{}",
        path, head.version, kVersion, head.version > kVersion ? ", or a newer one" : ""));
  }
  if (head.chunk_bytes != kChunkBytes ||
      head.head_check != checksum({bytes_.data(), offsetof(FileHeader, head_check)})) {
    throw ProfileError(fmt::format("{} is damaged: its header does not match its checksum", path));
  }
  program = text(head.program);
  library = text(head.library);
  pid = head.pid;
  started_ns = head.started_ns;
  base_bytes = head.base_bytes;
  finished = head.finished == 1;
  duration_ns = std::max<std::int64_t>(head.duration_ns, 0);
  dropped = head.dropped;
  recycled = head.recycled;
}

void Recorded::read_chunk(std::size_t begin) {
  const std::size_t there = std::min(kChunkBytes, bytes_.size() - begin);
  const std::byte* const at = bytes_.data() + begin;
  if (there < sizeof(ChunkHeader)) {
    ++damaged;
    return;
  }
  const auto head = read<ChunkHeader>(at);
  if (head.magic == 0 && head.committed == 0) return;  // taken and never used
  const bool is_known = head.kind == ChunkKind::definitions || head.kind == ChunkKind::events;
  if (head.magic != kChunkMagic || !is_known || head.committed > kPayloadBytes ||
      head.head_check != checksum({at, offsetof(ChunkHeader, head_check)})) {
    ++damaged;
    return;
  }
  if (!sequences_.insert(head.sequence).second) return;  // it is there twice
  std::size_t length = head.committed;
  if (sizeof(ChunkHeader) + length > there) {  // the readable beginning
    length = there - sizeof(ChunkHeader);
    ++damaged;
  } else if (head.sealed == 1 && head.checksum != checksum({at + sizeof(ChunkHeader), length})) {
    ++damaged;
    return;
  }
  const std::size_t first = begin + sizeof(ChunkHeader);
  if (head.kind == ChunkKind::definitions) return read_definitions(first, first + length);
  Piece piece{.begin = first,
              .end = first + length,
              .thread = head.thread,
              .sequence = head.sequence,
              .time_ns = std::max<std::int64_t>(head.time_ns, 0),
              .live_bytes = head.live_bytes};
  piece.end = end_of_events(piece);
  if (piece.end > piece.begin) pieces_.push_back(piece);
}

std::size_t Recorded::end_of_events(const Piece& piece) {
  std::size_t at = piece.begin;
  while (piece.end - at >= 16) {
    const auto kind = static_cast<EventKind>(read<std::uint64_t>(bytes_.data() + at) >> 48 & 0xff);
    const std::size_t length = 8 * static_cast<std::size_t>(words_of(kind));
    if (length == 0 || length > piece.end - at) break;
    at += length;
    ++events;
  }
  if (at != piece.end) ++damaged;
  return at;
}

void Recorded::read_definitions(std::size_t begin, std::size_t end) {
  while (end - begin >= sizeof(DefinitionHead)) {
    const auto head = read<DefinitionHead>(bytes_.data() + begin);
    const std::size_t room = end - begin - sizeof head;
    const std::size_t padded = (std::size_t{head.length} + 7) / 8 * 8;
    if (padded > room) break;
    read_definition(head, bytes_.data() + begin + sizeof head);
    begin += sizeof head + padded;
  }
  if (begin != end) ++damaged;
}

void Recorded::read_definition(const DefinitionHead& head, const std::byte* payload) {
  switch (head.kind) {
    case DefinitionKind::string:
      if (!make_room(strings_, head.number, bytes_.size())) break;
      strings_[head.number].assign(reinterpret_cast<const char*>(payload), head.length);
      return;
    case DefinitionKind::origin:
      if (head.length != 16 || !make_room(raw_origins_, head.number, bytes_.size())) break;
      raw_origins_[head.number] = read<RawOrigin>(payload);
      return;
    case DefinitionKind::layout: {
      if (head.length < 8 || !make_room(layouts_, head.number, bytes_.size())) break;
      const auto dtype = read<std::uint32_t>(payload);
      const auto rank = read<std::uint32_t>(payload + 4);
      if (dtype >= kDTypes || head.length != 8 + std::size_t{rank} * 8) break;
      Layout& layout = layouts_[head.number];
      layout = {static_cast<int>(dtype), std::vector<std::int64_t>(rank)};
      if (rank != 0) std::memcpy(layout.shape.data(), payload + 8, std::size_t{rank} * 8);
      return;
    }
    case DefinitionKind::plan: {
      if (head.length < sizeof(PlanHead)) break;
      RawPlan plan{.head = read<PlanHead>(payload)};
      if (head.length != sizeof(PlanHead) + plan.head.buffers * sizeof(PlanBuffer)) break;
      plan.buffers.resize(plan.head.buffers);
      if (!plan.buffers.empty()) {
        std::memcpy(plan.buffers.data(), payload + sizeof(PlanHead),
                    plan.buffers.size() * sizeof(PlanBuffer));
      }
      raw_plans_.push_back(std::move(plan));
      return;
    }
  }
  ++damaged;
}

void Recorded::check_references() {
  origins_.resize(raw_origins_.size());
  for (std::size_t i = 1; i < origins_.size(); ++i) {
    const RawOrigin& raw = raw_origins_[i];
    origins_[i] = {string(raw.op), string(raw.file), raw.line, string(raw.scope)};
  }
  for (const RawPlan& raw : raw_plans_) {
    RecordedPlan plan{raw.head.id, raw.head.peak, raw.head.arena, raw.head.origin, {}};
    for (const PlanBuffer& b : raw.buffers) {
      plan.buffers.push_back(
          {string(b.op), b.offset, b.bytes, static_cast<int>(b.first), static_cast<int>(b.last)});
    }
    plans_.push_back(std::move(plan));
  }
}

const std::string& Recorded::string(std::uint64_t number) const {
  return at_or_first(strings_, number);
}
const Origin& Recorded::origin(std::uint64_t number) const { return at_or_first(origins_, number); }
std::uint32_t Recorded::op_number(std::uint64_t number) const {
  return at_or_first(raw_origins_, number).op;
}
const Layout& Recorded::layout(std::uint64_t number) const { return at_or_first(layouts_, number); }

void Recorded::for_each(const std::function<bool(const Event&)>& visit) const {
  struct Cursor {
    std::size_t piece;
    std::size_t at;
    Event event{};
  };
  const auto load = [this](Cursor& cursor) {
    const Piece& piece = pieces_[cursor.piece];
    const std::byte* const at = bytes_.data() + cursor.at;
    const auto first = read<std::uint64_t>(at);
    const auto second = read<std::uint64_t>(at + 8);
    Event& event = cursor.event;
    event.kind = static_cast<EventKind>(first >> 48 & 0xff);
    event.tag = static_cast<std::uint8_t>(first >> 56);
    event.thread = piece.thread;
    // The clock's higher bits are the chunk's.
    std::uint64_t time = (static_cast<std::uint64_t>(piece.time_ns) & ~kLow48) | (first & kLow48);
    if (time + (kLow48 >> 1) < static_cast<std::uint64_t>(piece.time_ns)) time += kLow48 + 1;
    event.time_ns = static_cast<std::int64_t>(time);
    event.subject = second & kLow48;
    event.extra = static_cast<std::uint16_t>(second >> 48);
    const int words = words_of(event.kind);
    event.third = words > 2 ? read<std::uint64_t>(at + 16) : 0;
    event.fourth = words > 3 ? read<std::uint64_t>(at + 24) : 0;
    cursor.at += 8 * static_cast<std::size_t>(words);
  };
  /// Goes on to the thread's next event; false at its end.
  const auto advance = [&](Cursor& cursor) {
    if (cursor.at == pieces_[cursor.piece].end) {
      const std::size_t next = cursor.piece + 1;
      if (next == pieces_.size() || pieces_[next].thread != pieces_[cursor.piece].thread) {
        return false;
      }
      cursor.piece = next;
      cursor.at = pieces_[next].begin;
    }
    load(cursor);
    return true;
  };
  std::vector<Cursor> cursors;
  for (std::size_t i = 0; i < pieces_.size(); ++i) {
    if (i > 0 && pieces_[i].thread == pieces_[i - 1].thread) continue;
    cursors.push_back({i, pieces_[i].begin});
    load(cursors.back());
  }
  const auto later = [&cursors](std::size_t a, std::size_t b) {
    return cursors[a].event.time_ns > cursors[b].event.time_ns;
  };
  std::priority_queue<std::size_t, std::vector<std::size_t>, decltype(later)> next(later);
  for (std::size_t i = 0; i < cursors.size(); ++i) next.push(i);
  while (!next.empty()) {
    const std::size_t i = next.top();
    next.pop();
    do {
      if (!visit(cursors[i].event)) return;
      if (!advance(cursors[i])) break;
      if (!next.empty() && later(i, next.top())) {
        next.push(i);
        break;
      }
    } while (true);
  }
}

}  // namespace tenure::profile
