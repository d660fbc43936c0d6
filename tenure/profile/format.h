#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "tenure/memory/pool/devices.h"

// Note: a recording on disk
//
// The file is a row of chunks of 64 KiB, all numbers little-endian. The first is the FileHeader.
// Every other one begins with a ChunkHeader and belongs to one thread (events) or to all
// (definitions: what the events refer to by number). A chunk is filled from its beginning;
// `committed` says how far, and is raised after the bytes are there.
//
// Each thread fills one chunk, which it has mapped: whatever kills the program, the system has what
// was committed. When it is full, it is sealed with a checksum, copied to another place in the file
// and begun anew; a chunk that is there twice has the same sequence. When the file has reached its
// capacity, the copy of events that is oldest gives way: at the horizon, from which on the events
// of all threads are there. All that is live (storages, tensors, budgets, parts of pools) is told
// anew with each quarter of the file; where that is done, `census` says so, and readers begin with
// the first that is whole, as all is known from there on. They begin at the horizon where there is
// none.
//
// What a tape saves is a tensor of kind tape: its birth is the save, its end the release.
//
// An event is two to four words of 64 bits. Its first word is time (48 bits, nanoseconds since the
// beginning), kind (8) and tag (8), its second subject (48) and extra (16). What is of a device has
// the device's place in the table of all of them (memory/pool/devices.h) in the upper half of
// extra.

