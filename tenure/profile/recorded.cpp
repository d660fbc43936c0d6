#include "tenure/profile/recorded.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <set>
#include <thread>
#include <utility>

#include "tenure/profile/text.h"
#include "tenure/tensor/dtype.h"
#include "tenure/tensor/shape.h"

namespace tenure::profile {
namespace {

// Numbers are given from 1 up without gaps; a damaged one must not take all memory.
constexpr std::uint32_t kMostDefinitions = 1u << 26;

/// Text of a field that may have no end.
template <std::size_t n>
std::string text(const char (&field)[n]) {
  return valid_utf8({field, strnlen(field, n)});
}

/// Makes `list[number]` exist; false if that is absurd.
template <class T>
bool make_room(std::vector<T>& list, std::uint32_t number, std::uint64_t file_bytes) {
  // Each definition takes at least its head in the file.
  if (number >= kMostDefinitions || number > file_bytes / sizeof(DefinitionHead)) return false;
  if (number >= list.size()) list.resize(number + 1);
  return true;
}

std::string_view file_name(std::string_view path) {
  return path.substr(path.find_last_of('/') + 1);
}

template <class T>
const T& at_or_first(const std::vector<T>& list, std::uint64_t number) {
  return number < list.size() ? list[number] : list.front();
}

}  // namespace

std::string place_text(const Origin& origin) {
  if (origin.file.empty()) return "unknown";
  if (origin.line == 0) return std::string(file_name(origin.file));
  return fmt::format("{}:{}", file_name(origin.file), origin.line);
}

std::string to_string(const CallFrame& call) {
  // Code that the compiler made has no line.
  if (call.file.empty() || call.line == 0) return call.function;
  return fmt::format("{} at {}:{}", call.function, file_name(call.file), call.line);
}

std::string to_string(const RecordedSpec& layout) {
  if (layout.dtype < 0) return "";
  return fmt::format("{}[{}]", name_of(static_cast<DType>(layout.dtype)),
                     fmt::join(layout.shape, ", "));
}

Recorded::Recorded(const std::string& file)
    : path(file),
      input_(std::make_shared<RecordingInput>(file)),
      strings_(1),
      raw_origins_(1),
      origins_(1),
      layouts_(1),
      modules_(1),
      stacks_(1) {
  read_header();
  std::vector<std::byte> chunk(kChunkBytes);
  std::uint64_t place = kChunkBytes;
  for (;; place += kChunkBytes) {
    const std::size_t there = read_stable(place, chunk);
    if (there == 0) break;
    read_chunk(place, std::span(chunk).first(there));
  }
  if (told_bytes_ > place) damaged += (told_bytes_ - place - 1) / kChunkBytes + 1;
  read_horizon();  // now: while the file was read, it may have moved on
  // A chunk is there twice while it is renewed; then the good one counts.
  for (const std::uint64_t sequence : broken_) damaged += sequences_.contains(sequence) ? 0 : 1;
  for (const Piece& piece : pieces_) events += piece.events;
  std::erase_if(pieces_, [](const Piece& piece) { return piece.events == 0; });
  std::stable_sort(pieces_.begin(), pieces_.end(), [](const Piece& a, const Piece& b) {
    return a.thread != b.thread ? a.thread < b.thread : a.sequence < b.sequence;
  });
  check_references();
}

void Recorded::read_header() {
  std::vector<std::byte> bytes(sizeof(FileHeader));
  bytes.resize(input_->read(0, bytes));
  if (bytes.size() < sizeof(FileHeader)) {
    const bool is_begun =
        bytes.size() >= sizeof kMagic && std::memcmp(bytes.data(), kMagic, sizeof kMagic) == 0;
    throw ProfileError(path + (is_begun
                                   ? " is cut off: not even its header is there"
                                   : " is not a recording of Tenure: it does not begin like one"));
  }
  const auto head = read<FileHeader>(bytes.data());
  if (std::memcmp(head.magic, kMagic, sizeof kMagic) != 0) {
    throw ProfileError(
        fmt::format("{} is not a recording of Tenure: it does not begin like one", path));
  }
  if (head.byte_order != kByteOrder) {
    throw ProfileError(fmt::format(
        "{} was written on a machine with another byte order, or its beginning is damaged", path));
  }
  if (head.version < kOldestVersion || head.version > kVersion) {
    throw ProfileError(fmt::format(
        "{} has format {}, and this version of Tenure reads formats {} to {}; use the version that "
        "wrote it{}",
        path, head.version, kOldestVersion, kVersion,
        head.version > kVersion ? ", or a newer one" : ""));
  }
  if (head.chunk_bytes != kChunkBytes ||
      head.head_check != checksum(std::span(bytes).first(offsetof(FileHeader, head_check)))) {
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
  told_bytes_ = head.file_bytes;
}

void Recorded::read_horizon() {
  FileHeader head{};
  const auto bytes = std::as_writable_bytes(std::span(&head, 1));
  if (input_->read(0, bytes) < sizeof head || head.horizon_ns <= 0) return;
  horizon_ns = oldest_ns_ = head.horizon_ns;
  base_bytes = std::clamp<std::int64_t>(head.horizon_bytes, 0, kLow48);
  begin_with_census();
}

void Recorded::begin_with_census() {
  const Census* first = nullptr;
  for (const Census& each : censuses_) {
    const bool is_whole = each.began_ns >= oldest_ns_ && each.ended_ns >= each.began_ns;
    if (is_whole && (first == nullptr || each.ended_ns < first->ended_ns)) first = &each;
  }
  is_known_from_before = first != nullptr;
  if (first == nullptr) return;
  horizon_ns = first->ended_ns;
  base_bytes = first->live_bytes;
}

bool Recorded::is_stable(std::uint64_t place, std::span<const std::byte> chunk) const {
  ChunkHeader again{};
  const auto bytes = std::as_writable_bytes(std::span(&again, 1));
  if (chunk.size() < sizeof again || input_->read(place, bytes) < sizeof again) return false;
  const auto head = read<ChunkHeader>(chunk.data());
  // The sequence changes before the payload does: where it is the same, all belongs together.
  if (again.sequence != head.sequence) return false;
  if (head.magic == 0 && head.committed == 0) return true;
  if (head.head_check != checksum(chunk.first(offsetof(ChunkHeader, head_check)))) return false;
  // A copy comes as a whole, but not at once.
  const std::size_t there = chunk.size() - sizeof head;
  return head.committed <= there &&
         (head.sealed != 1 ||
          head.checksum == checksum(chunk.subspan(sizeof head, head.committed)));
}

std::size_t Recorded::read_stable(std::uint64_t place, std::span<std::byte> chunk) {
  std::size_t there = input_->read(place, chunk);
  // The writer may have been interrupted just then. In a damaged file waiting does not help.
  while (!finished && there != 0 && patience_ > 0 && !is_stable(place, chunk.first(there))) {
    --patience_;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    there = input_->read(place, chunk);
  }
  return there;
}

void Recorded::read_chunk(std::uint64_t place, std::span<const std::byte> chunk) {
  if (chunk.size() < sizeof(ChunkHeader)) {
    ++damaged;
    return;
  }
  const auto head = read<ChunkHeader>(chunk.data());
  if (head.magic == 0 && head.committed == 0) return;  // taken and never used
  const bool is_known = head.kind == ChunkKind::definitions || head.kind == ChunkKind::events;
  if (head.magic != kChunkMagic || !is_known || head.committed > kPayloadBytes ||
      head.head_check != checksum(chunk.first(offsetof(ChunkHeader, head_check)))) {
    ++damaged;
    return;
  }
  const std::size_t there = chunk.size() - sizeof(ChunkHeader);
  const auto payload =
      chunk.subspan(sizeof(ChunkHeader), std::min<std::size_t>(head.committed, there));
  const bool is_cut = head.committed > there;  // then its readable beginning counts
  if (is_cut) ++damaged;
  if (!is_cut && head.sealed == 1 && head.checksum != checksum(payload)) {
    broken_.insert(head.sequence);
    return;
  }
  if (head.kind == ChunkKind::definitions) return read_definitions(payload);
  Piece piece{.place = place,
              .thread = head.thread,
              .life = head.life,
              .sequence = head.sequence,
              .time_ns = std::max<std::int64_t>(head.time_ns, 0),
              .checksum = head.checksum};
  if (is_cut || head.sealed != 1) piece.payload.assign(payload.begin(), payload.end());
  add_piece(std::move(piece), payload);
}

void Recorded::note_census(const std::byte* event) {
  censuses_.push_back(
      {.began_ns = static_cast<std::int64_t>(read<std::uint64_t>(event + 16)),
       .ended_ns = static_cast<std::int64_t>(read<std::uint64_t>(event + 24)),
       .live_bytes = static_cast<std::int64_t>(read<std::uint64_t>(event + 8) & kLow48)});
}

void Recorded::add_piece(Piece piece, std::span<const std::byte> payload) {
  while (payload.size() - piece.length >= 16) {
    const auto kind =
        static_cast<EventKind>(read<std::uint64_t>(payload.data() + piece.length) >> 48 & 0xff);
    const std::size_t length = 8 * static_cast<std::size_t>(words_of(kind));
    if (length == 0 || length > payload.size() - piece.length) break;
    if (kind == EventKind::census) note_census(payload.data() + piece.length);
    piece.length += length;
    ++piece.events;
  }
  if (piece.length != payload.size()) ++damaged;
  const auto [known, is_new] = sequences_.try_emplace(piece.sequence, pieces_.size());
  if (is_new) {
    pieces_.push_back(std::move(piece));
  } else if (piece.length >
             pieces_[known->second].length) {  // the copy of a chunk that was renewed
    pieces_[known->second] = std::move(piece);
  }
}

void Recorded::read_definitions(std::span<const std::byte> payload) {
  while (payload.size() >= sizeof(DefinitionHead)) {
    const auto head = read<DefinitionHead>(payload.data());
    const std::size_t padded = (std::size_t{head.length} + 7) / 8 * 8;
    if (padded > payload.size() - sizeof head) break;
    read_definition(head, payload.data() + sizeof head);
    payload = payload.subspan(sizeof head + padded);
  }
  if (!payload.empty()) ++damaged;
}

void Recorded::read_definition(const DefinitionHead& head, const std::byte* payload) {
  switch (head.kind) {
    case DefinitionKind::string:
      if (!make_room(strings_, head.number, input_->size())) break;
      // A program's names may be any bytes; what reads a recording writes formats that are UTF-8.
      strings_[head.number] = valid_utf8({reinterpret_cast<const char*>(payload),
                                          std::min<std::size_t>(head.length, kLongestString)});
      return;
    case DefinitionKind::origin:
      if (head.length != 16 && head.length != sizeof(RawOrigin)) break;
      if (!make_room(raw_origins_, head.number, input_->size())) break;
      raw_origins_[head.number] = {};
      std::memcpy(&raw_origins_[head.number], payload, head.length);
      return;
    case DefinitionKind::layout: {
      if (head.length < 8 || !make_room(layouts_, head.number, input_->size())) break;
      const auto dtype = read<std::uint32_t>(payload);
      const auto rank = read<std::uint32_t>(payload + 4);
      if (dtype >= kDTypes || rank > kMaxRank || head.length != 8 + std::size_t{rank} * 8) break;
      RecordedSpec& layout = layouts_[head.number];
      layout = {static_cast<int>(dtype), std::vector<std::int64_t>(rank)};
      if (rank != 0) std::memcpy(layout.shape.data(), payload + 8, std::size_t{rank} * 8);
      return;
    }
    case DefinitionKind::plan:
      if (!plan_definitions_.read_plan(head, payload)) break;
      return;
    case DefinitionKind::plan_steps:
      if (!plan_definitions_.read_steps(head, payload)) break;
      return;
    case DefinitionKind::plan_body:
      if (!plan_definitions_.read_body(head, payload)) break;
      return;
    case DefinitionKind::module: {
      if (head.length < 4 || !make_room(modules_, head.number, input_->size())) break;
      module_paths_.resize(modules_.size());
      module_paths_[head.number] = read<std::uint32_t>(payload);
      modules_[head.number].build_id = {reinterpret_cast<const char*>(payload + 4),
                                        std::size_t{head.length} - 4};
      return;
    }
    case DefinitionKind::stack: {
      const std::size_t calls = head.length / 8;
      if (head.length % 8 != 0 || calls > CallStack::kMost) break;
      if (!make_room(stacks_, head.number, input_->size())) break;
      std::vector<ModuleAddress>& stack = stacks_[head.number];
      stack.clear();
      for (std::size_t i = 0; i < calls; ++i) {
        const auto word = read<std::uint64_t>(payload + 8 * i);
        stack.push_back({.module = word >> 48, .offset = word & kLow48});
      }
      return;
    }
  }
  ++damaged;
}

void Recorded::check_references() {
  origins_.resize(raw_origins_.size());
  for (std::size_t i = 1; i < origins_.size(); ++i) {
    const RawOrigin& raw = raw_origins_[i];
    origins_[i] = {string(raw.op), string(raw.file), raw.line, string(raw.scope), raw.stack, {}};
  }
  for (std::size_t i = 1; i < modules_.size(); ++i) modules_[i].path = string(module_paths_[i]);
  has_stacks_ = std::any_of(raw_origins_.begin(), raw_origins_.end(),
                            [](const RawOrigin& raw) { return raw.stack != 0; });
  if (has_stacks_) name_callers();
  plans_ = plan_definitions_.plans(strings_);
}

void Recorded::name_callers() {
  calls_ = name_calls(modules_, stacks_);
  callers_.resize(origins_.size());
  for (std::size_t i = 1; i < origins_.size(); ++i) {
    const CallFrame* const caller = caller_of(origins_[i], calls(origins_[i]));
    if (caller == nullptr) continue;
    callers_[i] = to_string(*caller);
    origins_[i].caller = callers_[i];
  }
}

bool is_at(const CallFrame& call, const Origin& origin) {
  return call.line == origin.line && file_name(call.file) == file_name(origin.file);
}

const CallFrame* caller_of(const Origin& origin, std::span<const CallFrame* const> calls) {
  const auto other = std::find_if(calls.rbegin(), calls.rend(), [&](const CallFrame* call) {
    if (!call->has_name) return false;
    if (call->line == 0) return call != calls.back();  // the innermost has the line, then
    return !is_at(*call, origin);
  });
  return other == calls.rend() ? nullptr : *other;
}

NamedCalls Recorded::names_of(std::span<const std::uint32_t> stacks) const {
  std::vector<std::vector<ModuleAddress>> asked;
  for (const std::uint32_t stack : stacks) {
    asked.push_back(stack < stacks_.size() ? stacks_[stack] : std::vector<ModuleAddress>());
  }
  return name_calls(modules_, asked);
}

const std::string& Recorded::string(std::uint64_t number) const {
  return at_or_first(strings_, number);
}
const Origin& Recorded::origin(std::uint64_t number) const { return at_or_first(origins_, number); }
std::uint32_t Recorded::op_number(std::uint64_t number) const {
  return at_or_first(raw_origins_, number).op;
}
std::vector<const CallFrame*> Recorded::calls(const Origin& origin) const {
  std::vector<const CallFrame*> calls;
  if (origin.stack < calls_.stacks.size()) {
    for (const std::uint32_t frame : calls_.stacks[origin.stack]) {
      calls.push_back(&calls_.frames[frame]);
    }
  }
  return calls;
}
const RecordedSpec& Recorded::layout(std::uint64_t number) const {
  return at_or_first(layouts_, number);
}

}  // namespace tenure::profile
