#include <algorithm>
#include <map>
#include <numeric>
#include <string>
#include <tuple>

#include "tenure/base/error.h"
#include "tenure/planner/offsets/instance.h"

namespace tenure::planner::packing {
namespace {

/// A group, or a buffer of its own, in bytes and in the problem's time.
struct Piece {
  std::int64_t size = 0;
  std::int64_t lower = 0;
  std::int64_t upper = 0;
  std::int64_t alignment = 1;
  std::optional<std::int64_t> offset{};
};

void merge(Piece& piece, const Buffer& buffer, std::size_t index) {
  if (buffer.offset && piece.offset && *buffer.offset != *piece.offset) {
    throw ValueError("planner: buffer " + std::to_string(index) + " must lie at " +
                     std::to_string(*buffer.offset) + ", others of its group " +
                     std::to_string(buffer.group) + " at " + std::to_string(*piece.offset));
  }
  if (buffer.offset) piece.offset = buffer.offset;
  piece.size = std::max(piece.size, buffer.size);
  piece.lower = std::min(piece.lower, buffer.lower);
  piece.upper = std::max(piece.upper, buffer.upper);
  piece.alignment = std::max(piece.alignment, buffer.alignment);
  if (piece.offset && *piece.offset % piece.alignment != 0) {
    throw ValueError("planner: buffer " + std::to_string(index) + " needs alignment " +
                     std::to_string(piece.alignment) + ", but its group " +
                     std::to_string(buffer.group) + " must lie at " +
                     std::to_string(*piece.offset));
  }
}

/// The memory of each group and of each buffer without one, as far as any is needed.
std::vector<Piece> pieces_of(const OffsetProblem& problem, std::vector<int>& block_of) {
  std::vector<Piece> pieces;
  std::map<int, int> groups;
  block_of.assign(problem.buffers.size(), -1);
  for (std::size_t i = 0; i < problem.buffers.size(); ++i) {
    const Buffer& buffer = problem.buffers[i];
    // What is never alive joins its group's offset alone.
    const bool alive = buffer.lower < buffer.upper;
    if (buffer.group < 0 && (!alive || buffer.size == 0)) continue;
    int piece = static_cast<int>(pieces.size());
    if (buffer.group >= 0) piece = groups.try_emplace(buffer.group, piece).first->second;
    block_of[i] = piece;
    if (piece == static_cast<int>(pieces.size())) {
      pieces.push_back({.lower = buffer.lower, .upper = buffer.upper});
    }
    Buffer part = buffer;
    Piece& whole = pieces[static_cast<std::size_t>(piece)];
    if (!alive) {
      part.size = 0;
      part.lower = whole.lower;
      part.upper = whole.upper;
    } else if (whole.lower == whole.upper) {
      whole.lower = buffer.lower;
      whole.upper = buffer.upper;
    }
    merge(whole, part, i);
  }
  return pieces;
}

struct Event {
  std::int64_t time;
  bool begins;
  int piece;
};

std::vector<Event> events_of(const std::vector<Piece>& pieces) {
  std::vector<Event> events;
  events.reserve(2 * pieces.size());
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    if (pieces[i].lower == pieces[i].upper) continue;
    events.push_back({pieces[i].lower, true, static_cast<int>(i)});
    events.push_back({pieces[i].upper, false, static_cast<int>(i)});
  }
  std::sort(events.begin(), events.end(), [](const Event& a, const Event& b) {
    return std::tie(a.time, a.begins, a.piece) < std::tie(b.time, b.begins, b.piece);
  });
  return events;
}

}  // namespace

Prepared prepare(const OffsetProblem& problem) {
  Prepared prepared;
  std::vector<Piece> pieces = pieces_of(problem, prepared.block_of);
  for (const Piece& piece : pieces) prepared.offsets.push_back(piece.offset.value_or(0));

  // Every offset is a multiple of the least alignment: nothing can use the rest of a size's last
  // multiple, except beyond the topmost buffer.
  std::int64_t least = kUnreachable;
  for (const Piece& piece : pieces) least = std::min(least, piece.alignment);
  const auto rounded = [&](std::int64_t size) { return (size + least - 1) & -least; };
  std::int64_t padding = 0;
  std::int64_t unit = 0;
  for (const Piece& piece : pieces) {
    padding = std::max(padding, rounded(piece.size) - piece.size);
    unit = std::gcd(unit, std::gcd(rounded(piece.size), piece.offset.value_or(0)));
  }
  if (unit == 0) unit = 1;
  // An alignment that the sizes do not bring by themselves makes offsets of its own.
  for (const Piece& piece : pieces) {
    if (piece.alignment > (unit & -unit)) unit &= -unit;
  }
  prepared.unit = unit;
  prepared.padding = padding;

  std::vector<Block> open(pieces.size());
  std::vector<int> members;
  std::int64_t live = 0;
  std::int64_t live_rounded = 0;
  std::int64_t alive = 0;
  std::int64_t now = 0;
  bool fresh = false;  // something began since the last section was closed
  int section = 0;
  Instance part;
  const auto raise_bound = [&](std::int64_t bytes, std::optional<std::int64_t> witness) {
    if (bytes <= prepared.lower_bound) return;
    prepared.lower_bound = bytes;
    prepared.witness = witness;
  };
  for (const Event& event : events_of(pieces)) {
    const auto index = static_cast<std::size_t>(event.piece);
    const Piece& piece = pieces[index];
    if (event.begins) {
      open[index].begin = section;
      members.push_back(event.piece);
      live += piece.size;
      live_rounded += rounded(piece.size);
      ++alive;
      now = event.time;
      fresh = true;
      continue;
    }
    if (fresh) {
      part.bound = std::max(part.bound, live_rounded / unit);
      raise_bound(std::max(live, live_rounded - padding), now);
      ++section;
      fresh = false;
    }
    open[index].end = section;
    live -= piece.size;
    live_rounded -= rounded(piece.size);
    if (--alive > 0) continue;
    part.sections = section;
    section = 0;
    for (const int id : members) {
      const Piece& member = pieces[static_cast<std::size_t>(id)];
      Block block = open[static_cast<std::size_t>(id)];
      block.size = rounded(member.size) / unit;
      block.alignment = std::max<Units>(1, member.alignment / (unit & -unit));
      if (member.offset) {
        block.fixed = *member.offset / unit;
        part.bound = std::max(part.bound, block.fixed + block.size);
        raise_bound(*member.offset + member.size, std::nullopt);
      }
      if (block.size == 0) continue;
      part.blocks.push_back(block);
      part.ids.push_back(id);
    }
    members.clear();
    if (!part.blocks.empty()) prepared.parts.push_back(std::move(part));
    part = {};
  }
  return prepared;
}

Units height_of(const Instance& instance, const std::vector<Units>& offsets) {
  Units height = 0;
  for (std::size_t i = 0; i < instance.blocks.size(); ++i)
    height = std::max(height, offsets[i] + instance.blocks[i].size);
  return height;
}

}  // namespace tenure::planner::packing
