#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <vector>

#include "tenure/graph/ir/program.h"
#include "tenure/graph/passes/specialize.h"
#include "tenure/ops/core/backend.h"
#include "tenure/planner/dag.h"

namespace tenure::graph {

/// Of a kernel whose workspace does not depend on the number of threads.
inline constexpr int kAnyThreads = std::numeric_limits<int>::max();

/// The number of a unit, a buffer or a step, as an index.
inline std::size_t at(int number) { return static_cast<std::size_t>(number); }

/// Memory that units read and write.
struct Buffer {
  enum class Kind : std::uint8_t {
    input,      ///< what a run is given
    source,     ///< a constant or a variable
    number,     ///< one number, kept with the program, repeated for small loops
    temporary,  ///< in the arena
    output,     ///< a tensor that a run returns
  };
  Kind kind = Kind::temporary;
  int index = 0;  ///< among those of its kind
  std::int64_t bytes = 0;
  int unit = -1;  ///< that writes it
  /// A donated input, or what a variable held that the run assigns to: once nobody reads it any
  /// more, something else may be computed there.
  bool is_reusable = false;
  /// Written and read by the units of one group alone: it holds one part at a time.
  bool is_of_part = false;
};

/// A tensor that a run finds: a constant, or what a variable holds.
struct Source {
  Tensor constant{};
  std::shared_ptr<VariableState> variable{};
  bool is_assigned = false;  ///< the run assigns to the variable too
};

/// What a variable gets at the end of a run. No two variables get one output.
struct Assignment {
  std::shared_ptr<VariableState> variable{};
  int output = 0;
};

/// How a value reads its buffer.
struct Layout {
  int buffer = -1;
  DType dtype{};
  Shape shape{};
  Strides strides{};
  std::int64_t offset = 0;   ///< in elements
  std::int64_t advance = 0;  ///< of a unit in parts: elements from one part to the next
};

/// Without data.
inline ops::View view_of(const Layout& layout) {
  return {.dtype = layout.dtype, .shape = layout.shape, .strides = layout.strides, .data = nullptr};
}

inline ops::LayoutRef ref_of(const Layout& layout) {
  return {layout.dtype, layout.shape, layout.strides};
}

/// Whether it reads all of its buffer, in order.
bool is_whole(const Layout& layout, const Buffer& buffer);

/// Elementwise nodes that are computed as one loop: as data, and as the program's device runs it.
struct FusedLoop {
  ops::Loop code{};           ///< empty: there is no loop
  std::uint32_t numbers = 0;  ///< bit i: its input i is a number of the program
  std::shared_ptr<const ops::PreparedLoop> prepared{};

  bool empty() const { return code.empty(); }
  std::size_t inputs() const { return code.in_types.size(); }
};

/// Something that a run does: one fused loop, or one kernel, which loops may join: one that makes
/// its first input on the way, and one that follows its result. What a unit reads are the inputs of
/// the first, then the kernel's others, then those of the second.
struct Unit {
  const Node* node = nullptr;  ///< of the kernel, or the last one of a loop
  /// What the program's device has for that node's op; nullptr: it is a copy.
  const ops::KernelSlot* slot = nullptr;
  int nodes = 1;
  /// The program's nodes that it computes, ascending: its result is that of the last. Of a copy,
  /// none.
  std::vector<std::int32_t> members{};
  std::vector<Layout> in{};
  std::vector<Layout> out{};
  FusedLoop loop{};   ///< there if it is elementwise, or a loop makes its first input
  Layout made{};      ///< what that loop makes, in no buffer
  FusedLoop after{};  ///< there if a loop follows; its first input is the kernel's result
  std::size_t workspace = 0;
  int threads = kAnyThreads;  ///< that the workspace is for: its kernel uses no more
  /// Per result, bit i: may be computed in the memory of in[i].
  std::vector<std::uint32_t> overwrites{};
  int parts = 1;          ///< it runs for each of so many; its layouts are those of the first
  bool adds = false;      ///< results without an advance are sums over the parts
  int origin = -1;        ///< of a copy: the unit of the program that it repeats
  bool may_fail = false;  ///< refuses some elements, before it writes
  std::vector<ops::IndexBound> bounds{};  ///< if known, all that it may refuse
};

/// Units from `begin` to before `end` that run in parts: all of them for the first part, then all
/// of them for the next.
struct PartGroup {
  int begin = 0;
  int end = 0;
  int parts = 1;
  friend bool operator==(const PartGroup&, const PartGroup&) = default;
};

/// A program as what a run does, in the program's order.
struct Lowered {
  Request request{};
  std::vector<Buffer> buffers{};
  std::vector<Unit> units{};
  /// Tensors of the program: constants, and what variables hold when a run begins.
  std::vector<Source> sources{};
  std::vector<std::vector<std::byte>> numbers{};
  std::vector<ops::Spec> inputs{};
  std::vector<ops::Spec> outputs{};
  std::vector<int> fetches{};  ///< the output that answers each fetch that the caller gets
  std::vector<Assignment> assignments{};
  /// By their units. A program that has some runs its units in the order in which they stand.
  std::vector<PartGroup> groups{};
  /// Of a program that has some: the same without parts, as a planner sees it; its nodes are the
  /// units.
  std::shared_ptr<const planner::Dag> whole{};
};

/// The first and the last unit of a group.
struct GroupSpan {
  int first = 0;
  int last = 0;
};
/// Of the group of each unit; a unit that is in none is its own. In split.cpp.
std::vector<GroupSpan> group_spans(const Lowered& lowered);

/// Bytes up to where the next buffer may begin on the program's device.
std::int64_t aligned(const Lowered& lowered, std::int64_t bytes);

/// Whether a call may be a step of a loop: those that may fail for certain values look at whole
/// tensors before anything is written.
inline bool is_loop_step(const Node& node) {
  return node.kind == Node::Kind::call && !node.op->may_fail &&
         (node.op->elementwise != nullptr || node.op->converts);
}

/// Whether it is a loop and no kernel. A conversion alone has a kernel of its own.
inline bool is_loop(const Unit& unit) {
  if (unit.nodes == 0) return false;
  const ops::OpRecord& op = *unit.node->op;
  return op.elementwise != nullptr || (op.converts && !unit.loop.empty());
}

/// The workspace that a unit wants on so many threads, or as many as the device has where those are
/// fewer.
std::size_t workspace_on(const Unit& unit, const ops::Backend& device, int threads);

}  // namespace tenure::graph
