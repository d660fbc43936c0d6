#include "tenure/graph/passes/fuse.h"

#include "tenure/kernels/cpu/elementwise/fused.h"

namespace tenure::graph {
namespace {

/// Calls that may fail for certain values look at whole tensors before anything is written.
bool can_fuse(const Node& node) {
  return node.kind == Node::Kind::call && node.op->elementwise != nullptr &&
         node.op->elementwise->check == nullptr;
}

}  // namespace

std::vector<std::int32_t> fuse(const Program& program, std::span<const Value> fetches) {
  constexpr std::int32_t kNobody = -1;
  constexpr std::int32_t kSeveral = -2;
  constexpr int kMaxNodes = 24;
  const std::size_t n = program.nodes.size();
  std::vector<std::int32_t> loop(n);
  std::vector<std::int32_t> readers(n, kNobody);  // the loop that all readers are in
  std::vector<int> inputs(n);                     // of a loop, at most
  std::vector<int> size(n, 1);
  for (const Value fetch : fetches) readers[static_cast<std::size_t>(fetch.node)] = kSeveral;
  for (std::size_t i = n; i-- > 0;) {
    const Node& node = program.nodes[i];
    loop[i] = static_cast<std::int32_t>(i);
    const bool fusable = can_fuse(node);
    const int arity = static_cast<int>(node.arguments.size());
    if (fusable && readers[i] >= 0) {
      const auto root = static_cast<std::size_t>(readers[i]);
      const bool fits =
          inputs[root] + arity - 1 <= kernels::kMaxFusedInputs && size[root] < kMaxNodes;
      if (fits && can_fuse(program.nodes[root]) &&
          program.nodes[root].outputs[0].shape == node.outputs[0].shape) {
        loop[i] = readers[i];
        inputs[root] += arity - 1;
        ++size[root];
      }
    }
    if (loop[i] == static_cast<std::int32_t>(i)) inputs[i] = arity;
    for (const Argument& argument : node.arguments) {
      if (argument.number) continue;
      std::int32_t& reader = readers[static_cast<std::size_t>(argument.value.node)];
      const std::int32_t mine = fusable ? loop[i] : kSeveral;
      reader = reader == kNobody || reader == mine ? mine : kSeveral;
    }
  }
  return loop;
}

}  // namespace tenure::graph
