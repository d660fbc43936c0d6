#include "tenure/graph/ir/control_ops.h"

#include <fmt/format.h>

#include <algorithm>

#include "tenure/base/error.h"
#include "tenure/base/units.h"
#include "tenure/graph/ir/control_samples.h"
#include "tenure/ops/core/backend.h"
#include "tenure/ops/core/define.h"
#include "tenure/ops/core/gradient.h"
#include "tenure/ops/core/outputs.h"
#include "tenure/tensor/sizes.h"

namespace tenure::graph {
namespace {

using ops::Kernel;
using ops::OpRecord;
using ops::Spec;
using ops::Specs;
using ops::View;

Spec spec_of(const View& view) { return {view.dtype, view.shape}; }

const Bodies& bodies_of(const Kernel& kernel) {
  return static_cast<const Bodies&>(*kernel.attributes.opaque(ControlAttributes::bodies));
}

/// Throws DTypeError or ShapeError unless a body was written for such inputs.
void require_fit(const char* op, const Body& body, std::span<const Spec> inputs) {
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const Spec& wanted = body.program.spec(body.inputs[i]);
    const Spec& given = inputs[i];
    bool fits = given.shape.size() == wanted.shape.size();
    for (int d = 0; d < wanted.shape.size() && fits; ++d) {
      fits = wanted.shape[d] == kUnknown || wanted.shape[d] == given.shape[d];
    }
    if (given.dtype == wanted.dtype && fits) continue;
    const std::string text = fmt::format("input {} of the {} is {}, and was {}", i, body.name,
                                         describe(given), describe(wanted));
    if (given.dtype != wanted.dtype) throw DTypeError(op, text);
    throw ShapeError(op, text, {given.shape.to_vector(), wanted.shape.to_vector()});
  }
}

/// A call of one of the ops: what its attributes and operands are.
class Call {
 public:
  explicit Call(const Kernel& kernel)
      : kernel(kernel), bodies(bodies_of(kernel)), specs_(bodies.specs(kernel)) {}
  /// As the bodies get them.
  std::span<const Spec> operands() const {
    return std::span(specs_).first(specs_.size() - captured());
  }
  std::span<const Spec> captures() const { return std::span(specs_).last(captured()); }
  std::size_t captured() const { return bodies.captures(); }

  std::vector<Spec> infer(std::size_t body) const {
    const std::vector<Spec> inputs = bodies.inputs_of(body, operands(), captures());
    require_fit(kernel.op, bodies[body], inputs);
    return bodies[body].infer(inputs, {});
  }
  const BodyPrograms& compiled() const { return compiled_in(kernel.attributes)->programs; }
  /// Where the bodies run.
  ops::Backend& device() const { return ops::backend(compiled()[0]->device()); }
  /// A truth value that a body, or whoever called, has computed there.
  bool read(const void* flag) const {
    bool value = false;
    device().read(&value, flag, sizeof value);
    return value;
  }

  const Kernel& kernel;
  const Bodies& bodies;

 private:
  std::vector<Spec> specs_;
};

/// Of a scan: how many operands are the carry.
std::size_t carried(const Kernel& k) {
  return static_cast<std::size_t>(k.attributes.integer(ControlAttributes::carried));
}

/// Of a scan: what it goes along.
std::span<const View> scanned_of(const Kernel& k) {
  return k.in.subspan(carried(k), k.in.size() - carried(k) - bodies_of(k).captures());
}

/// Hands out pieces of a workspace; without one, counts how much it would be.
class Workspace {
 public:
  explicit Workspace(std::byte* data = nullptr) : data_(data) {}
  std::byte* take(std::size_t bytes) {
    std::byte* const piece = data_ == nullptr ? nullptr : data_ + used_;
    used_ += round_up(bytes, 64);
    return piece;
  }
  std::size_t used() const { return used_; }

