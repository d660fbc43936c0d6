#include "tenure/autograd/state.h"

#include <algorithm>
#include <utility>

#include "tenure/autograd/late.h"
#include "tenure/base/lasting.h"
#include "tenure/base/per_thread.h"
#include "tenure/base/small_array.h"
#include "tenure/graph/trace/state.h"
#include "tenure/memory/accounts/name_path.h"
#include "tenure/ops/core/dispatch.h"
#include "tenure/ops/core/outputs.h"
#include "tenure/ops/size_ops.h"
#include "tenure/tensor/share.h"

namespace tenure::autograd {
namespace {

using ops::Attributes;
using ops::GradientRule;
using ops::OpRecord;

/// The tapes of this thread, the innermost last.
std::vector<std::shared_ptr<TapeState>>& chain() {
  return PerThread<std::vector<std::shared_ptr<TapeState>>>::get();
}

}  // namespace

mem::Population& TapeState::population() {
  static constinit Lasting<mem::Population> values;
  return values.get([] { return new mem::Population("tape value"); });
}

bool TapeState::sees_graph() const {
  const auto* const graph = dynamic_cast<const graph::GraphState*>(ops::current_trace());
  return trace_ == nullptr && graph != nullptr && graph->is_graph();
}

Tensor hold(const Tensor& tensor, const char* op, Site site) {
  if (tensor.body(op, site).symbol() != nullptr || ops::current_trace() != nullptr) return tensor;
  Tensor held = share(tensor, op, site, HolderKind::tape);
  held.body_or_null()->keep();
  return held;
}

/// A node that is taken back unless its call succeeds.
class TapeState::PendingNode {
 public:
  explicit PendingNode(Node& node) : node_(&node) {}
  ~PendingNode() {
    if (node_ != nullptr) NodeArena::end(*node_);
  }
  PendingNode(const PendingNode&) = delete;
  PendingNode& operator=(const PendingNode&) = delete;
  void keep() { node_ = nullptr; }

 private:
  Node* node_;
};

const std::string* TapeState::scope_now() {
  const mem::NamePath* const path = mem::this_thread().path;
  if (path == nullptr) return nullptr;
  if (path->number() != last_path_) {
    last_scope_ = &*scopes_.insert(path->text()).first;
    last_path_ = path->number();
  }
  return last_scope_;
}

Node& TapeState::prepare(const OpRecord& op, std::span<const Operand> operands,
                         const Attributes& attributes, Site site, std::span<const Value> values,
                         std::size_t outputs) {
  const bool has_numbers = std::any_of(operands.begin(), operands.end(),
                                       [](const Operand& operand) { return operand.is_scalar(); });
  GradientRule::Needs needs;
  if (op.gradient != nullptr) {
    for (std::size_t i = 0; i < operands.size(); ++i) {
      if (values[i] == kNoValue) continue;
      needs.inputs |= op.gradient->needs_of(i).inputs;
      needs.outputs |= op.gradient->needs_of(i).outputs;
    }
  } else if (op.expand != nullptr) {
    needs.inputs = ~0u;  // its parts are noted when sizes are known
  }
  Node& node = arena_.make(operands.size(), outputs, 0, has_numbers, attributes);
  PendingNode pending(node);
  node.op = &op;
  node.site = site;
  node.scope = scope_now();
  node.needed_inputs = needs.inputs;
  node.needed_outputs = needs.outputs;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    node.input_values[i] = values[i];
    if (operands[i].is_scalar()) {
      node.numbers[i] = operands[i].scalar();
      node.specs[i].dtype = operands[i].scalar().dtype();
      continue;
    }
    const TensorBody& body = operands[i].tensor().body(op.name, operands[i].site());
    node.specs[i].dtype = body.dtype;
    node.specs[i].shape = body.shape;
    if (!has_bit(needs.inputs, i) && body.symbol() == nullptr) continue;
    if (!has_bit(needs.inputs, i) && is_outlined(operands[i].tensor())) {
      const ops::Untaped untaped;  // sizes have no gradient
      node.saved_tensors[i] = ops::outline(Operand(operands[i].tensor(), site));
      continue;
    }
    node.saved_tensors[i] = hold(operands[i].tensor(), op.name, site);
    node.origins[i] = key_of(operands[i].tensor());
  }
  pending.keep();
  return node;
}

