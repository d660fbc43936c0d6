#include "tenure/graph/trace/state.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "tenure/base/error.h"
#include "tenure/base/lasting.h"
#include "tenure/graph/ir/infer.h"
#include "tenure/graph/ir/variable_state.h"
#include "tenure/memory/accounts/population.h"
#include "tenure/memory/callers.h"
#include "tenure/memory/default_device.h"
#include "tenure/ops/core/scalar_tensor.h"
#include "tenure/ops/core/tape.h"
#include "tenure/ops/creation.h"
#include "tenure/tensor/device_error.h"

namespace tenure::graph {
namespace {

/// Symbols do not keep their graph alive: it is the user's to end.
class NodeSymbol final : public Symbol, public mem::KnowsItsMaker {
 public:
  NodeSymbol(std::weak_ptr<GraphState> graph, Value value, std::string what, Site created)
      : graph_(std::move(graph)), value_(value), what_(std::move(what)), created_(created) {}

  std::string describe() const override { return what_; }
  std::shared_ptr<ops::Recorder> recorder(const char* user, Site site) const override {
    std::shared_ptr<GraphState> graph = graph_.lock();
    if (graph == nullptr) {
      SymbolError error(user, what_, "is used after its graph has gone", created_, site);
      mem::add_calls_of_maker(error, *this);
      throw error;
    }
    // Within a body of the graph, that takes the call and reads the symbol from outside.
    auto* const body = dynamic_cast<GraphState*>(ops::current_trace());
    if (body != nullptr && body->is_within(*graph)) return body->shared_from_this();
    return graph;
  }
  const std::weak_ptr<GraphState>& graph() const { return graph_; }
  Value value() const { return value_; }

 private:
  std::weak_ptr<GraphState> graph_;
  Value value_;
  std::string what_;
  Site created_;
};

/// What a call gives, or what it throws, before it has added a constant. Nothing is locked: what
/// the user wrote may run to find out, and use the graph.
std::vector<ops::Spec> results_of(const ops::OpRecord& op, std::span<const Operand> operands,
                                  std::span<const Tensor> tensors,
                                  const ops::Attributes& attributes, Site site) {
  std::vector<ArgumentSpec> specs;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const Tensor& tensor = tensors[i];
    specs.push_back(tensor.defined() ? ArgumentSpec{.spec = {tensor.dtype(), tensor.shape()}}
                                     : ArgumentSpec{.number = operands[i].scalar()});
  }
  return infer_call(op, specs, attributes, site);
}

mem::Population& graph_nodes() {
  static constinit Lasting<mem::Population> nodes;
  return nodes.get([] { return new mem::Population("graph node"); });
}

}  // namespace

std::optional<SymbolView> look_up(const Tensor& tensor) {
  const TensorBody* const body = tensor.body_or_null();
  if (body == nullptr || body->symbol() == nullptr) return std::nullopt;
  const auto* const symbol = dynamic_cast<const NodeSymbol*>(body->symbol());
  if (symbol == nullptr) return std::nullopt;
  return SymbolView{.graph = symbol->graph().lock(), .value = symbol->value()};
}

std::string GraphState::title() const {
  if (kind_ == Kind::body) return fmt::format("the {} in {}", name_, outer_->title());
  return fmt::format("{} \"{}\"", kind_ == Kind::graph ? "graph" : "function", name_);
}

bool GraphState::is_within(const GraphState& other) const {
  for (const GraphState* state = this; state != nullptr; state = state->outer_.get()) {
    if (state == &other) return true;
  }
  return false;
}

Value GraphState::capture(Capture found, const ops::Spec& spec, Site site) {
  const std::lock_guard lock(mutex_);
  for (const Capture& known : captures_) {
    // Symbols of one value may have different gradients.
    const bool is_same = found.variable != nullptr
                             ? known.variable == found.variable && known.outside == found.outside
                             : known.variable == nullptr && known.tensor.id() == found.tensor.id();
    if (is_same) return known.inside;
  }
  found.inside = builder_.input(fmt::format("capture {}", captures_.size()), spec, site);
  captures_.push_back(std::move(found));
  return captures_.back().inside;
}

Value GraphState::capture_symbol(const Tensor& tensor, const char* user, Site site) {
  const ops::Spec spec{tensor.dtype(), tensor.shape()};
  return capture({.outside = outer_->value_of(tensor, user, site), .tensor = tensor}, spec, site);
}

std::vector<Value> GraphState::captured_inputs() const {
  std::vector<Value> values;
  for (const Capture& capture : captures_) values.push_back(capture.inside);
  return values;
}

