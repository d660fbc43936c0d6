#include "tenure/graph/passes/lower.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "tenure/graph/passes/fuse.h"
#include "tenure/graph/passes/kernel_layout.h"
#include "tenure/graph/passes/kernel_views.h"
#include "tenure/graph/passes/layout.h"
#include "tenure/graph/passes/loop_builder.h"
#include "tenure/ops/core/backend.h"
#include "tenure/ops/shape_ops.h"

namespace tenure::graph {
namespace {

class Lowering {
 public:
  explicit Lowering(Request request)
      : lowered_(std::make_unique<Lowered>(Lowered{.request = std::move(request)})),
        device_(ops::backend(this->request().device)),
        layout_choice_(program(), this->request().fetches),
        kernel_layout_choice_(program(), this->request().fetches, layouts_,
                              [this](std::int32_t i) { return is_in_loop(i); }) {}

  std::unique_ptr<Lowered> run() && {
    const std::size_t n = program().nodes.size();
    layouts_.resize(n);
    if (request().options.check_numbers) {
      for (std::size_t i = 0; i < program().nodes.size(); ++i) {
        loops_.push_back(static_cast<std::int32_t>(i));
      }
    } else {
      loops_ = fuse(request());
    }
    members_.resize(n);
    for (std::size_t i = 0; i < n; ++i) {
      members_[static_cast<std::size_t>(loops_[i])].push_back(static_cast<std::int32_t>(i));
    }
    for (const Value fetch : request().fetches) {
      const Node& node = program()[fetch];
      if (node.kind == Node::Kind::assign) assigned_.insert(node.variable.get());
    }
    for (std::size_t i = 0; i < request().inputs.size(); ++i) add_input(i);
    for (std::size_t i = 0; i < n; ++i) add_node(static_cast<std::int32_t>(i));
    for (std::size_t i = 0; i < request().fetches.size(); ++i) {
      const Value fetch = request().fetches[i];
      const bool assigns = program()[fetch].kind == Node::Kind::assign;
      const int output = assigns ? assignment_of(fetch) : output_of(fetch);
      if (i < request().returned) lowered_->fetches.push_back(output);
    }
    return std::move(lowered_);
  }

 private:
  const Request& request() const { return lowered_->request; }
  const Program& program() const { return request().program; }

  Layout& layout(Value value) {
    return layouts_[static_cast<std::size_t>(value.node)][static_cast<std::size_t>(value.output)];
  }

  Layout contiguous_in(int buffer, const ops::Spec& spec) {
    return {.buffer = buffer,
            .dtype = spec.dtype,
            .shape = spec.shape,
            .strides = contiguous_strides(spec.shape)};
  }

  int add_buffer(Buffer buffer) {
    lowered_->buffers.push_back(buffer);
    return static_cast<int>(lowered_->buffers.size()) - 1;
  }

  void add_input(std::size_t i) {
    const Value value = request().inputs[i];
    const ops::Spec& spec = program().spec(value);
    lowered_->inputs.push_back(spec);
    const int buffer =
        add_buffer({.kind = Buffer::Kind::input,
                    .index = static_cast<int>(i),
                    .bytes = bytes_of(spec),
                    .is_reusable = !request().donated.empty() && request().donated[i]});
    Layout layout = contiguous_in(buffer, spec);
    if (!request().strides[i].empty()) layout.strides = request().strides[i];
    layouts_[static_cast<std::size_t>(value.node)] = {layout};
  }

  void add_node(std::int32_t i) {
    const Node& node = program().nodes[static_cast<std::size_t>(i)];
    if (node.kind == Node::Kind::input) return;
    if (node.kind == Node::Kind::assign) {
      layouts_[static_cast<std::size_t>(i)] = {layout(node.arguments[0].value)};
      return;
    }
    if (node.kind != Node::Kind::call) return add_source(i);
    if (loops_[static_cast<std::size_t>(i)] != i || add_view(i)) return;
    const auto& members = members_[static_cast<std::size_t>(i)];
    if (!is_in_loops(i)) return add_kernel(i, members_before(i));
    const auto kernel = std::find_if_not(members.begin(), members.end(),
                                         [&](std::int32_t member) { return is_in_loops(member); });
    if (kernel == members.end()) return add_loop(i, members);
    std::vector<std::int32_t> after(members.begin(), kernel);
    after.insert(after.end(), kernel + 1, members.end());
    if (add_kernel_before(*kernel, after)) return;
    add_kernel(*kernel, members_before(*kernel));
    add_loop(i, after);
  }

  /// Of the loop that makes a kernel's first input.
  std::span<const std::int32_t> members_before(std::int32_t kernel) const {
    const auto& members = members_[static_cast<std::size_t>(kernel)];
    return {members.begin(), std::find(members.begin(), members.end(), kernel)};
  }

