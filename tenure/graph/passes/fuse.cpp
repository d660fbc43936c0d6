#include "tenure/graph/passes/fuse.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <set>

#include "tenure/graph/passes/ancestry.h"
#include "tenure/graph/passes/unit.h"
#include "tenure/ops/core/backend.h"

namespace tenure::graph {
namespace {

constexpr std::int32_t kNobody = -1;
constexpr std::int32_t kSeveral = -2;
constexpr double kConversion = 4;  ///< operations that it takes, about

/// How loops join the kernel of a node; nullptr if they may not.
const ops::FusingKernel* fusing_kernel(const Node& node, Device device) {
  if (node.kind != Node::Kind::call || node.op->elementwise != nullptr) return nullptr;
  const ops::KernelSlot* const slot = ops::find_kernel(*node.op, device);
  return slot == nullptr ? nullptr : slot->fusing;
}

class Fusion {
 public:
  explicit Fusion(const Request& request)
      : request_(request),
        program_(request.program),
        device_(request.device),
        limits_(ops::backend(device_).loop_limits()),
        loops_(program_.nodes.size()),
        readers_(program_.nodes.size(), kNobody),
        others_read_(program_.nodes.size(), std::numeric_limits<std::int32_t>::max()),
        sizes_(program_.nodes.size(), 1),
        inputs_(program_.nodes.size()),
        uses_(program_.nodes.size()) {
    for (const Node& node : program_.nodes) {
      for (const Argument& argument : node.arguments) {
        if (!argument.number) ++uses_[at(argument.value.node)];
      }
    }
    for (const Value fetch : request.fetches) {
      ++uses_[at(fetch.node)];
      if (fetch.output == 0) readers_[at(fetch.node)] = kSeveral;
    }
  }

  std::vector<std::int32_t> run() && {
    for (std::size_t i = program_.nodes.size(); i-- > 0;) {
      const Node& node = program_.nodes[i];
      loops_[i] = static_cast<std::int32_t>(i);
      if (is_loop_step(node)) {
        add_loop_step(i);
      } else if (const ops::FusingKernel* fusing = fusing_kernel(node, device_)) {
        add_kernel(i, *fusing);
      } else {
        for (std::size_t a = 0; a < node.arguments.size(); ++a) note_reader(i, a, kSeveral);
      }
    }
    join_kernels();
    return std::move(loops_);
  }

 private:
  static std::size_t at(std::int32_t i) { return static_cast<std::size_t>(i); }
  const Node& reader(std::size_t i) const { return program_.nodes[at(readers_[i])]; }

  /// Of an argument of node i, which is read in a loop. Nodes come from the last to the first.
  void note_reader(std::size_t i, std::size_t argument, std::int32_t loop) {
    const Argument& read = program_.nodes[i].arguments[argument];
    if (read.number) return;
    if (read.value.output != 0) {
      others_read_[at(read.value.node)] = static_cast<std::int32_t>(i);
      return;
    }
    std::int32_t& reader = readers_[at(read.value.node)];
    reader = reader == kNobody || reader == loop ? loop : kSeveral;
  }

  /// The shape that the loop goes over which alone reads node i.
  const Shape& shape_of_reader(std::size_t i) const {
    const Node& root = reader(i);
    return is_loop_step(root) ? root.outputs[0].shape
                              : program_.spec(root.arguments[0].value).shape;
  }

  void add_loop_step(std::size_t i) {
    const Node& node = program_.nodes[i];
    const int arity = static_cast<int>(node.arguments.size());
    if (readers_[i] >= 0) {
      const std::size_t root = at(readers_[i]);
      const bool fits = inputs_[root] + arity - 1 <= limits_.inputs && sizes_[root] < limits_.ops;
      if (fits && pays_to_join(i)) {
        loops_[i] = readers_[i];
        inputs_[root] += arity - 1;
        ++sizes_[root];
      }
    }
    if (loops_[i] == static_cast<std::int32_t>(i)) inputs_[i] = arity;
    for (std::size_t a = 0; a < node.arguments.size(); ++a) note_reader(i, a, loops_[i]);
  }

