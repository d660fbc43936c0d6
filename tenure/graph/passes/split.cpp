#include "tenure/graph/passes/split.h"

#include <algorithm>
#include <utility>

#include "tenure/base/error.h"
#include "tenure/graph/ir/body.h"

namespace tenure::graph {
namespace {

/// Cuts what is read along the first axis of what a loop over `shape` makes of it.
bool is_cut_with(const Layout& in, const Shape& shape) {
  return in.shape.size() == shape.size() && !shape.empty() && in.shape[0] == shape[0];
}

bool divides(int parts, const Shape& shape, std::int64_t least = 1) {
  return !shape.empty() && shape[0] % parts == 0 && shape[0] / parts >= least;
}

/// A unit as its kernel sees it, without the loops around it.
struct KernelCall {
  std::vector<ops::View> in{};
  std::vector<ops::View> out{};
};

ops::View view_of(const ops::Spec& spec) {
  return {.dtype = spec.dtype,
          .shape = spec.shape,
          .strides = contiguous_strides(spec.shape),
          .data = nullptr};
}

/// Inputs of the loop before the kernel, of the kernel without what that loop makes, and the first
/// input of the loop behind it.
struct Inputs {
  explicit Inputs(const Unit& unit)
      : kernel(unit.loop.inputs()),
        after(unit.in.size() - (unit.after.empty() ? 0 : unit.after.inputs() - 1)) {}
  std::size_t kernel;
  std::size_t after;
};

KernelCall kernel_call(const Unit& unit) {
  const Inputs inputs(unit);
  KernelCall call;
  if (!unit.loop.empty()) call.in.push_back(graph::view_of(unit.made));
  for (std::size_t i = inputs.kernel; i < inputs.after; ++i) {
    call.in.push_back(graph::view_of(unit.in[i]));
  }
  for (const ops::Spec& spec : unit.node->outputs) call.out.push_back(view_of(spec));
  return call;
}

std::optional<ops::Parts> rule_of(const Unit& unit) {
  const ops::OpRecord& op = *unit.node->op;
  if (op.parts == nullptr) return std::nullopt;
  const KernelCall call = kernel_call(unit);
  return op.parts({.op = op.name,
                   .in = call.in,
                   .out = call.out,
                   .attributes = unit.node->attribute_list(),
                   .workspace = {}});
}

/// Whether what has one index of the first axis lies apart from what has another.
bool has_first_outermost(const Layout& layout) {
  for (int axis = 1; axis < layout.shape.size(); ++axis) {
    if (layout.strides[axis] * layout.shape[axis] > layout.strides[0]) return false;
  }
  return true;
}

/// A loop, or a copy.
std::optional<UnitCut> loop_cut(const Unit& unit, int parts) {
  const Shape& shape = unit.out[0].shape;
  if (!divides(parts, shape)) return std::nullopt;
  UnitCut cut{.in = {}, .out = {true}};
  for (const Layout& in : unit.in) cut.in.push_back(is_cut_with(in, shape));
  return cut;
}

std::optional<UnitCut> kernel_cut(const Unit& unit, int parts) {
  const std::optional<ops::Parts> rule = rule_of(unit);
  if (!rule || (rule->sums != 0 && !unit.slot->adds)) return std::nullopt;
  // A kernel that leads a loop takes its room for all of its result.
  if (!unit.after.empty() || (!unit.loop.empty() && rule->sums != 0)) return std::nullopt;
  const Inputs inputs(unit);
  UnitCut cut{.in = std::vector<bool>(unit.in.size()), .out = {}};
  const std::size_t made = unit.loop.empty() ? 0 : 1;  // inputs of the kernel that are in no buffer
  if (made == 1 && (rule->in & 1) != 0) {
    if (!divides(parts, unit.made.shape, rule->least)) return std::nullopt;
    for (std::size_t i = 0; i < inputs.kernel; ++i) {
      cut.in[i] = is_cut_with(unit.in[i], unit.made.shape);
    }
  }
  for (std::size_t i = inputs.kernel; i < inputs.after; ++i) {
    if ((rule->in >> (i - inputs.kernel + made) & 1) == 0) continue;
    if (!divides(parts, unit.in[i].shape, rule->least)) return std::nullopt;
    cut.in[i] = true;
  }
  for (std::size_t i = inputs.after; i < unit.in.size(); ++i) {
    cut.in[i] = is_cut_with(unit.in[i], unit.out[0].shape);
  }
  for (std::size_t o = 0; o < unit.out.size(); ++o) {
    cut.out.push_back((rule->sums >> o & 1) == 0);
    if (cut.out[o] && (!has_first_outermost(unit.out[o]) || !divides(parts, unit.out[o].shape) ||
                       !divides(parts, unit.node->outputs[o].shape, rule->least))) {
      return std::nullopt;
    }
  }
  return cut;
}

/// Whether the pieces of what is read are those of the buffer: ranges of its bytes.
bool is_outermost(const Layout& layout, const Buffer& buffer, int parts) {
  const std::int64_t piece =
      buffer.bytes / parts / static_cast<std::int64_t>(size_of(layout.dtype));
  std::int64_t last = layout.offset;  // element of the first piece
  for (int axis = 0; axis < layout.shape.size(); ++axis) {
    const std::int64_t n = axis == 0 ? layout.shape[0] / parts : layout.shape[axis];
    if (n == 0 || layout.strides[axis] < 0) return false;
    last += (n - 1) * layout.strides[axis];
  }
  return last < piece && layout.strides[0] * (layout.shape[0] / parts) == piece;
}

/// Who reads a buffer: the first and the last unit; -1: nobody.
struct Readers {
  int first = -1;
  int last = -1;
};

std::vector<Readers> readers_of(const Lowered& lowered) {
  std::vector<Readers> readers(lowered.buffers.size());
  for (std::size_t u = 0; u < lowered.units.size(); ++u) {
    for (const Layout& in : lowered.units[u].in) {
      Readers& of = readers[at(in.buffer)];
      if (of.first < 0) of.first = static_cast<int>(u);
      of.last = static_cast<int>(u);
    }
  }
  return readers;
}

bool is_in(const PartGroup& group, int unit) { return unit >= group.begin && unit < group.end; }

class Splitting {
 public:
  Splitting(Lowered& lowered, const PartGroup& group)
      : lowered_(lowered), group_(group), cut_everywhere_(lowered.buffers.size(), true) {
    for (int u = group.begin; u < group.end; ++u) {
      std::optional<UnitCut> found = cut_of(unit(u), group.parts);
      internal_check(found.has_value(), "a unit that cannot run in parts is in a group");
      cuts_.push_back(std::move(*found));
    }
  }