  /// Whether a loop computes it: with others, or alone if it is an elementwise op.
  bool is_in_loops(std::int32_t i) const {
    const Node& node = program().nodes[static_cast<std::size_t>(i)];
    return node.op->elementwise != nullptr || is_loop_step(node);
  }

  /// Whether it is no kernel of its own: a conversion alone is one.
  bool is_in_loop(std::int32_t i) const {
    if (!is_in_loops(i)) return false;
    const auto at = static_cast<std::size_t>(i);
    const bool is_alone = loops_[at] == i && members_[at].size() == 1;
    return !is_alone || program().nodes[at].op->elementwise != nullptr;
  }

  void add_source(std::int32_t i) {
    const Node& node = program().nodes[static_cast<std::size_t>(i)];
    const bool is_assigned = assigned_.contains(node.variable.get());
    const int buffer = add_buffer({.kind = Buffer::Kind::source,
                                   .index = static_cast<int>(lowered_->sources.size()),
                                   .bytes = bytes_of(node.outputs[0]),
                                   .is_reusable = is_assigned});
    lowered_->sources.push_back(
        {.constant = node.data, .variable = node.variable, .is_assigned = is_assigned});
    Layout layout = contiguous_in(buffer, node.outputs[0]);
    if (node.data.defined()) layout.strides = node.data.strides();
    layouts_[static_cast<std::size_t>(i)] = {layout};
  }

  /// A view is another layout of its input's buffer.
  bool add_view(std::int32_t i) {
    const Node& node = program().nodes[static_cast<std::size_t>(i)];
    if (node.op->view == nullptr) return false;
    const Layout& base = layout(node.arguments[0].value);
    std::vector<ops::View> in{view_of(base)};
    for (std::size_t a = 1; a < node.arguments.size(); ++a) {  // whose shapes alone count
      in.push_back(view_of(contiguous_in(-1, program().spec(node.arguments[a].value))));
    }
    const auto spec = node.op->view({.op = node.op->name,
                                     .in = in,
                                     .out = {},
                                     .attributes = node.attribute_list(),
                                     .workspace = {}});
    if (!spec) return false;
    layouts_[static_cast<std::size_t>(i)] = {{.buffer = base.buffer,
                                              .dtype = base.dtype,
                                              .shape = spec->shape,
                                              .strides = spec->strides,
                                              .offset = base.offset + spec->offset}};
    return true;
  }

  /// Enters a unit whose results are those of a node, and gives them their buffers.
  void add_unit(std::int32_t i, Unit unit) {
    add_unit(i, std::move(unit), program().nodes[static_cast<std::size_t>(i)].outputs);
  }
  void add_unit(std::int32_t i, Unit unit, std::span<const ops::Spec> results) {
    const int number = static_cast<int>(lowered_->units.size());
    for (const ops::Spec& spec : results) {
      const int buffer = add_buffer({.bytes = bytes_of(spec), .unit = number});
      unit.out.push_back(contiguous_in(buffer, spec));
    }
    layouts_[static_cast<std::size_t>(i)] = unit.out;
    lowered_->units.push_back(std::move(unit));
  }

  LoopBuilder loop_builder() {
    return {program(), request().device,
            [this](const Argument& argument, DType wanted, const Shape& shape, const char* op) {
              return argument.number ? add_number(*argument.number, wanted, shape, op)
                                     : layout(argument.value);
            }};
  }

  /// The kernel of a node with the loop of those before it, which makes its first input.
  Unit kernel_unit(std::int32_t i, std::span<const std::int32_t> before) {
    const Node& node = program().nodes[static_cast<std::size_t>(i)];
    Unit unit;
    unit.node = &node;
    unit.slot = &ops::kernel_of(*node.op, request().device);
    unit.members = {i};
    LoopBuilder builder = loop_builder();
    if (!before.empty() && builder.add(before)) {
      unit.nodes += static_cast<int>(before.size());
      unit.members.insert(unit.members.begin(), before.begin(), before.end());
      unit.in = builder.take_inputs();
      unit.loop = builder.take_loop();
      unit.made = contiguous_in(-1, program().spec(node.arguments[0].value));
    } else {
      for (const std::int32_t member : before) add_loop(member, {&member, 1});
    }
    for (std::size_t a = unit.loop.empty() ? 0 : 1; a < node.arguments.size(); ++a) {
      unit.in.push_back(layout(node.arguments[a].value));
    }
    return unit;
  }