  /// Whether node i is better computed where it is read.
  bool pays_to_join(std::size_t i) const {
    const Node& node = program_.nodes[i];
    const ops::Spec& out = node.outputs[0];
    const Shape& shape = shape_of_reader(i);
    if (!node.op->converts) return shape == out.shape;
    const Value from = node.arguments[0].value;
    if (out.dtype == program_.spec(from).dtype) return false;  // it is no step
    // What is converted to less would stay until it is read.
    if (size_of(out.dtype) < size_of(program_.spec(from).dtype) && is_computed(from)) return false;
    if (shape == out.shape) return true;
    // Each element is converted as often as it is read, which may take less than a kernel does.
    const ops::WorkRates rates = ops::backend(device_).work_rates();
    return is_loop_step(reader(i)) &&
           kConversion * static_cast<double>(count(shape)) < rates.flops * rates.begin;
  }

  /// Whether a run computes it, rather than finds it.
  bool is_computed(Value value) const { return program_[base_of(value)].kind == Node::Kind::call; }
  /// What a view is of; else the value itself.
  Value base_of(Value value) const {
    while (program_[value].kind == Node::Kind::call && program_[value].op->view != nullptr) {
      value = program_[value].arguments[0].value;
    }
    return value;
  }

  void add_kernel(std::size_t i, const ops::FusingKernel& fusing) {
    const Node& node = program_.nodes[i];
    const ops::Spec& out = node.outputs[0];
    // Its other results are there when the loop is done.
    if (readers_[i] >= 0 && is_loop_step(reader(i)) && others_read_[i] > readers_[i]) {
      const ops::Spec& last = reader(i).outputs[0];
      const bool fits = fusing.of_any_size || size_of(last.dtype) == size_of(out.dtype);
      if (fits && last.shape == out.shape && asks(fusing.leads_loop, node)) {
        leading_.push_back(static_cast<std::int32_t>(i));
      }
    }
    inputs_[i] = 1;
    const bool takes_loop = asks(fusing.takes_loop, node);
    for (std::size_t a = 0; a < node.arguments.size(); ++a) {
      note_reader(i, a, a == 0 && takes_loop ? static_cast<std::int32_t>(i) : kSeveral);
    }
  }

  bool asks(bool (*pays)(const ops::Kernel&), const Node& node) const {
    if (pays == nullptr) return false;
    std::vector<ops::View> in;
    for (const Argument& argument : node.arguments) {
      const ops::Spec& spec = program_.spec(argument.value);
      in.push_back({.dtype = spec.dtype,
                    .shape = spec.shape,
                    .strides = contiguous_strides(spec.shape),
                    .data = nullptr});
    }
    return pays({.op = node.op->name,
                 .in = in,
                 .out = {},
                 .attributes = node.attribute_list(),
                 .workspace = {}});
  }

  /// Kernels join the loops that follow them, where that takes no more memory.
  void join_kernels() {
    std::map<std::int32_t, std::vector<Value>> reads;  // by loop that a kernel may join
    for (const std::int32_t kernel : leading_) reads.try_emplace(readers_[at(kernel)]);
    if (reads.empty()) return;
    for (std::size_t i = 0; i < loops_.size(); ++i) {
      const auto loop = reads.find(loops_[i]);
      if (loop == reads.end()) continue;
      for (const Argument& argument : program_.nodes[i].arguments) {
        if (argument.number || loops_[at(argument.value.node)] == loop->first) continue;
        loop->second.push_back(argument.value);
      }
    }
    std::vector<Dependence> wanted;
    std::vector<std::size_t> begins;  // in `wanted`, per kernel
    std::vector<bool> may_join;
    for (const std::int32_t kernel : leading_) {
      begins.push_back(wanted.size());
      may_join.push_back(wants(kernel, reads.at(readers_[at(kernel)]), wanted));
    }
    begins.push_back(wanted.size());
    const std::vector<bool> are_so = depend(program_, wanted);
    std::set<std::int32_t> joined;
    for (std::size_t k = 0; k < leading_.size(); ++k) {
      const auto so = [&](std::size_t i) {
        return are_so.begin() + static_cast<std::ptrdiff_t>(i);
      };
      const std::int32_t loop = readers_[at(leading_[k])];
      if (!may_join[k] || !std::all_of(so(begins[k]), so(begins[k + 1]), std::identity())) continue;
      if (joined.insert(loop).second) loops_[at(leading_[k])] = loop;
    }
  }

