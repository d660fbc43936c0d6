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
    std::vector<Written>& written = bases_[place.base];
    std::erase_if(written, [&](const Written& w) {
      return w.begin < place.offset + bytes && place.offset < w.end;
    });
    written.push_back({place.offset, place.offset + bytes, buffer});
  }
  bool holds(const Place& place, std::int64_t bytes, int buffer) const {
    const auto found = bases_.find(place.base);
    if (found == bases_.end()) return false;
    return std::any_of(found->second.begin(), found->second.end(), [&](const Written& w) {
      return w.buffer == buffer && w.begin == place.offset && w.end == place.offset + bytes;
    });
  }

 private:
  std::map<int, std::vector<Written>> bases_;
};

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
  for (std::size_t t = 0; t < placement.order.size(); ++t) {
    const int u = placement.order[t];
    const Unit& unit = lowered.units[static_cast<std::size_t>(u)];
    const auto lost = [&](const std::vector<Layout>& layouts) -> std::optional<std::string> {
      for (const Layout& layout : layouts) {
        const auto b = static_cast<std::size_t>(layout.buffer);
        const std::int64_t bytes = lowered.buffers[b].bytes;
        if (bytes != 0 && !memory.holds(placement.buffers[b], bytes, layout.buffer)) {
          return fmt::format("unit {} does not find buffer {}", u, b);
        }
      }
      return std::nullopt;
    };
    if (auto problem = lost(unit.in)) return problem;
    for (std::size_t b = 0; b < lowered.buffers.size() && fallible[t]; ++b) {
      if (is_changed(b)) return fmt::format("unit {} may fail after buffer {} has gone", u, b);
    }
    const Place& scratch = placement.workspaces[static_cast<std::size_t>(u)];
    if (unit.workspace != 0) {
      if (scratch.offset + static_cast<std::int64_t>(unit.workspace) > placement.arena) {
        return fmt::format("the workspace of unit {} ends above the arena", u);
      }
      memory.write(scratch, static_cast<std::int64_t>(unit.workspace), -1);
      if (auto problem = lost(unit.in)) return problem;
    }
    for (const Layout& out : unit.out) {
      const auto b = static_cast<std::size_t>(out.buffer);
      memory.write(placement.buffers[b], lowered.buffers[b].bytes, out.buffer);
    }
    if (auto problem = lost(unit.out)) return problem;
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