  void add_kernel(std::int32_t i, std::span<const std::int32_t> before) {
    const Node& node = program().nodes[static_cast<std::size_t>(i)];
    Unit unit = kernel_unit(i, before);
    if (!unit.loop.empty()) {
      unit.overwrites.resize(node.outputs.size());
      add_unit(i, std::move(unit));
      return add_workspace(lowered_->units.back());
    }
    unit.may_fail = node.op->may_fail;
    add_unit(i, std::move(unit));
    Unit& made = lowered_->units.back();
    if (!request().options.check_numbers) lay_out(i, made);
    for (std::size_t o = 0; o < node.outputs.size(); ++o) {
      made.overwrites.push_back(
          overwritable(made, node.op->memory.reuses_for(o, node.outputs.size()), made.out[o]));
    }
    add_workspace(made);
    if (node.op->index_bounds != nullptr) {
      const KernelViews views(made);
      made.bounds = node.op->index_bounds(views.kernel());
      made.may_fail = !made.bounds.empty();
    }
  }

  /// Has the result of a kernel lie where it is best for those that read it.
  void lay_out(std::int32_t i, Unit& unit) {
    Layout& out = unit.out[0];
    const Strides strides = kernel_layout_choice_.strides(i);
    if (strides == out.strides) return;
    out.strides = strides;
    lowered_->buffers[static_cast<std::size_t>(out.buffer)].bytes =
        extent(out.shape, out.strides) * static_cast<std::int64_t>(size_of(out.dtype));
    layouts_[static_cast<std::size_t>(i)] = unit.out;
  }

  void add_workspace(Unit& unit) const {
    if (unit.slot->workspace == nullptr) return;
    const int threads = device_.threads();
    unit.workspace = workspace_on(unit, device_, threads);
    if (unit.workspace != workspace_on(unit, device_, 1)) unit.threads = threads;
  }

  /// A kernel and the loop that follows its result; false if that loop cannot be.
  bool add_kernel_before(std::int32_t i, const std::vector<std::int32_t>& after) {
    LoopBuilder builder = loop_builder();
    builder.read_result(i);
    if (!builder.add(after)) return false;
    Unit unit = kernel_unit(i, members_before(i));
    unit.nodes += static_cast<int>(after.size());
    unit.members.insert(unit.members.end(), after.begin(), after.end());
    std::sort(unit.members.begin(), unit.members.end());
    unit.after = builder.take_loop();
    for (const Layout& in : builder.take_inputs()) unit.in.push_back(in);
    // The loop's result is in place of the kernel's first one.
    std::vector<ops::Spec> results = program().nodes[static_cast<std::size_t>(i)].outputs;
    results[0] = program().nodes[static_cast<std::size_t>(after.back())].outputs[0];
    unit.overwrites.resize(results.size());
    add_unit(after.back(), std::move(unit), results);
    layouts_[static_cast<std::size_t>(i)] = lowered_->units.back().out;
    add_workspace(lowered_->units.back());
    return true;
  }

  /// Inputs of the result's size whose every reader in the unit reads them as the result is
  /// written.
  std::uint32_t overwritable(const Unit& unit, std::uint32_t allowed, const Layout& out) const {
    std::uint32_t mask = 0;
    const std::int64_t bytes =
        extent(out.shape, out.strides) * static_cast<std::int64_t>(size_of(out.dtype));
    const auto fits = [&](const Layout& l) {
      const Buffer& buffer = lowered_->buffers[static_cast<std::size_t>(l.buffer)];
      if (!(l.shape == out.shape) || size_of(l.dtype) != size_of(out.dtype)) return false;
      if (is_contiguous(out.shape, out.strides)) return is_whole(l, buffer);
      return l.offset == 0 && l.strides == out.strides && buffer.bytes == bytes;
    };
    for (std::size_t i = 0; i < unit.in.size() && i < 32; ++i) {
      bool possible = (allowed >> i & 1) != 0 && fits(unit.in[i]);
      for (std::size_t j = 0; j < unit.in.size() && possible; ++j) {
        if (j == i || unit.in[j].buffer != unit.in[i].buffer) continue;
        // A kernel with a structure may read one place after it has written another.
        possible = is_loop(unit) && fits(unit.in[j]);
      }
      if (possible) mask |= 1u << i;
    }
    return mask;
  }

  /// A number as the input of a loop over `shape`. A small loop wants it as often as it is read.
  Layout add_number(const Scalar& number, DType wanted, const Shape& shape, const char* op) {
    const std::size_t size = size_of(wanted);
    const bool repeat = count(shape) <= device_.loop_limits().repeated_numbers;
    std::vector<std::byte> elements(repeat ? static_cast<std::size_t>(count(shape)) * size : size);
    for (std::size_t i = 0; i < elements.size(); i += size) {
      ops::store_scalar(number, wanted, elements.data() + i, op);
    }
    const int buffer = add_buffer({.kind = Buffer::Kind::number,
                                   .index = static_cast<int>(lowered_->numbers.size()),
                                   .bytes = static_cast<std::int64_t>(elements.size())});
    lowered_->numbers.push_back(std::move(elements));
    return contiguous_in(buffer, {wanted, repeat ? shape : Shape{}});
  }

