#include <fmt/format.h>

#include <algorithm>

#include "tenure/graph/ir/body.h"
#include "tenure/graph/passes/kernel_layout.h"
#include "tenure/graph/passes/kernel_views.h"
#include "tenure/graph/passes/rematerialize.h"
#include "tenure/graph/run/executable.h"
#include "tenure/graph/run/observed_run.h"

namespace tenure::graph {
namespace {

/// All that it computes, in that order; the same several times in a row is said once.
std::string ops_of(const Unit& unit, const Lowered& lowered) {
  const std::string parts = unit.parts == 1 ? "" : fmt::format(", in {} parts", unit.parts);
  if (unit.members.empty()) return "copy" + parts;
  std::string text;
  const ops::OpRecord* last = nullptr;
  for (const std::int32_t member : unit.members) {
    const ops::OpRecord* const op = lowered.request.program.nodes[at(member)].op;
    if (op == last) continue;
    text += text.empty() ? "" : " + ";
    text += op->name;
    last = op;
  }
  return text + parts;
}

/// Copies of a unit are one to a planner.
int number_of(const Lowered& lowered, int unit) {
  const int origin = lowered.units[at(unit)].origin;
  return origin < 0 ? unit : origin;
}

/// What is in the buffer of a result. The layouts of a unit in parts are those of one part.
std::string layout_text(const Unit& unit, const Node& node, std::size_t output,
                        std::int64_t bytes) {
  const ops::Spec own{unit.out[output].dtype, unit.out[output].shape};
  const std::int64_t extended = extent(own.shape, unit.out[output].strides);  // with gaps
  if (extended * static_cast<std::int64_t>(size_of(own.dtype)) == bytes) return describe(own);
  const bool is_whole = output < node.outputs.size() && bytes_of(node.outputs[output]) == bytes;
  return is_whole ? describe(node.outputs[output]) : "";
}

/// What lies in the workspace of a unit, which begins there. A branch or a loop has the arena of
/// its bodies in it.
void add_workspace(const Unit& unit, std::int64_t offset, int step, mem::PlannedProgram& made) {
  const auto add = [&](std::int64_t begin, std::size_t bytes, std::string layout,
                       const char* role) {
    if (bytes == 0) return;
    made.buffers.push_back({.offset = begin,
                            .bytes = static_cast<std::int64_t>(bytes),
                            .first = step,
                            .last = step,
                            .category = Category::workspace,
                            .layout = std::move(layout),
                            .role = role});
  };
  if (unit.nodes == 0 || unit.slot->pieces == nullptr) {
    return add(offset, unit.workspace, "", "workspace");
  }
  const Bodies* const bodies = bodies_in(*unit.node);
  const auto compiled = compiled_in(unit.node->attribute_list());
  for (const ops::WorkspacePiece& piece : unit.slot->pieces(KernelViews(unit).kernel())) {
    const std::int64_t begin = offset + static_cast<std::int64_t>(piece.offset);
    if (piece.body < 0) {
      add(begin, piece.bytes, describe(piece.spec), piece.what);
    } else {
      made.bodies.push_back({.name = (*bodies)[at(piece.body)].name,
                             .step = step,
                             .offset = begin,
                             .program = compiled->programs[at(piece.body)]->program()});
    }
  }
}

}  // namespace

const Node& result_of(const Unit& unit, const Lowered& lowered) {
  return unit.members.empty() ? *unit.node : lowered.request.program.nodes[at(unit.members.back())];
}

std::vector<const std::string*> scopes_of_outputs(const Lowered& lowered) {
  std::vector<const std::string*> scopes(lowered.outputs.size());
  for (const Buffer& buffer : lowered.buffers) {
    if (buffer.kind != Buffer::Kind::output || buffer.unit < 0) continue;
    scopes[at(buffer.index)] = &result_of(lowered.units[at(buffer.unit)], lowered).scope;
  }
  return scopes;
}

mem::PlannedProgram Executable::program() const {
  const Lowered& low = *lowered_;
  const planner::Dag dag = low.whole == nullptr ? dag_of(low) : *low.whole;
  mem::PlannedProgram made;
  made.resident = dag.resident;
  const std::vector<GroupSpan> spans = group_spans(low);
  std::vector<bool> is_known(low.units.size());     // by unit
  std::vector<int> places(low.buffers.size(), -1);  // among made.buffers
  for (const Step& step : steps_) {
    if (step.part != 0) continue;
    const Unit& unit = *step.unit;
    const int u = static_cast<int>(&unit - low.units.data());
    const planner::Node& planned = dag.nodes[at(u)];
    const Node& node = result_of(unit, low);
    const int now = static_cast<int>(made.steps.size());
    const int number = number_of(low, u);
    const bool is_again = is_known[at(number)];
    is_known[at(number)] = true;
    // Those in groups stand in the order in which they run.
    const auto steps = [&](int buffer) {
      const bool is_short = unit.parts == 1 || low.buffers[at(buffer)].is_of_part;
      return is_short ? GroupSpan{now, now} : spans[at(u)];
    };
    mem::PlannedProgram::Step row{.op = ops_of(unit, low),
                                  .scope = node.scope,
                                  .site = node.site,
                                  .category = node.category,
                                  .unit = number,
                                  .live = plan_.steps[made.steps.size()].live,
                                  .cost = planned.cost,
                                  .bytes = planned.bytes,
                                  .workspace = static_cast<std::int64_t>(unit.workspace),
                                  .overwrites = planned.overwrites,
                                  .is_pure = planned.pure,
                                  .is_output = planned.output};
    for (const int input : planned.inputs) row.inputs.push_back(number_of(low, input));
    made.steps.push_back(std::move(row));

    for (const Layout& in : unit.in) {
      if (places[at(in.buffer)] < 0) continue;
      mem::PlannedProgram::Buffer& read = made.buffers[at(places[at(in.buffer)])];
      read.last = std::max(read.last, steps(in.buffer).last);
      const bool is_forth = read.category == Category::activation && !read.is_again;
      if (is_forth && node.category != Category::activation) read.is_saved = true;
    }
    for (std::size_t o = 0; o < unit.out.size(); ++o) {
      const int b = unit.out[o].buffer;
      // Some lie in the memory of an input or an output.
      const bool is_there = step.out[o].base == 0 && low.buffers[at(b)].bytes != 0 &&
                            low.buffers[at(b)].kind == Buffer::Kind::temporary;
      if (!is_there) continue;
      for (const Layout& in : unit.in) {  // what it is computed in has ended
        const int place = places[at(in.buffer)];
        if (place < 0 || made.buffers[at(place)].offset != step.out[o].offset) continue;
        made.buffers[at(place)].last = now - 1;
      }
      places[at(b)] = static_cast<int>(made.buffers.size());
      made.buffers.push_back({.offset = step.out[o].offset,
                              .bytes = low.buffers[at(b)].bytes,
                              .first = now,  // what it is, this step tells
                              .last = steps(b).last,
                              .category = node.category,
                              .is_again = is_again,
                              .layout = layout_text(unit, node, o, low.buffers[at(b)].bytes)});
    }
    add_workspace(unit, step.workspace.offset, now, made);
  }
  return made;
}

}  // namespace tenure::graph