 private:
  std::byte* data_;
  std::size_t used_ = 0;
};

/// The operands of a call with rows in order, copied where they are not. Without a device they are
/// only counted.
std::vector<std::byte*> straight_operands(const Kernel& kernel, std::size_t skipped,
                                          Workspace& workspace, ops::Backend* device = nullptr) {
  std::vector<std::byte*> pointers;
  for (const View& view : kernel.in.subspan(skipped)) {
    auto* data = static_cast<std::byte*>(view.data);
    if (!is_contiguous(view.shape, view.strides)) {
      data = workspace.take(static_cast<std::size_t>(bytes_of(spec_of(view))));
      if (device != nullptr) {
        device->copy({.dtype = view.dtype,
                      .shape = view.shape,
                      .strides = contiguous_strides(view.shape),
                      .data = data},
                     view);
      }
    }
    pointers.push_back(data);
  }
  return pointers;
}

std::size_t largest_arena(const BodyPrograms& programs) {
  std::int64_t bytes = 0;
  for (const auto& program : programs) bytes = std::max(bytes, program->plan().arena);
  return static_cast<std::size_t>(bytes);
}

std::vector<std::byte*> outputs_of(const Kernel& kernel) {
  std::vector<std::byte*> pointers;
  for (const View& out : kernel.out) pointers.push_back(static_cast<std::byte*>(out.data));
  return pointers;
}

/// Memory that values go to and fro between, step by step, and that ends in the outputs.
class Ping {
 public:
  Ping(std::span<const Spec> specs, std::vector<std::byte*> outputs, Workspace& workspace,
       ops::Backend* device = nullptr)
      : device_(device), now_(std::move(outputs)) {
    now_.resize(specs.size());
    for (const Spec& spec : specs) {
      bytes_.push_back(static_cast<std::size_t>(bytes_of(spec)));
      next_.push_back(workspace.take(bytes_.back()));
    }
    last_ = now_;
  }
  void begin(std::span<std::byte* const> values) { move(values, now_); }
  const std::vector<std::byte*>& now() const { return now_; }
  const std::vector<std::byte*>& next() const { return next_; }
  void swap() { std::swap(now_, next_); }
  void end() {
    if (now_ != last_) move(now_, last_);
  }

