#include <algorithm>
#include <map>
#include <numeric>
#include <string>
#include <tuple>

#include "tenure/base/error.h"
#include "tenure/planner/offsets/instance.h"

namespace tenure::planner::offsets {
namespace {

/// A group, or a buffer of its own, in bytes and in the problem's time.
struct Piece {
  std::int64_t size = 0;
  std::int64_t lower = 0;
  std::int64_t upper = 0;
  std::int64_t alignment = 1;
  std::optional<std::int64_t> offset{};
  std::vector<Gap> gaps{};
  std::size_t buffer = 0;  // the last of them with a gap
};

/// What a piece needs in a while between two changes.
struct Need {
  std::int64_t lower = 0;
  std::int64_t upper = 0;
  std::int64_t bottom = 0;
  std::int64_t top = 0;
};

/// In the order of time.
std::vector<Need> needs_of(const Piece& piece) {
  std::vector<Need> needs;
  const auto add = [&](const Need& need) {
    if (need.lower < need.upper && need.bottom < need.top) needs.push_back(need);
  };
  std::int64_t now = piece.lower;
  for (const Gap& gap : piece.gaps) {
    add({now, gap.lower, 0, piece.size});
    add({gap.lower, gap.upper, gap.bottom, gap.top});
    now = gap.upper;
  }
  add({now, piece.upper, 0, piece.size});
  return needs;
}

/// Puts gaps in order. Throws BufferError where two meet or one leaves more than there is.
void order_gaps(Piece& piece) {
  std::sort(piece.gaps.begin(), piece.gaps.end(),
            [](const Gap& a, const Gap& b) { return a.lower < b.lower; });
  for (std::size_t i = 0; i < piece.gaps.size(); ++i) {
    const Gap& gap = piece.gaps[i];
    if (i > 0 && gap.lower < piece.gaps[i - 1].upper)
      throw BufferError(piece.buffer, "has two gaps at " + std::to_string(gap.lower));
    if (gap.top > piece.size) {
      throw BufferError(piece.buffer, "has a gap that leaves [" + std::to_string(gap.bottom) +
                                          ", " + std::to_string(gap.top) + ") of " +
                                          std::to_string(piece.size));
    }
  }
}

void merge(Piece& piece, const Buffer& buffer, std::size_t index) {
  if (buffer.offset && piece.offset && *buffer.offset != *piece.offset) {
    throw BufferError(index, "must lie at " + std::to_string(*buffer.offset) +
                                 ", others of its group " + std::to_string(buffer.group) + " at " +
                                 std::to_string(*piece.offset));
  }
  if (buffer.offset) piece.offset = buffer.offset;
  piece.size = std::max(piece.size, buffer.size);
  piece.lower = std::min(piece.lower, buffer.lower);
  piece.upper = std::max(piece.upper, buffer.upper);
  piece.alignment = std::max(piece.alignment, buffer.alignment);
  if (!buffer.gaps.empty()) piece.buffer = index;
  piece.gaps.insert(piece.gaps.end(), buffer.gaps.begin(), buffer.gaps.end());
  if (piece.offset && *piece.offset % piece.alignment != 0) {
    throw BufferError(index, "needs alignment " + std::to_string(piece.alignment) +
                                 ", but its group " + std::to_string(buffer.group) +
                                 " must lie at " + std::to_string(*piece.offset));
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
  for (Piece& piece : pieces) order_gaps(piece);
  return pieces;
}

constexpr int kAll = -1;    // a piece without gaps, as a whole
constexpr int kFrame = -2;  // the lifetime of a piece with gaps

struct Event {
  std::int64_t time;
  bool begins;
  int piece;
  int need;  // one of needs_of(piece), or one of the above
};

std::vector<Event> events_of(const std::vector<Piece>& pieces) {
  std::vector<Event> events;
  events.reserve(2 * pieces.size());
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    if (pieces[i].lower == pieces[i].upper) continue;
    const auto add = [&](std::int64_t lower, std::int64_t upper, int need) {
      events.push_back({lower, true, static_cast<int>(i), need});
      events.push_back({upper, false, static_cast<int>(i), need});
    };
    add(pieces[i].lower, pieces[i].upper, pieces[i].gaps.empty() ? kAll : kFrame);
    if (pieces[i].gaps.empty()) continue;
    int next = 0;
    for (const Need& need : needs_of(pieces[i])) add(need.lower, need.upper, next++);
  }
  // A frame opens before what is in it and closes after it.
  std::sort(events.begin(), events.end(), [](const Event& a, const Event& b) {
    const auto rank = [](const Event& event) { return event.begins ? event.need : -event.need; };
    return std::tuple(a.time, a.begins, a.piece, rank(a)) <
           std::tuple(b.time, b.begins, b.piece, rank(b));
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
  bool any_gaps = false;
  for (const Piece& piece : pieces) {
    least = std::min(least, piece.alignment);
    any_gaps = any_gaps || !piece.gaps.empty();
  }
  if (any_gaps) least = 1;  // what a gap leaves may begin anywhere
  const auto rounded = [&](std::int64_t size) { return (size + least - 1) & -least; };
  std::int64_t padding = 0;
  std::int64_t unit = 0;
  for (const Piece& piece : pieces) {
    padding = std::max(padding, rounded(piece.size) - piece.size);
    unit = std::gcd(unit, std::gcd(rounded(piece.size), piece.offset.value_or(0)));
    for (const Gap& gap : piece.gaps) unit = std::gcd(unit, std::gcd(gap.bottom, gap.top));
  }
  if (unit == 0) unit = 1;
  // An alignment that the sizes do not bring by themselves makes offsets of its own.
  for (const Piece& piece : pieces) {
    if (piece.alignment > (unit & -unit)) unit &= -unit;
  }
  prepared.unit = unit;
  prepared.padding = padding;

  std::vector<Block> open(pieces.size());
  std::vector<std::vector<Solid>> solids(any_gaps ? pieces.size() : 0);
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
    const bool is_block = event.need < 0;
    Need need{piece.lower, piece.upper, 0, event.need == kFrame ? 0 : piece.size};
    if (event.need >= 0) need = needs_of(piece)[static_cast<std::size_t>(event.need)];
    const std::int64_t size = need.top - need.bottom;
    if (event.begins) {
      if (is_block) {
        open[index].begin = section;
        members.push_back(event.piece);
        ++alive;
      }
      if (any_gaps && event.need != kFrame)
        solids[index].push_back({section, 0, need.bottom / unit, need.top / unit});
      live += size;
      live_rounded += rounded(size);
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
    if (any_gaps && event.need != kFrame) solids[index].back().end = section;
    live -= size;
    live_rounded -= rounded(size);
    if (!is_block) continue;
    open[index].end = section;
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
      if (any_gaps) part.shapes.push_back(std::move(solids[static_cast<std::size_t>(id)]));
      part.blocks.push_back(block);
      part.ids.push_back(id);
    }
    members.clear();
    if (!part.blocks.empty()) prepared.parts.push_back(std::move(part));
    part = {};
  }
  return prepared;
}

Instance without_gaps(const Instance& instance) {
  Instance filled = instance;
  filled.shapes.clear();
  std::vector<Units> change(static_cast<std::size_t>(instance.sections) + 1, 0);
  for (const Block& block : instance.blocks) {
    change[static_cast<std::size_t>(block.begin)] += block.size;
    change[static_cast<std::size_t>(block.end)] -= block.size;
  }
  Units live = 0;
  for (const Units more : change) filled.bound = std::max(filled.bound, live += more);
  return filled;
}

Units height_of(const Instance& instance, const std::vector<Units>& offsets) {
  Units height = 0;
  for (std::size_t i = 0; i < instance.blocks.size(); ++i)
    height = std::max(height, offsets[i] + instance.blocks[i].size);
  return height;
}

}  // namespace tenure::planner::offsets
