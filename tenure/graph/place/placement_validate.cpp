#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "tenure/graph/place/failure.h"
#include "tenure/graph/place/placement.h"

namespace tenure::graph {
namespace {

/// Bytes [begin, end) after one base, and the buffer that was written there last; -1: scratch.
struct Written {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  int buffer = -1;
};

class Memory {
 public:
  void write(const Place& place, std::int64_t bytes, int buffer) {
    const std::int64_t end = place.offset + bytes;
    std::vector<Written> written;
    for (const Written& w : bases_[place.base]) {  // what lies before and behind stays
      if (w.begin < place.offset) {
        written.push_back({w.begin, std::min(w.end, place.offset), w.buffer});
      }
      if (w.end > end) written.push_back({std::max(w.begin, end), w.end, w.buffer});
    }
    written.push_back({place.offset, end, buffer});
    bases_[place.base] = std::move(written);
  }
  /// Whether all of these bytes were written last for the buffer, at once or piece by piece.
  bool holds(const Place& place, std::int64_t bytes, int buffer) const {
    const auto found = bases_.find(place.base);
    if (found == bases_.end()) return false;
    std::int64_t held = 0;  // what was written does not overlap
    for (const Written& w : found->second) {
      if (w.buffer != buffer) continue;
      held += std::max<std::int64_t>(
          std::min(w.end, place.offset + bytes) - std::max(w.begin, place.offset), 0);
    }
    return held == bytes;
  }