 private:
  void move(std::span<std::byte* const> from, const std::vector<std::byte*>& to) const {
    const auto bytes = [](std::byte* data, std::size_t n) {
      return View{.dtype = DType::uint8,
                  .shape = {static_cast<std::int64_t>(n)},
                  .strides = {1},
                  .data = data};
    };
    for (std::size_t i = 0; i < to.size(); ++i) {
      if (bytes_[i] != 0) device_->copy(bytes(to[i], bytes_[i]), bytes(from[i], bytes_[i]));
    }
  }
  ops::Backend* device_;
  std::vector<std::size_t> bytes_;
  std::vector<std::byte*> now_;
  std::vector<std::byte*> next_;
  std::vector<std::byte*> last_;
};

/// The way back computes everything again, from the same operands.
constexpr ops::GradientRule reads_inputs(void (*rule)(ops::Backward&)) {
  constexpr ops::GradientRule::Needs kAll{.inputs = ~0u};
  return {.needs = {{kAll, kAll, kAll, kAll}}, .run = rule};
}

/// What all of them have in common.
struct ControlOp {
  static constexpr auto family = "control";
  static constexpr auto memory = ops::allocates().with_workspace();
  static constexpr int outputs = ops::kAnyOutputs;
  static constexpr double ulp_of_largest = 4;  // of the samples: an op is as exact as its bodies
  static constexpr bool may_fail = true;       // its body may, and a loop may not end
  static constexpr bool folds = false;         // its body may draw random numbers
};

struct Cond : ControlOp {
  static constexpr auto name = "cond";
  static constexpr auto signature = "cond(predicate, then, else, operands...)";
  static constexpr auto doc = "one of two branches; as a node, when it runs";
  static constexpr auto types = 1u << static_cast<int>(DType::boolean);
  static constexpr ops::GradientRule gradient = reads_inputs(gradient_of_cond);
  static constexpr auto samples = cond_samples;
  static constexpr auto reference = cond_reference;
  static Specs infer(const Kernel& k) {
    const Call call(k);
    require_predicate("cond", spec_of(k.in[0]));
    std::vector<Spec> specs = call.infer(0);
    require_same("cond", specs, call.bodies[0].name, call.infer(1), call.bodies[1].name);
    return Specs(std::move(specs));
  }
  static std::size_t workspace(const Kernel& k) {
    Workspace workspace;
    straight_operands(k, 1, workspace);
    workspace.take(largest_arena(Call(k).compiled()));
    return workspace.used();
  }
  static void run(const Kernel& k) {
    const Call call(k);
    Workspace workspace(k.workspace.data());
    const std::vector<std::byte*> data = straight_operands(k, 1, workspace, &call.device());
    const std::size_t branch = call.read(k.in[0].data) ? 0 : 1;
    const auto all = std::span<std::byte* const>(data);
    const std::vector<std::byte*> inputs = call.bodies.inputs_of<std::byte*>(
        branch, all.first(all.size() - call.captured()), all.last(call.captured()));
    call.compiled()[branch]->run_at(inputs, outputs_of(k), workspace.take(0));
  }
};

struct While : ControlOp {
  static constexpr auto name = "while_loop";
  static constexpr auto signature = "while_loop(condition, body, state, max_iterations)";
  static constexpr auto doc = "the body again and again while the condition holds";
  static constexpr auto types = ops::kAllTypes;
  static constexpr ops::GradientRule gradient = reads_inputs(gradient_of_while);
  static constexpr auto samples = while_samples;
  static constexpr auto reference = while_reference;
  static Specs infer(const Kernel& k) {
    const Call call(k);
    const std::vector<Spec> flags = call.infer(0);
    if (flags.size() != 1) throw ShapeError("while_loop", "the condition gives one tensor");
    require_predicate("while_loop", flags[0]);
    require_same("while_loop", call.operands(), "the state", call.infer(1), "what the body gives");
    return Specs(std::vector<Spec>(call.operands().begin(), call.operands().end()));
  }
  static std::size_t workspace(const Kernel& k) {
    const Call call(k);
    Workspace workspace;
    straight_operands(k, 0, workspace);
    const Ping state(call.operands(), {}, workspace);
    workspace.take(sizeof(bool));
    workspace.take(largest_arena(call.compiled()));
    return workspace.used();
  }
  static void run(const Kernel& k) {
    const Call call(k);
    Workspace workspace(k.workspace.data());
    const std::vector<std::byte*> data = straight_operands(k, 0, workspace, &call.device());
    Ping state(call.operands(), outputs_of(k), workspace, &call.device());
    state.begin(data);
    const std::vector<std::byte*> flag{workspace.take(sizeof(bool))};
    std::byte* const arena = workspace.take(0);
    const auto captures = std::span<std::byte* const>(data).last(call.captured());
    const BodyPrograms& programs = call.compiled();
    const auto step = [&](std::size_t body, const std::vector<std::byte*>& outputs) {
      programs[body]->run_at(call.bodies.inputs_of<std::byte*>(body, state.now(), captures),
                             outputs, arena);
    };
    const std::int64_t most = k.attributes.integer(ControlAttributes::most_iterations);
    for (std::int64_t i = 0;; ++i) {
      step(0, flag);
      if (!call.read(flag[0])) break;
      if (most != 0 && i >= most) throw_runaway(most);
      step(1, state.next());
      state.swap();
    }
    state.end();
  }
};

struct Scan : ControlOp {
  static constexpr auto name = "scan";
  static constexpr auto signature = "scan(body, carry, xs)";
  static constexpr auto doc = "the body for each element along the first axis of xs";
  static constexpr auto types = ops::kAllTypes;
  static constexpr ops::GradientRule gradient = reads_inputs(gradient_of_scan);
  static constexpr auto samples = scan_samples;
  static constexpr auto reference = scan_reference;
  static std::int64_t length(const Kernel& k) {
    std::vector<Spec> scanned;
    for (const View& view : scanned_of(k)) scanned.push_back(spec_of(view));
    return length_of(scanned);
  }
  static Specs infer(const Kernel& k) {
    const std::int64_t n = length(k);
    const Call call(k);
    std::vector<Spec> specs = call.infer(0);
    const std::size_t carry = carried(k);
    if (specs.size() < carry) throw ShapeError("scan", "the body gives less than the carry");
    require_same("scan", call.operands().first(carry), "the carry", std::span(specs).first(carry),
                 "what the body gives");
    for (Spec& spec : std::span(specs).subspan(carry)) {
      Shape stacked{n};
      for (const std::int64_t d : spec.shape) stacked.push_back(d);
      spec.shape = stacked;
    }
    return Specs(std::move(specs));
  }
  static std::size_t workspace(const Kernel& k) {
    const Call call(k);
    Workspace workspace;
    straight_operands(k, 0, workspace);
    const Ping carry(call.operands().first(carried(k)), {}, workspace);
    workspace.take(largest_arena(call.compiled()));
    return workspace.used();
  }
  static void run(const Kernel& k) {
    const Call call(k);
    Workspace workspace(k.workspace.data());
    const std::vector<std::byte*> data = straight_operands(k, 0, workspace, &call.device());
    Ping carry(call.operands().first(carried(k)), outputs_of(k), workspace, &call.device());
    carry.begin(data);
    std::byte* const arena = workspace.take(0);
    const auto captures = std::span<std::byte* const>(data).last(call.captured());
    const BodyPrograms& programs = call.compiled();
    const std::size_t operands = call.operands().size();
    for (std::int64_t i = 0; i < length(k); ++i) {
      std::vector<std::byte*> in = carry.now();
      for (std::size_t x = carried(k); x < operands; ++x) {
        in.push_back(data[x] + i * bytes_of(call.operands()[x]));
      }
      std::vector<std::byte*> out = carry.next();
      for (const View& y : k.out.subspan(carried(k))) {
        out.push_back(static_cast<std::byte*>(y.data) + i * bytes_of(element_of(spec_of(y))));
      }
      programs[0]->run_at(call.bodies.inputs_of<std::byte*>(0, in, captures), out, arena);
      carry.swap();
    }
    carry.end();
  }
};

/// Their kernels come along with them, as those of users' ops do: they run programs, which the
/// tables of devices know nothing of, on whichever device those are compiled for.
template <class Op>
const OpRecord& record_with_kernel() {
  static const ops::KernelSlot slot = ops::make_slot<Op>();
  static const OpRecord& record = [&]() -> const OpRecord& {
    for (const auto kind : {Device::Kind::cpu, Device::Kind::cuda, Device::Kind::test}) {
      ops::record<Op>().kernels.set({.kind = kind}, slot);
    }
    return ops::record<Op>();
  }();
  return record;
}

}  // namespace

