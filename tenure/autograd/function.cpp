#include "tenure/autograd/function.h"

#include <algorithm>

#include "tenure/autograd/joint_trace.h"
#include "tenure/autograd/state.h"
#include "tenure/graph/ir/body.h"
#include "tenure/graph/ir/variable_state.h"
#include "tenure/ops/creation.h"
#include "tenure/ops/shape_ops.h"
#include "tenure/tensor/share.h"

namespace tenure::autograd {
namespace {

using graph::FunctionCore;

constexpr char kTaped = 0;    // its address marks traces that give what the way back needs
constexpr char kWayBack = 0;  // and this one those of ways back

std::int64_t mark_of(const char& mark) { return reinterpret_cast<std::intptr_t>(&mark); }

/// The way back of one call: a call of the function too, for it is among its traces.
class FunctionRule final : public CustomRule {
 public:
  FunctionRule(std::shared_ptr<FunctionCore> core, std::shared_ptr<const JointTrace> joint,
               std::span<const Tensor> outputs)
      : core_(std::move(core)), joint_(std::move(joint)) {
    for (const Tensor& output : outputs) outputs_.push_back({output.dtype(), output.shape()});
  }

  const char* name() const override { return "function"; }
  std::string title() const override { return title_of(*core_); }
  void run(ops::Backward& b) const override {
    const std::size_t first = b.specs.size() + b.gradients.size();
    std::vector<Tensor> arguments(b.inputs.begin() + static_cast<std::ptrdiff_t>(first),
                                  b.inputs.end());
    for (std::size_t i = first; i < b.inputs.size(); ++i) b.inputs[i] = Tensor();
    for (const std::size_t o : joint_->differentiable_outputs) {
      arguments.push_back(b.gradients[o].defined()
                              ? std::move(b.gradients[o])
                              : zeros(outputs_[o].shape, outputs_[o].dtype, b.site));
    }
    std::vector<Tensor> results = go_back(std::move(arguments));
    for (std::size_t i = 0; i < joint_->sources.size(); ++i) {
      if (b.wants(i) && joint_->has_gradient[i]) b.results[i] = std::move(results[i]);
    }
  }

  static std::string title_of(const FunctionCore& core) {
    return "function \"" + core.options().name + "\"";
  }

 private:
  std::vector<Tensor> go_back(std::vector<Tensor> arguments) const {
    const graph::Traced& back = *joint_->back;
    FunctionCore::Call call{.tensors = std::move(arguments),
                            .layout = {mark_of(kWayBack), joint_->number},
                            .traced = joint_->back,
                            .purpose = "the way back of a call under a gradient tape"};
    const auto replayed = [&](const std::vector<Tensor>& symbols) {
      return FunctionCore::Result{
          .tensors = graph::replay(back.program, back.inputs, back.fetches, symbols)};
    };
    return core_->call(call, replayed).tensors;
  }

  std::shared_ptr<FunctionCore> core_;
  std::shared_ptr<const JointTrace> joint_;
  std::vector<ops::Spec> outputs_;
};

/// Of ops that ran one by one: what is somebody else's tensor or a view becomes a tensor of the
/// caller's, as all results of functions are.
void make_own(Tensor& result, Site site) {
  const TensorBody& body = result.body("function", site);
  if (body.symbol() != nullptr) return;
  if (body.sole_handle() && body.kind() != HolderKind::view) return;
  result = clone(Operand(result, site));
}

}  // namespace

std::optional<FunctionCore::Result> call_taped(FunctionCore& core, const FunctionCore::Call& call,
                                               const FunctionCore::Trace& trace) {
  auto& tape = static_cast<TapeState&>(*ops::current_tape());
  const auto one_by_one = [&] {
    FunctionCore::Result result = core.call_inline(call, trace);
    for (Tensor& tensor : result.tensors) make_own(tensor, core.site());
    return result;
  };
  // Of a gradient of a gradient, what was saved has gradients too.
  if (tape.next() != nullptr) return one_by_one();
  graph::Signature key{mark_of(kTaped)};
  for (const Tensor& tensor : call.tensors) key.push_back(tape.find(tensor) != kNoValue ? 1 : 0);
  const auto compiled = [&] {
    return core.compiled(call, {.key = key,
                                .reason = "called under a gradient tape",
                                .other = "the tape watches others of its arguments or captures",
                                .trace = [&](std::span<const ops::Spec> specs) {
                                  return make_joint_trace(core, call, trace, specs, tape);
                                }});
  };
  graph::CompiledTrace found = compiled();
  auto joint = std::static_pointer_cast<const JointTrace>(found.traced);
  const std::vector<std::int64_t> captures = joint->known_captures(tape);
  if (captures != joint->watched_captures) {
    key.push_back(static_cast<std::int64_t>(captures.size()));
    key.insert(key.end(), captures.begin(), captures.end());
    found = compiled();
    joint = std::static_pointer_cast<const JointTrace>(found.traced);
    // What it captures may be another tensor each time.
    if (joint->known_captures(tape) != joint->watched_captures) return one_by_one();
  }
  // Without a way back it is as any other, but for what it is given for good.
  if (joint->sources.empty() && !call.ownership.empty()) return std::nullopt;
  using Ownership = FunctionCore::Call::Ownership;
  if (std::find(call.ownership.begin(), call.ownership.end(), Ownership::donated) !=
      call.ownership.end()) {
    throw DonationError(FunctionRule::title_of(core) +
                        ": nothing can be donated while a tape records the call: the "
                        "way back may need it");
  }

  std::vector<Tensor> known = call.tensors;
  for (const auto& variable : joint->variables) {
    if (joint->sources.empty()) break;
    known.push_back(share(variable->value(), "variable", core.site(), HolderKind::view));
    tape.read_variable(variable->number, variable->trainable, known.back());
  }
  for (std::size_t i = 0; i < joint->captures.size(); ++i) known.push_back(joint->capture(i));
  std::vector<Tensor> results;
  {
    const ops::Untaped untaped;
    results = found.executable->run(call.tensors, core.options().name, core.site());
  }
  std::vector<Tensor> outputs(results.begin(),
                              results.begin() + static_cast<std::ptrdiff_t>(joint->outputs));
  if (!joint->sources.empty()) {
    std::vector<Tensor> inputs;
    for (const std::size_t source : joint->sources) inputs.push_back(known[source]);
    std::vector<Tensor> saved;
    for (const JointTrace::Saved& value : joint->saved) {
      saved.push_back(value.is_result ? results[value.index] : known[value.index]);
    }
    tape.note_custom(std::make_shared<FunctionRule>(core.shared_from_this(), joint, outputs),
                     inputs, outputs, saved, core.site());
  }
  return FunctionCore::Result{.tensors = std::move(outputs), .frame = joint->frame};
}

}  // namespace tenure::autograd
