#include "tenure/autograd/function.h"

#include <algorithm>
#include <map>
#include <mutex>

#include "tenure/autograd/joint_trace.h"
#include "tenure/autograd/state.h"
#include "tenure/graph/cache.h"
#include "tenure/graph/variable_state.h"
#include "tenure/ops/creation.h"
#include "tenure/ops/shape_ops.h"
#include "tenure/tensor/share.h"

namespace tenure::autograd {
namespace {

using graph::FunctionCore;

/// The way back of one call.
class FunctionRule final : public CustomRule {
 public:
  explicit FunctionRule(std::shared_ptr<const JointTrace> joint) : joint_(std::move(joint)) {}

  const char* name() const override { return "function"; }
  std::string title() const override { return joint_->name; }
  void run(ops::Backward& b) const override {
    const std::size_t first = b.specs.size() + b.gradients.size();
    std::vector<Tensor> arguments(b.inputs.begin() + static_cast<std::ptrdiff_t>(first),
                                  b.inputs.end());
    for (std::size_t i = first; i < b.inputs.size(); ++i) b.inputs[i] = Tensor();
    for (const std::size_t o : joint_->differentiable_outputs) {
      const ops::Spec& spec = joint_->output_specs[o];
      arguments.push_back(b.gradients[o].defined() ? std::move(b.gradients[o])
                                                   : zeros(spec.shape, spec.dtype, b.site));
    }
    std::vector<Tensor> results = joint_->go_back(std::move(arguments));
    for (std::size_t i = 0; i < joint_->sources.size(); ++i) {
      if (b.wants(joint_->sources[i]) && joint_->has_gradient[i]) {
        b.results[joint_->sources[i]] = std::move(results[i]);
      }
    }
  }

 private:
  std::shared_ptr<const JointTrace> joint_;
};

/// The joint traces of one function, by signature. As many bytes as its own traces may take.
class JointTraces {
 public:
  explicit JointTraces(std::int64_t limit) : cache_(limit) {}

  template <class Make>
  std::shared_ptr<const JointTrace> find_or(const graph::Signature& signature, const Make& make) {
    {
      const std::lock_guard lock(mutex_);
      const auto found = joints_.find(signature);
      if (found != joints_.end()) {
        static_cast<void>(cache_.find(signature));  // it is in use
        return found->second;
      }
    }
    std::shared_ptr<const JointTrace> joint = make();
    const std::lock_guard lock(mutex_);
    cache_.insert(signature, joint->forward, joint->forward->bytes());
    joints_[signature] = joint;
    std::erase_if(joints_, [&](const auto& item) { return !cache_.contains(item.first); });
    return joint;
  }

 private:
  std::mutex mutex_;
  graph::ProgramCache cache_;
  std::map<graph::Signature, std::shared_ptr<const JointTrace>> joints_;
};

}  // namespace

std::optional<FunctionCore::Result> call_taped(FunctionCore& core, const FunctionCore::Call& call,
                                               const FunctionCore::Trace& trace) {
  auto& tape = static_cast<TapeState&>(*ops::active_tape);
  // Of a gradient of a gradient, what was saved has gradients too: it takes the ops one by one.
  if (tape.next() != nullptr) return core.call_inline(call, trace);
  std::vector<bool> watched;
  graph::Signature signature = call.layout;
  for (const Tensor& tensor : call.tensors) {
    bool is_watched = false;
    for (const TapeState* t = &tape; t != nullptr; t = t->next()) {
      is_watched |= t->find(tensor) != kNoValue;
    }
    watched.push_back(is_watched);
    graph::append(signature, {tensor.dtype(), tensor.shape()});
    signature.push_back(is_watched ? 1 : 0);
  }
  const auto traces = std::static_pointer_cast<JointTraces>(
      core.attachment([&] { return std::make_shared<JointTraces>(core.options().cache_limit); }));
  const std::shared_ptr<const JointTrace> joint =
      traces->find_or(signature, [&] { return make_joint_trace(core, call, trace, watched); });
  if (joint->sources.empty()) return std::nullopt;
  using Gift = FunctionCore::Call::Gift;
  if (std::find(call.gifts.begin(), call.gifts.end(), Gift::donated) != call.gifts.end()) {
    throw DonationError(joint->name +
                        ": nothing can be donated while a tape records the call: the "
                        "way back may need it");
  }

  std::vector<Tensor> known = call.tensors;
  for (const auto& variable : joint->variables) {
    known.push_back(share(variable->value(), "variable", core.site(), HolderKind::view));
    tape.read_variable(variable->number, variable->trainable, known.back());
  }
  std::vector<Tensor> results;
  {
    const ops::Untaped untaped;
    std::vector<Tensor> inputs;
    for (const Tensor& tensor : call.tensors) {
      inputs.push_back(contiguous(Operand(tensor, core.site())));
    }
    results = joint->forward->run(inputs, core.options().name, core.site());
  }
  std::vector<Tensor> outputs(
      results.begin(), results.begin() + static_cast<std::ptrdiff_t>(joint->output_specs.size()));
  std::vector<Tensor> saved;
  for (const JointTrace::Saved& value : joint->saved) {
    saved.push_back(value.is_result ? results[value.index] : known[value.index]);
  }
  tape.note_custom(std::make_shared<FunctionRule>(joint), known, outputs, saved, core.site());
  return FunctionCore::Result{.tensors = std::move(outputs), .frame = joint->frame};
}

}  // namespace tenure::autograd