void TapeState::commit(Node& node, std::span<const Tensor> outputs) {
  const auto index = static_cast<std::uint32_t>(nodes_.size());
  const std::size_t n = std::min<std::size_t>(outputs.size(), node.outputs);
  for (std::size_t o = 0; o < n; ++o) {
    if (!has_bit(node.needed_outputs, o)) continue;
    node.saved_tensors[node.inputs + o] = hold(outputs[o], node.name(), node.site);
    node.origins[node.inputs + o] = key_of(outputs[o]);
  }
  const std::span<Tensor> held = node.saved_list();
  const auto own = static_cast<std::size_t>(std::count_if(
      held.begin(), held.end(), [](const Tensor& each) { return each.body_or_null() != nullptr; }));
  // Room for all of it first, so that the tape knows the call or does not.
  values_.make_room(n);
  node.first_output = static_cast<Value>(producers_.size());
  producers_.resize(producers_.size() + node.outputs, index);
  try {
    nodes_.push_back(&node);
  } catch (...) {
    producers_.resize(node.first_output);
    throw;
  }
  held_ += own;
  for (std::size_t o = 0; o < n; ++o) {
    if (is_floating(outputs[o].dtype())) {
      set_value(key_of(outputs[o]), node.first_output + static_cast<Value>(o));
    }
  }
}

Tensor TapeState::run_below(const OpRecord& op, std::span<const Operand> operands,
                            const Attributes& attributes, Site site) {
  if (next_ != nullptr) return next_->run(op, operands, attributes, site);
  const ops::Untaped untaped;
  return ops::run_untaped(op, operands, attributes, site);
}

Value TapeState::adopt(const Tensor& tensor) {
  if (outside_->find(tensor) == kNoValue) return kNoValue;
  adopted_.push_back(tensor);
  watch(tensor);
  return find(tensor);
}

bool TapeState::find_all(std::span<const Operand> operands, std::span<Value> values) {
  bool any = false;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const TensorBody* const body =
        operands[i].is_scalar() ? nullptr : operands[i].tensor().body_or_null();
    values[i] = body == nullptr ? kNoValue : find_or_adopt(operands[i].tensor());
    any |= values[i] != kNoValue;
  }
  return any;
}

namespace {

/// A view without a gradient is stop_gradient: what follows is no concern of a tape. Other ops
/// without one are flat: what they make depends on their inputs, at a slope of zero.
bool stops_gradients(const OpRecord& op) {
  return op.gradient != nullptr && op.gradient->run == nullptr && op.view != nullptr;
}

}  // namespace

Tensor TapeState::run(const OpRecord& op, std::span<const Operand> operands,
                      const Attributes& attributes, Site site) {
  SmallArray<Value, 4> values(operands.size());
  if (!sees_calls() || stops_gradients(op) || !find_all(operands, {values.data(), values.size()})) {
    return run_below(op, operands, attributes, site);
  }
  Node& node = prepare(op, operands, attributes, site, {values.data(), values.size()},
                       static_cast<std::size_t>(op.outputs));
  PendingNode pending(node);
  Tensor result = run_below(op, operands, attributes, site);
  commit(node, {&result, 1});
  pending.keep();
  return result;
}

std::vector<Tensor> TapeState::run_many(const OpRecord& op, std::span<const Operand> operands,
                                        const Attributes& attributes, Site site) {
  const auto below = [&](std::span<const Operand> given) {
    if (next_ != nullptr) return next_->run_many(op, given, attributes, site);
    const ops::Untaped untaped;
    return ops::run_many_untaped(op, given, attributes, site);
  };
  SmallArray<Value, 4> values(operands.size());
  if (!sees_calls() || stops_gradients(op) || !find_all(operands, {values.data(), values.size()})) {
    return below(operands);
  }
  std::vector<Tensor> results;
  const auto note = [&](std::size_t outputs, bool runs) {
    Node& node = prepare(op, operands, attributes, site, {values.data(), values.size()}, outputs);
    PendingNode pending(node);
    if (runs) results = below(operands);
    commit(node, results);
    pending.keep();
  };
  // Nodes of a graph overwrite nothing before they are noted, nor do calls of which only their
  // results tell how many those are: a loop or a branch has as many as its body.
  const bool is_node = std::any_of(operands.begin(), operands.end(), [](const Operand& operand) {
    return !operand.is_scalar() && operand.tensor().body_or_null() != nullptr &&
           operand.tensor().body_or_null()->symbol() != nullptr;
  });
  if (!is_node && op.outputs != ops::kAnyOutputs) {
    note(static_cast<std::size_t>(op.outputs), true);
    return results;
  }
  std::vector<Operand> kept;  // until they are noted
  for (const Operand& operand : operands) {
    kept.push_back(operand.is_scalar() ? operand : Operand(operand.tensor(), operand.site()));
  }
  results = below(kept);
  note(results.size(), false);
  for (const Operand& operand : operands) operand.consume();
  return results;
}

