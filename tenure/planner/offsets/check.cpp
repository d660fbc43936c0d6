#include <algorithm>
#include <bit>
#include <map>
#include <string>

#include "tenure/base/error.h"
#include "tenure/planner/offsets/instance.h"

namespace tenure::planner::offsets {
namespace {

// Offsets of any order of placement stay below this.
constexpr std::int64_t kLargest = std::int64_t{1} << 60;

[[noreturn]] void refuse(std::size_t buffer, const std::string& problem) {
  throw BufferError(buffer, problem);
}

void check(std::size_t index, const Buffer& buffer) {
  const auto text = [](std::int64_t value) { return std::to_string(value); };
  if (buffer.size < 0) refuse(index, "has a negative size: " + text(buffer.size));
  if (buffer.lower > buffer.upper) {
    refuse(index, "ends before it begins: it is alive in [" + text(buffer.lower) + ", " +
                      text(buffer.upper) + ")");
  }
  if (buffer.alignment <= 0 || !std::has_single_bit(static_cast<std::uint64_t>(buffer.alignment)))
    refuse(index, "has alignment " + text(buffer.alignment) + "; give a power of two");
  if (buffer.group < -1)
    refuse(index, "has group " + text(buffer.group) + "; give -1 for none, or 0 and above");
  for (const Gap& gap : buffer.gaps) {
    if (gap.lower < buffer.lower || gap.upper > buffer.upper || gap.upper < gap.lower) {
      refuse(index, "has a gap in [" + text(gap.lower) + ", " + text(gap.upper) +
                        "), which is no part of its lifetime");
    }
    if (gap.bottom < 0 || gap.top < gap.bottom) {
      refuse(index, "has a gap that leaves [" + text(gap.bottom) + ", " + text(gap.top) +
                        "), which is no part of it");
    }
  }
  if (!buffer.offset) return;
  if (*buffer.offset < 0) refuse(index, "has a negative offset: " + text(*buffer.offset));
  if (*buffer.offset % buffer.alignment != 0) {
    refuse(index, "must lie at " + text(*buffer.offset) +
                      ", which is no multiple of its alignment " + text(buffer.alignment));
  }
}

}  // namespace

void check(const OffsetProblem& problem) {
  std::int64_t room = kLargest;  // left for whatever the other buffers may need
  for (std::size_t i = 0; i < problem.buffers.size(); ++i) {
    const Buffer& buffer = problem.buffers[i];
    check(i, buffer);
    // Subtracting one by one: no sum may overflow.
    for (const std::int64_t part : {buffer.size, buffer.alignment}) {
      if (part > room) refuse(i, "brings the sum of all sizes and alignments beyond 2^60");
      room -= part;
    }
    if (buffer.offset.value_or(0) > kLargest)
      refuse(i, "must lie at " + std::to_string(*buffer.offset) + ", beyond 2^60");
  }
}

void check_fixed(const OffsetProblem& problem, const Prepared& prepared) {
  std::vector<std::size_t> buffer_of(prepared.offsets.size());
  for (std::size_t i = problem.buffers.size(); i-- > 0;) {
    if (prepared.block_of[i] >= 0) buffer_of[static_cast<std::size_t>(prepared.block_of[i])] = i;
  }
  for (const Instance& part : prepared.parts) {
    struct Event {
      int section;
      bool begins;
      std::size_t block;
      Units bottom;
      Units top;
    };
    std::vector<Event> events;
    for (std::size_t i = 0; i < part.blocks.size(); ++i) {
      const Block& block = part.blocks[i];
      if (block.fixed == kAnywhere) continue;
      const auto add = [&](const Solid& solid) {
        events.push_back(
            {solid.begin, true, i, block.fixed + solid.bottom, block.fixed + solid.top});
        events.push_back(
            {solid.end, false, i, block.fixed + solid.bottom, block.fixed + solid.top});
      };
      if (part.shapes.empty()) {
        add({block.begin, block.end, 0, block.size});
      } else {
        for (const Solid& solid : part.shapes[i]) add(solid);
      }
    }
    std::sort(events.begin(), events.end(), [](const Event& a, const Event& b) {
      return a.section != b.section ? a.section < b.section : a.begins < b.begins;
    });
    struct Held {
      Units top;
      std::size_t block;
    };
    std::map<Units, Held> alive;  // by offset; they do not overlap
    for (const Event& event : events) {
      if (!event.begins) {
        alive.erase(event.bottom);
        continue;
      }
      const auto above = alive.lower_bound(event.bottom);
      const auto refuse_with = [&](std::size_t other) {
        const auto name = [&](std::size_t i) {
          return buffer_of[static_cast<std::size_t>(part.ids[i])];
        };
        refuse(std::max(name(event.block), name(other)),
               "must lie where buffer " + std::to_string(std::min(name(event.block), name(other))) +
                   " must lie at the same time");
      };
      if (above != alive.end() && above->first < event.top) refuse_with(above->second.block);
      if (above != alive.begin()) {
        const auto below = std::prev(above);
        if (below->second.top > event.bottom) refuse_with(below->second.block);
      }
      alive.emplace(event.bottom, Held{event.top, event.block});
    }
  }
}

}  // namespace tenure::planner::offsets
