#include <fmt/format.h>

#include <algorithm>

#include "tenure/graph/passes/rematerialize.h"

namespace tenure::graph {
namespace {

/// The group of each unit; -1: none.
std::vector<int> groups_of(const Lowered& lowered) {
  std::vector<int> groups(lowered.units.size(), -1);
  for (std::size_t g = 0; g < lowered.groups.size(); ++g) {
    for (int u = lowered.groups[g].begin; u < lowered.groups[g].end; ++u) {
      groups[at(u)] = static_cast<int>(g);
    }
  }
  return groups;
}

/// But for the buffer.
bool is_alike(const Layout& a, const Layout& b) {
  return a.dtype == b.dtype && a.shape == b.shape && a.strides == b.strides && a.offset == b.offset;
}

/// Whether `part` is the first of so many pieces of `whole` along the first axis, each as long as
/// `advance` says.
bool is_first_piece(const Layout& whole, const Layout& part, int parts, std::int64_t advance) {
  Layout together = part;
  if (together.shape.empty()) return false;
  together.shape[0] *= parts;
  return is_alike(whole, together) && advance == part.strides[0] * part.shape[0];
}

/// The last element that a layout has, counted from the first of its buffer.
std::int64_t last_element(const Layout& layout) {
  std::int64_t last = layout.offset;
  for (int axis = 0; axis < layout.shape.size(); ++axis) {
    last += (layout.shape[axis] - 1) * std::max<std::int64_t>(layout.strides[axis], 0);
  }
  return last;
}

class Rewriting {
 public:
  Rewriting(const Lowered& original, const Lowered& rewritten)
      : original_(original),
        rewritten_(rewritten),
        groups_(groups_of(rewritten)),
        holds_(rewritten.buffers.size(), -1) {}

  std::optional<std::string> run() {
    if (rewritten_.buffers.size() < original_.buffers.size()) return "buffers are missing";
    for (std::size_t b = 0; b < original_.buffers.size(); ++b) {
      if (original_.buffers[b].unit < 0) holds_[b] = static_cast<int>(b);
    }
    std::vector<int> times(original_.units.size());
    for (std::size_t t = 0; t < rewritten_.units.size(); ++t) {
      const Unit& copy = rewritten_.units[t];
      if (copy.origin < 0 || at(copy.origin) >= original_.units.size()) {
        return fmt::format("step {} is no unit of the program", t);
      }
      ++times[at(copy.origin)];
      if (const char* const problem = problem_with(static_cast<int>(t), copy)) {
        return fmt::format("step {} {}", t, problem);
      }
    }
    for (std::size_t u = 0; u < times.size(); ++u) {
      if (times[u] == 0) return fmt::format("unit {} is never computed", u);
    }
    for (std::size_t b = 0; b < original_.buffers.size(); ++b) {
      if (original_.buffers[b].kind == Buffer::Kind::output && holds_[b] != static_cast<int>(b)) {
        return fmt::format("output {} is not there at the end", original_.buffers[b].index);
      }
    }
    return std::nullopt;
  }

 private:
  const char* problem_with(int t, const Unit& copy) {
    const Unit& unit = original_.units[at(copy.origin)];
    if (copy.node - rewritten_.request.program.nodes.data() !=
            unit.node - original_.request.program.nodes.data() ||
        copy.in.size() != unit.in.size() || copy.out.size() != unit.out.size()) {
      return "does something else than its unit";
    }
    const int group = groups_[at(t)];
    if (copy.parts != (group < 0 ? 1 : rewritten_.groups[at(group)].parts)) {
      return "has other parts than its group";
    }
    for (std::size_t i = 0; i < unit.in.size(); ++i) {
      const Buffer& buffer = rewritten_.buffers[at(copy.in[i].buffer)];
      if (holds_[at(copy.in[i].buffer)] != unit.in[i].buffer) return "does not find what it reads";
      const bool is_within = group >= 0 && buffer.unit >= 0 && groups_[at(buffer.unit)] == group;
      if (buffer.is_of_part && !is_within) return "reads a part of what others do";
      const bool is_whole = is_alike(unit.in[i], copy.in[i]) && copy.in[i].advance == 0;
      if (is_whole && is_within) return "reads what is not complete";
      if (!is_whole && !has_pieces(unit.in[i], copy.in[i], copy.parts, is_within)) {
        return "reads an input in another way";
      }
    }
    for (std::size_t o = 0; o < unit.out.size(); ++o) {
      const bool is_whole = is_alike(unit.out[o], copy.out[o]) && copy.out[o].advance == 0;
      if (is_whole && copy.parts > 1 && !copy.adds) return "writes a result once for each part";
      if (!is_whole && !has_pieces(unit.out[o], copy.out[o], copy.parts, true)) {
        return "writes a result in another way";
      }
      const Buffer& buffer = rewritten_.buffers[at(copy.out[o].buffer)];
      const std::int64_t bytes = buffer.is_of_part ? buffer.bytes * copy.parts : buffer.bytes;
      if (bytes != original_.buffers[at(unit.out[o].buffer)].bytes) {
        return "writes a buffer of another size";
      }
      holds_[at(copy.out[o].buffer)] = unit.out[o].buffer;
    }
    return nullptr;
  }

  /// Whether the parts of a layout are all of the original. Those of one group must agree on what a
  /// piece is: a range of the buffer's bytes.
  bool has_pieces(const Layout& whole, const Layout& part, int parts, bool agrees) const {
    const Buffer& buffer = rewritten_.buffers[at(part.buffer)];
    const auto element = static_cast<std::int64_t>(size_of(part.dtype));
    const std::int64_t piece = buffer.bytes / (buffer.is_of_part ? 1 : parts) / element;
    if (buffer.is_of_part != (part.advance == 0)) return false;
    if (agrees && last_element(part) >= piece) return false;
    return is_first_piece(whole, part, parts, agrees ? piece : part.advance);
  }

  const Lowered& original_;
  const Lowered& rewritten_;
  std::vector<int> groups_;  // per unit of the rewritten program
  /// What each buffer of the rewritten program holds: the result of a unit, by the original's
  /// buffer for it; -1: nothing yet.
  std::vector<int> holds_;
};

}  // namespace

std::optional<std::string> validate(const Lowered& original, const Lowered& rewritten) {
  return Rewriting(original, rewritten).run();
}

}  // namespace tenure::graph