std::vector<Spec> cond_specs(const Kernel& k) {
  std::vector<Spec> specs;
  for (const View& view : k.in.subspan(1)) specs.push_back(spec_of(view));
  return specs;
}

std::vector<Spec> while_specs(const Kernel& k) {
  std::vector<Spec> specs;
  for (const View& view : k.in) specs.push_back(spec_of(view));
  return specs;
}

std::vector<Spec> scan_specs(const Kernel& k) {
  std::vector<Spec> specs = while_specs(k);
  for (Spec& spec : std::span(specs).subspan(carried(k), scanned_of(k).size())) {
    spec = element_of(spec);
  }
  return specs;
}

const OpRecord& cond_record() { return record_with_kernel<Cond>(); }
const OpRecord& while_record() { return record_with_kernel<While>(); }
const OpRecord& scan_record() { return record_with_kernel<Scan>(); }

std::vector<const OpRecord*> control_ops() {
  return {&cond_record(), &while_record(), &scan_record()};
}

void require_same(const char* op, std::span<const Spec> wanted, const std::string& wanted_in,
                  std::span<const Spec> got, const std::string& got_in) {
  if (wanted.size() != got.size()) {
    throw ValueError(fmt::format("{}: {} tensors in {}, {} in {}", op, wanted.size(), wanted_in,
                                 got.size(), got_in));
  }
  for (std::size_t i = 0; i < got.size(); ++i) {
    if (wanted[i].dtype != got[i].dtype) {
      throw DTypeError(
          op, fmt::format("tensor {} is {} in {}, {} in {}", i, name_of(wanted[i].dtype), wanted_in,
                          name_of(got[i].dtype), got_in));
    }
    if (!(wanted[i].shape == got[i].shape)) {
      throw ShapeError(
          op,
          fmt::format("tensor {} has shape {} in {}, {} in {}", i, to_string(wanted[i].shape),
                      wanted_in, to_string(got[i].shape), got_in),
          {wanted[i].shape.to_vector(), got[i].shape.to_vector()});
    }
  }
}

void require_predicate(const char* op, const Spec& spec) {
  if (spec.dtype != DType::boolean) {
    throw DTypeError(op, fmt::format("the predicate is {}, not bool", name_of(spec.dtype)));
  }
  if (count(spec.shape) != 1) {
    throw ShapeError(
        op, fmt::format("the predicate has shape {}, not one element", to_string(spec.shape)),
        {spec.shape.to_vector()});
  }
}

std::int64_t length_of(std::span<const Spec> scanned) {
  if (scanned.empty()) throw ValueError("scan: nothing to scan");
  for (const Spec& spec : scanned) {
    if (spec.shape.empty()) throw ShapeError("scan", "a number has no axis to scan along");
    if (spec.shape[0] != scanned[0].shape[0]) {
      throw ShapeError("scan",
                       fmt::format("lengths {} and {} along the first axis differ",
                                   scanned[0].shape[0], spec.shape[0]),
                       {scanned[0].shape.to_vector(), spec.shape.to_vector()});
    }
  }
  return scanned[0].shape[0];
}

Spec element_of(const Spec& scanned) {
  Spec element{scanned.dtype, {}};
  for (int d = 1; d < scanned.shape.size(); ++d) element.shape.push_back(scanned.shape[d]);
  return element;
}

void throw_runaway(std::int64_t iterations) {
  throw ValueError(fmt::format(
      "while_loop: the condition still holds after {} iterations, the most allowed", iterations));
}

}  // namespace tenure::graph