namespace tenure::profile {

inline constexpr char kMagic[8] = {'T', 'E', 'N', 'U', 'R', 'E', 'P', 'R'};
inline constexpr std::uint32_t kVersion = 6;
/// The oldest that is read too: it knew no other device than the CPU. Those before 3 knew nothing
/// of what is inside of branches and loops, nor what types and shapes buffers have; those before 4
/// nothing of calls but where all were asked for, nor of threads that have the same number; those
/// before 5 did not say when all that is live had been told anew; those before 6 had no times of
/// devices that compute later, but those of the calls.
inline constexpr std::uint32_t kOldestVersion = 1;
inline constexpr std::uint32_t kByteOrder = 0x01020304;
inline constexpr std::size_t kChunkBytes = 64 * 1024;
inline constexpr std::uint32_t kChunkMagic = 0x4b4e4843;

struct FileHeader {
  char magic[8];
  std::uint32_t version;
  std::uint32_t byte_order;
  std::uint32_t chunk_bytes;
  std::uint32_t pid;
  std::int64_t started_ns;   // since 1970
  std::int64_t base_bytes;   // live when it began
  char library[24];          // version of Tenure
  char program[256];         // cut where it is longer
  std::uint64_t head_check;  // of all above
  // What follows changes.
  std::int64_t duration_ns;
  std::uint64_t dropped;   // events that found no room
  std::uint64_t recycled;  // chunks that were used again
  std::uint32_t finished;  // 1: the recording was ended
  std::uint32_t reserved;
  std::int64_t horizon_ns;     // events before it may be missing
  std::int64_t horizon_bytes;  // live then
  std::uint64_t file_bytes;    // so long it is at least; 0: not told
};

enum class ChunkKind : std::uint32_t { definitions = 1, events = 2 };

struct ChunkHeader {
  std::uint32_t magic;
  ChunkKind kind;
  std::uint32_t thread;      // its number, which another thread gets when it has ended
  std::uint32_t life;        // which of these it is
  std::uint64_t sequence;    // from 1 up, in the order of opening
  std::int64_t time_ns;      // of opening
  std::int64_t live_bytes;   // then
  std::uint64_t head_check;  // of all above
  // What follows changes.
  std::uint64_t checksum;  // of the payload's committed bytes, once it is sealed
  std::uint32_t committed;
  std::uint32_t sealed;
};
static_assert(sizeof(ChunkHeader) == 64);
inline constexpr std::size_t kPayloadBytes = kChunkBytes - sizeof(ChunkHeader);

/// Longer names are cut, also by who reads them: any number of events may refer to one.
inline constexpr std::size_t kLongestString = 4096;

enum class EventKind : std::uint8_t {
  allocate = 1,  // storage; bytes; address, and << 48 account. tag: category. Of a device
  free,          // storage; bytes. Of a device
  recategorize,  // storage. tag: category
  create,        // storage; tensor; origin and layout. tag: holder kind
  use,           // storage; origin
  dispose,       // storage; tensor; origin (whose op is what disposed it)
  destroy,       // storage; tensor
  name,          // storage; tensor; string
  kind,          // storage; tensor. tag: holder kind
  scope_begin,   // -; origin. tag: 1 if it is a name
  scope_end,     // -. tag: the same
  step,          // -; origin (whose op is the name)
  budget,        // limit; string. Of a device. Since there is `account` it is only read
  run_begin,     // plan; origin. Of a device
  run_end,       // plan
  kernel,        // mark in the device's queue, 0: it was done then; origin. Of a device. Within a
                 // run one of its steps, else what made the result that was told before
  pool,          // reserved bytes; cached bytes; fragmentation as double. Of a device. Since there
                 // is `part` it is only read
  miss,          // storage; tensor; origin of the use, and << 32 of the disposal
  evict,         // storage; bytes. Of a device
  recompute,     // storage; bytes; address, and << 48 account. tag: category. Of a device
  things,        // how many there are now; origin (whose op is what they are), and << 32 what
                 // they take, / 64; 0: not known
  account,       // limit; account, and << 32 string; account around it. tag: 1 if it is the
                 // process's. Of a device. Told again when its limit changes
  account_end,   // account
  refuse,        // bytes; account, 0: none; bytes charged or live then. tag: cause. Of a device
  requester,     // -; origin of what was refused last on this thread
  part,          // address; bytes, and << 48 block or granularity / 64; time. tag: PartTag.
                 // Of a device. Written with the next event of whichever thread
  calls,         // stack; tensor. Which calls led to some tensors, where not all have that
  thread,        // life. Another thread has this number from here on
  census,        // bytes live now; when it began; now. All that is live has been told
  reached,       // mark; when the device came there. Of a device, in the order of its queue
  outside,       // bytes of a device's memory that others have; all that it has. Of a device
};
inline constexpr int kEventKinds = 32;

/// Words of an event; 0 for what is none.
constexpr int words_of(EventKind kind) {
  constexpr std::uint8_t words[kEventKinds] = {0, 4, 3, 2, 4, 3, 4, 3, 4, 3, 3, 2, 3, 3, 3, 2,
                                               3, 4, 4, 3, 4, 3, 4, 2, 4, 3, 4, 3, 2, 4, 3, 3};
  const auto i = static_cast<std::size_t>(kind);
  return i < kEventKinds ? words[i] : 0;
}

/// Bits of an event's `extra`.
inline constexpr std::uint16_t kForeign = 1;  // memory of the user's
inline constexpr std::uint16_t kBefore = 2;   // it was there when the recording began

/// Bits of the tag of a part of a pool: a segment, or a slab that was cut from one.
inline constexpr std::uint8_t kPartCame = 1;
inline constexpr std::uint8_t kPartIsSlab = 2;
inline constexpr std::size_t kPartUnit = 64;
inline constexpr std::int64_t kThingUnit = 64;

/// Budgets have 16 bits: numbers come again, long after.
constexpr std::uint64_t account_bits(std::uint64_t number) noexcept {
  return number == 0 ? 0 : 1 + (number - 1) % 0xffff;
}

constexpr std::uint16_t device_bits(Device device) noexcept {
  return static_cast<std::uint16_t>(mem::place_of(device) << 8);
}
/// Damaged ones are the CPU's.
constexpr Device device_in(std::uint16_t extra) noexcept {
  const std::size_t place = extra >> 8;
  return place < mem::kDevices ? mem::device_at(place) : cpu;
}
static_assert(mem::kDevices < 256);

inline constexpr std::uint64_t kLow48 = (std::uint64_t{1} << 48) - 1;

/// Definitions: kind, number, length of the payload in bytes; then the payload, padded to words.
enum class DefinitionKind : std::uint32_t {
  string = 1,  // its bytes
  origin,      // u32: op, file, line, scope (numbers of strings but for the line), and stack if any
  layout,      // u32: dtype, rank; i64: each dimension
  plan,        // PlanHead, then PlanBuffer each. number: of several pieces, which
  plan_steps,  // PlanStepsHead, then PlanStep each, with its inputs (u32) padded to words
  module,      // u32: path (a string); then the bytes of its build id
  stack,       // u64 for each call, the innermost first: offset (48 bits) within a module (16)
  plan_body,   // PlanBody: a branch or the body of a loop
};
inline constexpr std::size_t kDefinitionKinds = 9;
struct DefinitionHead {
  DefinitionKind kind;
  std::uint32_t number;
  std::uint32_t length;
  std::uint32_t body;  // of what a plan consists of: the body that it is in, from 1 up; 0: none
};
struct PlanHead {
  std::uint64_t id;
  std::int64_t peak;
  std::int64_t arena;
  std::uint32_t origin;
  std::uint32_t buffers;
};
struct PlanBuffer {
  std::uint32_t op;
  std::uint32_t first;
  std::uint32_t last;
  std::uint32_t flags;  // category (8 bits), and those below
  std::int64_t offset;  // in the arena of the program or the body that it is of
  std::int64_t bytes;
  std::uint32_t layout;  // a string: type and shape
  std::uint32_t reserved;
};
struct PlanBody {
  std::uint64_t id;      // of the plan
  std::int64_t offset;   // of its arena, in that of the program
  std::uint32_t around;  // the body that it is in, which has a lower number; 0: none
  std::uint32_t step;    // of that body or the program
  std::uint32_t name;
  std::uint32_t reserved;
};
inline constexpr std::uint32_t kBufferSaved = 1u << 8;  // forth for back
inline constexpr std::uint32_t kBufferAgain = 1u << 9;  // computed before
struct PlanStepsHead {
  std::uint64_t id;
  std::int64_t resident;
  std::uint32_t first;  // number of its first step
  std::uint32_t steps;
};
struct PlanStep {
  std::uint32_t origin;
  std::uint32_t unit;
  std::uint32_t inputs;  // how many
  std::uint32_t overwrites;
  std::uint32_t flags;  // category (8 bits), and those below
  std::uint32_t reserved;
  std::int64_t live;
  std::int64_t cost;
  std::int64_t bytes;
  std::int64_t workspace;
};
inline constexpr std::uint32_t kStepPure = 1u << 8;
inline constexpr std::uint32_t kStepOutput = 1u << 9;

/// What lies there, aligned or not.
template <class T>
T read(const std::byte* at) noexcept {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

/// Four sums side by side, over whole words: a bit that flips, and bytes that move, change it.
inline std::uint64_t checksum(std::span<const std::byte> bytes) noexcept {
  constexpr std::uint64_t kPrime = 0x9e3779b97f4a7c15;
  std::uint64_t lanes[4] = {1, 2, 3, 4};
  const std::size_t words = bytes.size() / 8;
  for (std::size_t i = 0; i < words; ++i) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes.data() + 8 * i, 8);
    std::uint64_t& lane = lanes[i % 4];
    lane = (lane ^ word) * kPrime;
    lane ^= lane >> 29;
  }
  return (lanes[0] ^ (lanes[1] << 1 | lanes[1] >> 63)) * kPrime ^
         (lanes[2] + (lanes[3] << 7 | lanes[3] >> 57));
}

}  // namespace tenure::profile
