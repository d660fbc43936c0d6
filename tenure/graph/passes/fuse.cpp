#include "tenure/graph/passes/fuse.h"

#include "tenure/ops/core/backend.h"

namespace tenure::graph {
namespace {

constexpr std::int32_t kNobody = -1;
constexpr std::int32_t kSeveral = -2;

/// Calls that may fail for certain values look at whole tensors before anything is written.
bool is_elementwise(const Node& node) {
  return node.kind == Node::Kind::call && node.op->elementwise != nullptr && !node.op->may_fail;
}

/// How loops join the kernel of a node; nullptr if they may not.
const ops::FusingKernel* fusing_kernel(const Node& node, Device device) {
  if (node.kind != Node::Kind::call || node.op->elementwise != nullptr) return nullptr;
  const ops::KernelSlot* const slot = ops::find_kernel(*node.op, device);
  return slot == nullptr ? nullptr : slot->fusing;
}

class Fusion {
 public:
  Fusion(const Program& program, std::span<const Value> fetches, Device device)
      : program_(program),
        device_(device),
        limits_(ops::backend(device).loop_limits()),
        loops_(program.nodes.size()),
        readers_(program.nodes.size(), kNobody),
        sizes_(program.nodes.size(), 1),
        inputs_(program.nodes.size()),
        has_kernel_(program.nodes.size()) {
    for (const Value fetch : fetches) readers_[at(fetch.node)] = kSeveral;
  }

  std::vector<std::int32_t> run() && {
    for (std::size_t i = program_.nodes.size(); i-- > 0;) {
      const Node& node = program_.nodes[i];
      loops_[i] = static_cast<std::int32_t>(i);
      if (is_elementwise(node)) {
        add_elementwise(i);
      } else if (const ops::FusingKernel* fusing = fusing_kernel(node, device_)) {
        add_kernel(i, *fusing);
      } else {
        for (std::size_t a = 0; a < node.arguments.size(); ++a) note_reader(node, a, kSeveral);
      }
    }
    return std::move(loops_);
  }

 private:
  static std::size_t at(std::int32_t i) { return static_cast<std::size_t>(i); }
  const Node& reader(std::size_t i) const { return program_.nodes[at(readers_[i])]; }

  void note_reader(const Node& node, std::size_t argument, std::int32_t loop) {
    if (node.arguments[argument].number) return;
    std::int32_t& reader = readers_[at(node.arguments[argument].value.node)];
    reader = reader == kNobody || reader == loop ? loop : kSeveral;
  }

  /// The shape that the loop goes over which alone reads node i.
  const Shape& shape_of_reader(std::size_t i) const {
    const Node& root = reader(i);
    return is_elementwise(root) ? root.outputs[0].shape
                                : program_.spec(root.arguments[0].value).shape;
  }

  void add_elementwise(std::size_t i) {
    const Node& node = program_.nodes[i];
    const int arity = static_cast<int>(node.arguments.size());
    if (readers_[i] >= 0) {
      const std::size_t root = at(readers_[i]);
      const bool fits = inputs_[root] + arity - 1 <= limits_.inputs && sizes_[root] < limits_.ops;
      if (fits && shape_of_reader(i) == node.outputs[0].shape) {
        loops_[i] = readers_[i];
        inputs_[root] += arity - 1;
        ++sizes_[root];
      }
    }
    if (loops_[i] == static_cast<std::int32_t>(i)) inputs_[i] = arity;
    for (std::size_t a = 0; a < node.arguments.size(); ++a) note_reader(node, a, loops_[i]);
  }

  void add_kernel(std::size_t i, const ops::FusingKernel& fusing) {
    const Node& node = program_.nodes[i];
    const ops::Spec& out = node.outputs[0];
    if (readers_[i] >= 0 && is_elementwise(reader(i)) && !has_kernel_[at(readers_[i])]) {
      const ops::Spec& last = reader(i).outputs[0];
      if (last.shape == out.shape && size_of(last.dtype) == size_of(out.dtype)) {
        loops_[i] = readers_[i];
        has_kernel_[at(readers_[i])] = true;
      }
    }
    inputs_[i] = 1;
    const bool takes_loop = takes(node, fusing);
    for (std::size_t a = 0; a < node.arguments.size(); ++a) {
      note_reader(node, a, a == 0 && takes_loop ? static_cast<std::int32_t>(i) : kSeveral);
    }
  }

  bool takes(const Node& node, const ops::FusingKernel& fusing) const {
    std::vector<ops::View> in;
    for (const Argument& argument : node.arguments) {
      const ops::Spec& spec = program_.spec(argument.value);
      in.push_back({.dtype = spec.dtype,
                    .shape = spec.shape,
                    .strides = contiguous_strides(spec.shape),
                    .data = nullptr});
    }
    return fusing.takes_loop({.op = node.op->name,
                              .in = in,
                              .out = {},
                              .attributes = node.attribute_list(),
                              .workspace = {}});
  }

  const Program& program_;
  const Device device_;
  const ops::LoopLimits limits_;
  std::vector<std::int32_t> loops_;
  std::vector<std::int32_t> readers_;  ///< the loop, or the kernel, that all readers are in
  std::vector<int> sizes_;             ///< of the loop that ends in a node, or makes its argument
  std::vector<int> inputs_;            ///< of that loop, at most
  std::vector<bool> has_kernel_;
};

}  // namespace

std::vector<std::int32_t> fuse(const Program& program, std::span<const Value> fetches,
                               Device device) {
  return Fusion(program, fetches, device).run();
}

}  // namespace tenure::graph