  void run() && {
    const std::vector<Readers> readers = readers_of(lowered_);
    for (int u = group_.begin; u < group_.end; ++u) {
      const UnitCut& cut = cuts_[at(u - group_.begin)];
      for (std::size_t o = 0; o < unit(u).out.size(); ++o) {
        Buffer& buffer = lowered_.buffers[at(unit(u).out[o].buffer)];
        const Readers& of = readers[at(unit(u).out[o].buffer)];
        buffer.is_of_part = cut.out[o] && buffer.kind == Buffer::Kind::temporary &&
                            (of.first < 0 || (is_in(group_, of.first) && is_in(group_, of.last)));
        if (buffer.is_of_part) buffer.bytes /= group_.parts;
      }
      // A piece of a view may lie all over the buffer, as columns of a matrix do.
      for (std::size_t i = 0; i < unit(u).in.size(); ++i) {
        const Layout& in = unit(u).in[i];
        const Buffer& whole = lowered_.buffers[at(in.buffer)];
        const bool is_piece =
            cut.in[i] && (whole.is_of_part || is_outermost(in, whole, group_.parts));
        if (!is_piece) cut_everywhere_[at(in.buffer)] = false;
      }
    }
    for (int u = group_.begin; u < group_.end; ++u) split(unit(u), cuts_[at(u - group_.begin)]);
  }

 private:
  Unit& unit(int u) { return lowered_.units[at(u)]; }

  void split(Unit& unit, const UnitCut& cut) {
    unit = first_part(unit, cut, group_.parts);
    const auto set_advance = [&](Layout& layout) {
      if (lowered_.buffers[at(layout.buffer)].is_of_part) return;
      layout.advance = layout.strides[0] * layout.shape[0];
    };
    for (std::size_t i = 0; i < unit.in.size(); ++i) {
      if (cut.in[i]) set_advance(unit.in[i]);
    }
    for (std::size_t o = 0; o < unit.out.size(); ++o) {
      if (cut.out[o]) set_advance(unit.out[o]);
      for (std::size_t i = 0; i < unit.in.size() && i < 32; ++i) {
        if (!may_overwrite(unit.in[i], unit.out[o], cut.in[i])) unit.overwrites[o] &= ~(1u << i);
      }
    }
    const ops::Backend& device = ops::backend(lowered_.request.device);
    unit.workspace = workspace_on(unit, device, 1);
    unit.threads = workspace_on(unit, device, device.threads()) == unit.workspace ? kAnyThreads : 1;
  }

  /// A piece that is in the place of a piece: of one part both, or of buffers that are all there,
  /// if nobody in the group needs more of the input than its piece.
  bool may_overwrite(const Layout& in, const Layout& out, bool is_cut) const {
    if (!is_cut || !cut_everywhere_[at(in.buffer)]) return false;
    return lowered_.buffers[at(in.buffer)].is_of_part ==
               lowered_.buffers[at(out.buffer)].is_of_part &&
           in.advance == out.advance;
  }