std::vector<Tensor> GraphState::captures() const {
  std::vector<Tensor> tensors;
  for (const Capture& capture : captures_) {
    const auto symbol = look_up(capture.tensor);
    const bool is_foreign = symbol && symbol->graph != outer_;
    tensors.push_back(capture.variable != nullptr ? outer_->read_variable(capture.variable, site_)
                      : is_foreign                ? outer_->symbol(capture.outside, site_)
                                                  : capture.tensor);
  }
  return tensors;
}

GraphState::~GraphState() {
  if (kind_ != Kind::graph) return;
  for (const Node& node : builder_.program().nodes) graph_nodes().remove(node.site);
}

void GraphState::admit(const Node& node) const {
  if (!finalized_) {
    if (kind_ == Kind::graph) graph_nodes().add(node.site);
    return;
  }
  throw GraphError(fmt::format("{} is final since {}; it cannot take another {}", title(),
                               tenure::to_string(*finalized_), describe(node)),
                   node.site);
}

Tensor GraphState::make_symbol(Value value, const char* op, Site site) {
  const Node& node = builder_.program()[value];
  const ops::Spec& spec = builder_.program().spec(value);
  const std::string what =
      node.kind == Node::Kind::input ? fmt::format("placeholder \"{}\" of {}", node.name, title())
      : node.kind == Node::Kind::variable ? fmt::format("variable \"{}\" in {}", node.name, title())
                                          : fmt::format("the result of {} in {}", op, title());
  return make_symbolic(std::make_unique<NodeSymbol>(weak_from_this(), value, what, node.site),
                       spec.dtype, spec.shape, op, site, device_);
}

Tensor GraphState::symbol(Value value, Site site) {
  const std::lock_guard lock(mutex_);
  const Node& node = builder_.program()[value];
  return make_symbol(value, node.op == nullptr ? "symbol" : node.op->name, site);
}

Tensor GraphState::input(const std::string& name, DType dtype, const Shape& shape, Site site) {
  const std::lock_guard lock(mutex_);
  Shape known = shape;
  for (std::int64_t& d : known) d = d == kUnknown ? 1 : d;
  check_shape(known, size_of(dtype), "placeholder");
  if (const auto first = inputs_.find(name); first != inputs_.end()) {
    throw GraphError(fmt::format("{} already has a placeholder \"{}\", made at {}", title(), name,
                                 tenure::to_string(builder_.program()[first->second].site)),
                     site);
  }
  const Value value = builder_.input(name, {dtype, shape}, site);
  inputs_.emplace(name, value);
  return make_symbol(value, "placeholder", site);
}

Tensor GraphState::read_variable(const std::shared_ptr<VariableState>& variable, Site site) {
  if (outer_ != nullptr) {
    const Value outside = outer_->value_of(outer_->read_variable(variable, site), "variable", site);
    const ops::Spec spec{variable->dtype, variable->shape};
    return symbol(capture({.outside = outside, .variable = variable}, spec, site), site);
  }
  require_here(*variable, "variable");
  const std::lock_guard lock(mutex_);
  const std::optional<Value> assigned = assignment_before(variable.get());
  // To a tape, the symbol is another one than that of the value that was assigned.
  const Value value = assigned ? builder_.program()[*assigned].arguments[0].value
                               : builder_.variable(variable, site);
  Tensor symbol = make_symbol(value, "variable", site);
  if (ops::current_tape() != nullptr) {
    ops::current_tape()->read_variable(variable->number, variable->trainable, symbol);
  }
  return symbol;
}

std::optional<Value> GraphState::assignment_before(const VariableState* variable) {
  if (kind_ == Kind::graph) {
    const Updates::Entry* const entry = updates_.find(variable);
    const bool is_own = entry != nullptr && entry->application == ops::current_application();
    return is_own && entry->application != 0 ? std::optional(entry->seen) : std::nullopt;
  }
  const auto found = assigned_.find(variable);
  return found == assigned_.end() ? std::nullopt : std::optional(found->second);
}

Tensor GraphState::assign_variable(const std::shared_ptr<VariableState>& variable,
                                   const Tensor& tensor, Site site) {
  if (outer_ != nullptr) {
    throw GraphError(fmt::format("variable \"{}\" is assigned to inside {}; return the value from "
                                 "it and assign that outside",
                                 variable->name, title()),
                     site);
  }
  require_here(*variable, "assign");
  variable->require_fit(tensor.dtype(site), tensor.shape(site));
  const Value value = value_of(tensor, "assign", site);
  const std::lock_guard lock(mutex_);
  const Value assignment = builder_.assign(variable, value, site);
  if (kind_ == Kind::trace) assigned_[variable.get()] = assignment;
  return make_symbol(assignment, "assign", site);
}