 private:
  std::map<int, std::vector<Written>> bases_;
};

/// Bytes of a buffer that a part of a unit reads or writes, after its first.
struct Piece {
  std::int64_t begin = 0;
  std::int64_t bytes = 0;
};

Piece piece_of(const Lowered& lowered, const Unit& unit, const Layout& layout, int part) {
  const std::int64_t bytes = lowered.buffers[static_cast<std::size_t>(layout.buffer)].bytes;
  if (layout.advance == 0) return {0, bytes};
  return {bytes / unit.parts * part, bytes / unit.parts};
}

/// From the first byte that a part of a unit reads to the last one. A piece of a view may lie all
/// over its buffer.
Piece read_by(const Lowered& lowered, const Unit& unit, const Layout& layout, int part) {
  if (layout.advance == 0) return piece_of(lowered, unit, layout, part);
  std::int64_t first = layout.offset + part * layout.advance;
  std::int64_t last = first;
  for (int axis = 0; axis < layout.shape.size(); ++axis) {
    if (layout.shape[axis] == 0) return {};
    const std::int64_t step = (layout.shape[axis] - 1) * layout.strides[axis];
    (step < 0 ? first : last) += step;
  }
  const auto size = static_cast<std::int64_t>(size_of(layout.dtype));
  return {first * size, (last + 1 - first) * size};
}

/// Each unit as often as it runs, in the order in which it does.
std::vector<std::pair<int, int>> runs_of(const Lowered& lowered, const std::vector<int>& order) {
  std::vector<std::pair<int, int>> runs;  // the step, and the part
  for (int t = 0; t < static_cast<int>(order.size());) {
    const auto group = std::find_if(
        lowered.groups.begin(), lowered.groups.end(),
        [&](const PartGroup& g) { return g.begin == order[static_cast<std::size_t>(t)]; });
    const int end = group == lowered.groups.end() ? t + 1 : t + group->end - group->begin;
    const int parts = group == lowered.groups.end() ? 1 : group->parts;
    for (int part = 0; part < parts; ++part) {
      for (int step = t; step < end; ++step) runs.emplace_back(step, part);
    }
    t = end;
  }
  return runs;
}

/// `taking` tells whether outputs take over what variables held.
std::optional<std::string> validate(const Lowered& lowered, Placement placement, bool taking) {
  const Bases bases(lowered);
  const int arena = bases.arena;
  for (Place& place : placement.buffers) {
    if (place.base < bases.output || place.base >= bases.end) continue;
    const int reused = placement.reused[static_cast<std::size_t>(place.base - bases.output)];
    if (reused < 0) continue;
    const Buffer& buffer = lowered.buffers[static_cast<std::size_t>(reused)];
    if (!buffer.is_reusable) return fmt::format("buffer {} is not reusable", reused);
    if (buffer.kind == Buffer::Kind::input || taking) {
      place.base = placement.buffers[static_cast<std::size_t>(reused)].base;
    }
  }
  Memory memory;
  const auto is_changed = [&](std::size_t b) {
    const Buffer& buffer = lowered.buffers[b];
    return buffer.unit < 0 && buffer.bytes != 0 &&
           !memory.holds(placement.buffers[b], buffer.bytes, static_cast<int>(b));
  };
  for (std::size_t b = 0; b < lowered.buffers.size(); ++b) {
    const Buffer& buffer = lowered.buffers[b];
    if (buffer.unit < 0) memory.write(placement.buffers[b], buffer.bytes, static_cast<int>(b));
    if (placement.buffers[b].base == arena &&
        placement.buffers[b].offset + buffer.bytes > placement.arena) {
      return fmt::format("buffer {} ends above the arena", b);
    }
  }
  std::vector<bool> done(lowered.units.size());
  const std::vector<bool> fallible = fallible_steps(lowered, placement.order);
  for (const auto& [step, part] : runs_of(lowered, placement.order)) {
    const auto t = static_cast<std::size_t>(step);
    const int u = placement.order[t];
    const Unit& unit = lowered.units[static_cast<std::size_t>(u)];
    if (part >= unit.parts) return fmt::format("unit {} runs in more parts than it has", u);
    const auto place_of = [&](const Layout& layout, const Piece& piece) {
      Place place = placement.buffers[static_cast<std::size_t>(layout.buffer)];
      place.offset += piece.begin;
      return place;
    };
    const auto place_of_piece = [&, part = part](const Layout& layout) {
      return place_of(layout, piece_of(lowered, unit, layout, part));
    };
    const auto lost = [&, part = part](const std::vector<Layout>& layouts,
                                       const auto& piece_for) -> std::optional<std::string> {
      for (const Layout& layout : layouts) {
        const Piece piece = piece_for(lowered, unit, layout, part);
        if (piece.bytes != 0 &&
            !memory.holds(place_of(layout, piece), piece.bytes, layout.buffer)) {
          return fmt::format("unit {} does not find buffer {}", u, layout.buffer);
        }
      }
      return std::nullopt;
    };
    if (auto problem = lost(unit.in, read_by)) return problem;
    for (std::size_t b = 0; b < lowered.buffers.size() && fallible[t]; ++b) {
      if (is_changed(b)) return fmt::format("unit {} may fail after buffer {} has gone", u, b);
    }
    const Place& scratch = placement.workspaces[static_cast<std::size_t>(u)];
    if (unit.workspace != 0) {
      if (scratch.offset + static_cast<std::int64_t>(unit.workspace) > placement.arena) {
        return fmt::format("the workspace of unit {} ends above the arena", u);
      }
      memory.write(scratch, static_cast<std::int64_t>(unit.workspace), -1);
      if (auto problem = lost(unit.in, read_by)) return problem;
    }
    for (const Layout& out : unit.out) {
      const std::int64_t bytes = piece_of(lowered, unit, out, part).bytes;
      const bool is_sum = unit.adds && out.advance == 0 &&
                          !lowered.buffers[static_cast<std::size_t>(out.buffer)].is_of_part;
      if (is_sum && part > 0 && !memory.holds(place_of_piece(out), bytes, out.buffer)) {
        return fmt::format("unit {} does not find the sum that it adds to", u);
      }
      memory.write(place_of_piece(out), bytes, out.buffer);
    }
    if (auto problem = lost(unit.out, piece_of)) return problem;
    if (unit.workspace != 0 &&
        !memory.holds(scratch, static_cast<std::int64_t>(unit.workspace), -1)) {
      return fmt::format("unit {} writes to its own workspace", u);
    }
    done[static_cast<std::size_t>(u)] = true;
  }
  if (std::find(done.begin(), done.end(), false) != done.end()) return "a unit does not run";
  for (std::size_t b = 0; b < lowered.buffers.size(); ++b) {
    const Buffer& buffer = lowered.buffers[b];
    if (buffer.kind == Buffer::Kind::output && buffer.bytes != 0 &&
        !memory.holds(placement.buffers[b], buffer.bytes, static_cast<int>(b))) {
      return fmt::format("output {} is overwritten", buffer.index);
    }
    if (!buffer.is_reusable && is_changed(b)) return fmt::format("buffer {} is not the run's", b);
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> validate(const Lowered& lowered, const Placement& placement) {
  auto problem = validate(lowered, placement, true);
  return problem ? problem : validate(lowered, placement, false);
}

}  // namespace tenure::graph