void TapeState::read_variable(std::uint64_t variable, bool trainable, const Tensor& value) {
  if (next_ != nullptr) next_->read_variable(variable, trainable, value);
  // A branch or a loop in the making reads the variable in the trace around it.
  const auto symbol = graph::look_up(value);
  const bool is_of_trace = symbol && symbol->graph.get() == trace_ && is_recording();
  if ((!sees_calls() && !is_of_trace) || !is_floating(value.dtype())) return;
  if (trainable && watches_variables) watch_variable(variable);
  const Value known = variables_.find(variable);
  if (known != kNoValue) set_value(key_of(value), known);
}

void TapeState::watch(const Tensor& tensor) {
  if (find(tensor) == kNoValue) set_value(key_of(tensor), add_value(kSource));
}

void TapeState::watch_variable(std::uint64_t variable) {
  if (variables_.find(variable) == kNoValue) variables_.insert(variable, add_value(kSource));
}

void TapeState::alias(std::uint64_t key, std::uint64_t same) {
  const Value value = values_.find(key);
  if (value != kNoValue) set_value(same, value);
}

void TapeState::note_custom(std::shared_ptr<const CustomRule> rule, std::span<const Tensor> inputs,
                            std::span<const Tensor> outputs, std::span<const Tensor> saved,
                            Site call_site) {
  if (next_ != nullptr) next_->note_custom(rule, inputs, outputs, saved, call_site);
  if (!sees_calls()) return;
  std::vector<Value> values;
  for (const Tensor& input : inputs) values.push_back(find_or_adopt(input));
  const auto is_known = [](Value value) { return value != kNoValue; };
  if (std::none_of(values.begin(), values.end(), is_known)) return;
  Node& node = arena_.make(inputs.size(), outputs.size(), saved.size(), false, ops::kNoAttributes);
  PendingNode pending(node);
  node.custom = rule.get();
  node.site = call_site;
  node.scope = scope_now();
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    node.input_values[i] = values[i];
    node.specs[i] = {inputs[i].dtype(), inputs[i].shape()};
  }
  for (std::size_t i = 0; i < saved.size(); ++i) {
    const std::size_t place = node.inputs + node.outputs + i;
    node.saved_tensors[place] = hold(saved[i], node.name(), call_site);
    node.origins[place] = key_of(saved[i]);
  }
  rules_.push_back(std::move(rule));
  commit(node, outputs);
  pending.keep();
}

void TapeState::forget() {
  for (Node* const node : nodes_) NodeArena::end(*node);
  nodes_.clear();
  held_ = 0;
  producers_.clear();
  values_.clear();
  counted_.set(0);
  variables_.clear();
  rules_.clear();
  scopes_.clear();
  last_path_ = 0;
  arena_.clear();
}

void TapeState::begin(std::shared_ptr<TapeState> tape) {
  chain().push_back(std::move(tape));
  update_chain();
}

void TapeState::end(const std::shared_ptr<TapeState>& tape) noexcept {
  // Of another thread it may still be in the chain; that thread then drops it.
  tape->ended_.store(true, std::memory_order_relaxed);
  std::erase(chain(), tape);
  update_chain();
}

void TapeState::update_chain() noexcept {
  std::erase_if(chain(), [](const auto& tape) { return tape->ended_.load(); });
  TapeState* outer = nullptr;
  for (const auto& tape : chain()) {
    tape->next_ = outer;
    if (tape->is_recording()) outer = tape.get();
  }
  ops::call_context().tape = outer;
}

PauseAll::PauseAll() : tapes_(chain()) {
  for (const auto& tape : tapes_) ++tape->pauses_;
  TapeState::update_chain();
}

PauseAll::~PauseAll() {
  for (const auto& tape : tapes_) --tape->pauses_;
  TapeState::update_chain();
}

void TapeState::pause() {
  ++pauses_;
  update_chain();
}

void TapeState::resume() {
  --pauses_;
  update_chain();
}

}  // namespace tenure::autograd