  Lowered& lowered_;
  PartGroup group_;
  std::vector<UnitCut> cuts_;
  std::vector<bool> cut_everywhere_;  // per buffer: who reads it in the group reads a piece of it
};

}  // namespace

std::optional<UnitCut> cut_of(const Unit& unit, int parts) {
  if (parts < 2 || unit.parts != 1 || unit.may_fail) return std::nullopt;
  if (unit.nodes == 0) return loop_cut(unit, parts);
  const ops::OpRecord& op = *unit.node->op;
  const bool is_bound = op.may_fail || op.data_dependent || op.draws != nullptr ||
                        unit.slot->check != nullptr || bodies_in(*unit.node) != nullptr;
  if (is_bound) return std::nullopt;
  return is_loop(unit) ? loop_cut(unit, parts) : kernel_cut(unit, parts);
}

Unit first_part(const Unit& unit, const UnitCut& cut, int parts) {
  Unit part = unit;
  part.parts = parts;
  if (!unit.loop.empty() && !is_loop(unit) && (rule_of(unit)->in & 1) != 0) {
    part.made.shape[0] /= parts;
    part.made.strides = contiguous_strides(part.made.shape);
  }
  for (std::size_t i = 0; i < part.in.size(); ++i) {
    if (cut.in[i]) part.in[i].shape[0] /= parts;
  }
  for (std::size_t o = 0; o < part.out.size(); ++o) {
    if (cut.out[o]) {
      part.out[o].shape[0] /= parts;
    } else {
      part.adds = true;
    }
  }
  return part;
}

std::vector<int> part_counts(const Unit& unit) {
  constexpr std::int64_t kMost = 64;
  constexpr std::size_t kFew = 6;
  std::vector<int> counts;
  std::int64_t size = 0;
  for (const Layout& layout : unit.in) {
    if (!layout.shape.empty()) size = std::max(size, layout.shape[0]);
  }
  for (const Layout& layout : unit.out) {
    if (!layout.shape.empty()) size = std::max(size, layout.shape[0]);
  }
  for (int parts = 2; parts <= std::min(size, kMost) && counts.size() < kFew; ++parts) {
    const bool is_more = counts.empty() || parts * 2 >= counts.back() * 3;
    if (is_more && cut_of(unit, parts)) counts.push_back(parts);
  }
  return counts;
}

bool GroupBuilder::add(const Unit& unit) {
  const std::optional<UnitCut> cut = cut_of(unit, parts_);
  if (!cut) return false;
  for (std::size_t i = 0; i < unit.in.size(); ++i) {
    const Written written = written_[at(unit.in[i].buffer)];
    if (written == Written::before) continue;
    const Buffer& buffer = lowered_.buffers[at(unit.in[i].buffer)];
    if (written == Written::as_sum || !cut->in[i] || !is_outermost(unit.in[i], buffer, parts_)) {
      return false;
    }
  }
  for (std::size_t o = 0; o < unit.out.size(); ++o) {
    written_[at(unit.out[o].buffer)] = cut->out[o] ? Written::in_pieces : Written::as_sum;
  }
  return true;
}

bool GroupBuilder::feeds(const Unit& unit) const {
  return std::any_of(unit.in.begin(), unit.in.end(),
                     [&](const Layout& in) { return written_[at(in.buffer)] != Written::before; });
}

bool can_split(const Lowered& lowered, const PartGroup& group) {
  GroupBuilder builder(lowered, group.parts);
  for (int u = group.begin; u < group.end; ++u) {
    if (!builder.add(lowered.units[at(u)])) return false;
  }
  return true;
}

std::unique_ptr<Lowered> split_units(const Lowered& lowered, std::vector<PartGroup> groups) {
  auto made = std::make_unique<Lowered>(lowered);
  for (Unit& unit : made->units) {  // Nodes are those of the copy of the program.
    unit.node =
        made->request.program.nodes.data() + (unit.node - lowered.request.program.nodes.data());
  }
  for (const PartGroup& group : groups) Splitting(*made, group).run();
  made->groups = std::move(groups);
  return made;
}

std::vector<GroupSpan> group_spans(const Lowered& lowered) {
  std::vector<GroupSpan> spans;
  for (int u = 0; u < static_cast<int>(lowered.units.size()); ++u) spans.push_back({u, u});
  for (const PartGroup& group : lowered.groups) {
    for (int u = group.begin; u < group.end; ++u) spans[at(u)] = {group.begin, group.end - 1};
  }
  return spans;
}

}  // namespace tenure::graph