std::vector<Value> GraphState::assignments() const {
  const std::lock_guard lock(mutex_);
  std::vector<Value> values;
  for (const auto& [variable, value] : assigned_) values.push_back(value);
  // As they were written down: where variables lie in memory must not count.
  std::sort(values.begin(), values.end(),
            [](const Value& a, const Value& b) { return a.node < b.node; });
  return values;
}

Tensor GraphState::constant(const Tensor& tensor, Site site) {
  const Value value = value_of(tensor, "constant", site);
  const std::lock_guard lock(mutex_);
  return make_symbol(value, "constant", site);
}

void GraphState::require_usable(const Tensor& tensor, const char* user, Site site) const {
  if (const auto symbol = look_up(tensor)) {
    if (symbol->graph.get() == this) return;
    if (outer_ != nullptr && symbol->graph != nullptr && is_within(*symbol->graph)) return;
    const Symbol& other = *tensor.body_or_null()->symbol();
    SymbolError error(user, other.describe(), fmt::format("is no symbol of {}", title()),
                      tensor.created(), site);
    mem::add_calls_of_maker(error, other);
    throw error;
  }
  TensorBody& body = tensor.body(user, site);
  require_here(body.device(), user);
  if (kind_ == Kind::graph) const Pin readable(body, user, site);
}

Value GraphState::value_of(const Tensor& tensor, const char* user, Site site) {
  require_usable(tensor, user, site);
  if (const auto symbol = look_up(tensor)) {
    return symbol->graph.get() == this ? symbol->value : capture_symbol(tensor, user, site);
  }
  if (outer_ != nullptr) return capture({.tensor = tensor}, {tensor.dtype(), tensor.shape()}, site);
  const std::lock_guard lock(mutex_);
  return builder_.constant(tensor, site);
}

std::optional<Value> GraphState::find_input(const std::string& name) const {
  const std::lock_guard lock(mutex_);
  const auto found = inputs_.find(name);
  return found == inputs_.end() ? std::nullopt : std::optional(found->second);
}

void GraphState::require_here(Device device, const char* user) const {
  if (device != device_) throw DeviceError(user, device, device_);
}

void GraphState::require_here(const VariableState& variable, const char* user) const {
  if (variable.device() == device_) return;
  throw DeviceError::because(
      user, variable.device(),
      fmt::format("{}: \"{}\", made at {}, is on {}, and {} runs on {}; to(device) of the variable "
                  "or of its model moves it",
                  user, variable.path(), tenure::to_string(variable.created),
                  name_of(variable.device()), title(), name_of(device_)));
}

std::vector<Tensor> GraphState::record(const ops::OpRecord& op, std::span<const Operand> operands,
                                       const ops::Attributes& attributes, Site site) {
  if (op.target != nullptr) require_here(op.target(attributes), op.name);
  std::vector<Tensor> tensors;  // empty handles for numbers
  for (const Operand& operand : operands) {
    const bool is_number = operand.is_scalar() && op.elementwise != nullptr;
    tensors.push_back(is_number ? Tensor()
                      : operand.is_scalar()
                          ? ops::scalar_tensor(operand.scalar(), device_, op.name, site)
                          : operand.tensor());
    if (!is_number) require_usable(tensors.back(), op.name, operand.site());
  }
  std::vector<ops::Spec> outputs = results_of(op, operands, tensors, attributes, site);
  std::vector<Argument> arguments;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    if (!tensors[i].defined()) {
      arguments.push_back({.number = operands[i].scalar()});
    } else {
      arguments.push_back({.value = value_of(tensors[i], op.name, operands[i].site())});
    }
  }
  const std::lock_guard lock(mutex_);
  const std::vector<Value> values =
      builder_.call(op, std::move(arguments), attributes, std::move(outputs), site);
  std::vector<Tensor> symbols;
  for (const Value value : values) symbols.push_back(make_symbol(value, op.name, site));
  return symbols;
}

void GraphState::finalize(Site site) {
  const std::lock_guard lock(mutex_);
  if (!finalized_) finalized_ = site;
}

bool GraphState::is_final() const {
  const std::lock_guard lock(mutex_);
  return finalized_.has_value();
}

Program GraphState::take() {
  const std::lock_guard lock(mutex_);
  return std::move(builder_).take();
}

std::int64_t GraphState::constant_bytes() const {
  const std::lock_guard lock(mutex_);
  return builder_.constant_bytes();
}

}  // namespace tenure::graph