  /// What the kernel must depend on to join a loop that reads these; false: it must not.
  bool wants(std::int32_t kernel, const std::vector<Value>& reads,
             std::vector<Dependence>& wanted) const {
    constexpr std::int64_t kSmall = 4096;  // bytes
    const std::int64_t bytes = bytes_of(program_.nodes[at(kernel)].outputs[0]);
    const std::int64_t last = bytes_of(program_.nodes[at(readers_[at(kernel)])].outputs[0]);
    if (std::max(bytes, last) <= kSmall) return true;
    if (goes_in_place(kernel)) return false;
    for (Value value : reads) {
      if (value.node == kernel) continue;
      const std::int64_t read = bytes_of(program_.spec(value));
      value = base_of(value);
      if (program_[value].kind == Node::Kind::call) {
        wanted.push_back({.node = kernel, .on = value.node});
        // The loop alone would compute in the memory of what it reads, and not beside it.
        if (last > bytes && read == last) return false;
      } else if (read == last && is_reusable(value)) {
        return false;
      }
    }
    return true;
  }

  /// Whether the kernel would compute in the memory of an input that nobody else reads.
  bool goes_in_place(std::int32_t kernel) const {
    const Node& node = program_.nodes[at(kernel)];
    const std::uint32_t allowed = node.op->memory.reuses_for(0, node.outputs.size());
    for (std::size_t a = 0; a < node.arguments.size() && a < 32; ++a) {
      const Argument& argument = node.arguments[a];
      if ((allowed >> a & 1) == 0 || argument.number) continue;
      const Value value = argument.value;
      const bool is_made_on_the_way = loops_[at(value.node)] == kernel;
      if (is_made_on_the_way || uses_[at(value.node)] != 1 ||
          bytes_of(program_.spec(value)) != bytes_of(node.outputs[0])) {
        continue;
      }
      const Value base = base_of(value);
      const bool is_alone = base == value || uses_[at(base.node)] == 1;
      if (is_alone && (program_[base].kind == Node::Kind::call || is_reusable(base))) return true;
    }
    return false;
  }

  /// Whether something may be computed in the memory of an input or a variable.
  bool is_reusable(Value value) const {
    const auto& inputs = request_.inputs;
    for (std::size_t i = 0; i < inputs.size() && i < request_.donated.size(); ++i) {
      if (inputs[i] == value && request_.donated[i]) return true;
    }
    const VariableState* const variable = program_[value].variable.get();
    return variable != nullptr &&
           std::any_of(request_.fetches.begin(), request_.fetches.end(), [&](Value fetch) {
             return program_[fetch].kind == Node::Kind::assign &&
                    program_[fetch].variable.get() == variable;
           });
  }

  const Request& request_;
  const Program& program_;
  const Device device_;
  const ops::LoopLimits limits_;
  std::vector<std::int32_t> loops_;
  std::vector<std::int32_t> readers_;  ///< the loop, or the kernel, that all readers are in
  std::vector<std::int32_t>
      others_read_;                    ///< the first node that reads another result than the first
  std::vector<int> sizes_;             ///< of the loop that ends in a node, or makes its argument
  std::vector<int> inputs_;            ///< of that loop, at most
  std::vector<int> uses_;              ///< arguments and fetches that a node is
  std::vector<std::int32_t> leading_;  ///< kernels that might join the loop that reads them
};

}  // namespace

std::vector<std::int32_t> fuse(const Request& request) { return Fusion(request).run(); }

}  // namespace tenure::graph