  /// A fused loop of nodes; one node at a time if they are too many.
  void add_loop(std::int32_t root, std::span<const std::int32_t> members) {
    LoopBuilder builder = loop_builder();
    if (members.size() > 1 && builder.add(members)) {
      return add_loop_unit(root, builder, members);
    }
    for (const std::int32_t member : members) {
      if (program().nodes[static_cast<std::size_t>(member)].op->elementwise == nullptr) {
        add_kernel(member, {});
        continue;
      }
      LoopBuilder single = loop_builder();
      internal_check(single.add({&member, 1}), "an op alone has too many inputs for a loop");
      add_loop_unit(member, single, {&member, 1});
    }
  }

  void add_loop_unit(std::int32_t i, LoopBuilder& builder, std::span<const std::int32_t> members) {
    const Node& node = program().nodes[static_cast<std::size_t>(i)];
    Unit unit;
    unit.node = &node;
    unit.slot = &ops::kernel_of(*node.op, request().device);
    unit.nodes = static_cast<int>(members.size());
    unit.members.assign(members.begin(), members.end());
    unit.in = builder.take_inputs();
    unit.loop = builder.take_loop();
    unit.may_fail = node.op->may_fail;
    ops::Spec result = node.outputs[0];
    const std::optional<Axes> order =
        request().options.check_numbers ? std::nullopt : layout_choice_.order(i, unit.in);
    if (order) {  // The loop goes over the axes in the order in which they lie.
      for (Layout& in : unit.in) {
        const Buffer& buffer = lowered_->buffers[static_cast<std::size_t>(in.buffer)];
        reorder(in, *order, buffer.kind == Buffer::Kind::number);
      }
      result.shape = in_order(result.shape, *order);
    }
    unit.overwrites = {overwritable(unit, ~0u, contiguous_in(-1, result))};
    add_unit(i, std::move(unit), {&result, 1});
    if (!order) return;
    Layout& made = layouts_[static_cast<std::size_t>(i)][0];
    made.shape = node.outputs[0].shape;
    made.strides = strides_in_order(made.shape, *order);
  }

  /// The output that a variable gets. Who fetches the assignment sees what the variable holds.
  int assignment_of(Value fetch) {
    const auto [known, is_new] = assignments_.try_emplace(fetch.node, 0);
    if (!is_new) return known->second;
    known->second = output_of(fetch);
    lowered_->assignments.push_back(
        {.variable = program()[fetch].variable, .output = known->second});
    return known->second;
  }

  /// An output of its own: a value that a unit writes as a whole becomes one, anything else, and
  /// what is an output already, is copied to one.
  int output_of(Value fetch) {
    const Layout source = layout(fetch);
    Buffer& buffer = lowered_->buffers[static_cast<std::size_t>(source.buffer)];
    const ops::Spec spec{source.dtype, source.shape};
    const int index = static_cast<int>(lowered_->outputs.size());
    lowered_->outputs.push_back(spec);
    if (buffer.kind == Buffer::Kind::temporary && is_whole(source, buffer)) {
      buffer.kind = Buffer::Kind::output;
      buffer.index = index;
      return index;
    }
    Unit copy;
    copy.in = {source};
    copy.node = &program()[fetch];
    copy.out = {contiguous_in(add_buffer({.kind = Buffer::Kind::output,
                                          .index = index,
                                          .bytes = bytes_of(spec),
                                          .unit = static_cast<int>(lowered_->units.size())}),
                              spec)};
    copy.overwrites = {0};
    copy.nodes = 0;
    lowered_->units.push_back(std::move(copy));
    return index;
  }

  std::unique_ptr<Lowered> lowered_;
  const ops::Backend& device_;
  LayoutChoice layout_choice_;
  KernelLayoutChoice kernel_layout_choice_;
  std::set<const VariableState*> assigned_;
  std::map<std::int32_t, int> assignments_;  // the outputs of those that are fetched
  std::vector<std::vector<Layout>> layouts_;
  std::vector<std::int32_t> loops_;
  std::vector<std::vector<std::int32_t>> members_;
};

}  // namespace

std::unique_ptr<Lowered> lower(Request request) { return Lowering(std::move(request)).run(); }

}  // namespace tenure::graph
