#include "tenure/graph/variable.h"

#include <fmt/format.h>

#include <atomic>
#include <utility>

#include "tenure/base/error.h"
#include "tenure/graph/state.h"
#include "tenure/graph/variable_state.h"
#include "tenure/ops/elementwise.h"
#include "tenure/ops/shape_ops.h"
#include "tenure/ops/tape.h"
#include "tenure/tensor/share.h"

namespace tenure {
namespace graph {

namespace {

std::uint64_t next_number() {
  static std::atomic<std::uint64_t> last{0};
  return ++last;
}

}  // namespace

VariableState::VariableState(std::string name, bool trainable, Tensor value, Site site)
    : number(next_number()),
      name(std::move(name)),
      trainable(trainable),
      dtype(value.dtype()),
      shape(value.shape()),
      created(site),
      value_(prepared(std::move(value), this->name)) {}

Tensor VariableState::prepared(Tensor value, const std::string& name) {
  TensorBody& body = value.body("variable");
  Pin(body, "variable", body.created())
      .storage()
      ->set_category(mem::this_thread(), Category::parameter);
  body.keep();
  body.set_kind(HolderKind::variable);
  value.set_name(name);
  return value;
}

Tensor VariableState::value() const {
  const std::lock_guard lock(mutex_);
  return value_;
}

void VariableState::require_fit(DType type, const Shape& dims) const {
  const std::string user = fmt::format("variable \"{}\"", name);
  if (type != dtype) {
    throw DTypeError(user, fmt::format("holds {}, not {}", name_of(dtype), name_of(type)));
  }
  if (!(dims == shape)) {
    throw ShapeError(user, fmt::format("has shape {}, not {}", to_string(shape), to_string(dims)),
                     {shape.to_vector(), dims.to_vector()});
  }
}

void VariableState::replace(Tensor value, Site site) {
  require_fit(value.dtype(), value.shape());
  Tensor fresh = prepared(std::move(value), name);
  const std::lock_guard lock(mutex_);
  TensorBody& old = value_.body("assign", site);
  if (old.is_disposed()) throw_disposed(old, "assign", site);
  std::swap(value_, fresh);
}

void VariableState::dispose(Site site) const { value().dispose(site); }

}  // namespace graph

namespace {

using graph::GraphState;

thread_local VariableScope* current_scope = nullptr;

Container& process_container() {
  static auto* const container = new Container("process");
  return *container;
}

/// A contiguous tensor of the caller's own.
Tensor owned(const Operand& value) {
  const bool may_take = !value.is_scalar() && value.may_consume() &&
                        value.tensor().is_sole_holder() && value.tensor().is_contiguous();
  if (!may_take) return clone(value);
  Tensor taken = value.tensor();
  value.consume();
  return taken;
}

}  // namespace

Variable::Variable(const Operand& initial, std::string name, bool trainable) {
  const ops::TraceScope now(nullptr);
  state_ = std::make_shared<graph::VariableState>(std::move(name), trainable, owned(initial),
                                                  initial.site());
}

const std::string& Variable::name() const { return state_->name; }
bool Variable::trainable() const { return state_->trainable; }
DType Variable::dtype() const { return state_->dtype; }
const Shape& Variable::shape() const { return state_->shape; }
Site Variable::created() const { return state_->created; }

Tensor Variable::value(Site site) const {
  if (auto* const trace = dynamic_cast<GraphState*>(ops::current_trace())) {
    return trace->read_variable(state_, site);
  }
  Tensor value = state_->value();
  if (value.is_disposed()) throw_disposed(value.body("value()", site), "value()", site);
  // A view: what the variable holds next is another tensor, and this one stays.
  Tensor view = share(value, "variable", site, HolderKind::view);
  if (ops::active_tape != nullptr) {
    ops::active_tape->read_variable(state_->number, state_->trainable, view);
  }
  return view;
}

void Variable::assign(const Operand& value) const {
  if (value.is_scalar()) {
    throw ShapeError("assign", "a number is no tensor; use full() for one of the right shape");
  }
  if (auto* const trace = dynamic_cast<GraphState*>(ops::current_trace())) {
    trace->assign_variable(state_, value.tensor(), value.site());
    return value.consume();
  }
  const TensorBody& body = value.tensor().body("assign", value.site());
  if (body.symbol() != nullptr) throw_disposed(body, "assign", value.site());
  state_->require_fit(body.dtype, body.shape);
  state_->replace(owned(value), value.site());
}

void Variable::assign_add(const Operand& value) const {
  assign(Operand(add(Operand(this->value(value.site()), value.site()), value), value.site()));
}

void Variable::assign_sub(const Operand& value) const {
  assign(Operand(sub(Operand(this->value(value.site()), value.site()), value), value.site()));
}

void Variable::dispose(Site site) const { state_->dispose(site); }

bool Variable::is_disposed() const { return state_->value().is_disposed(); }

Container::~Container() { clear(); }

std::vector<Variable> Container::variables() const {
  std::vector<Variable> list;
  for (const auto& [name, variable] : variables_) list.push_back(variable);
  return list;
}

const Variable* Container::find(const std::string& name) const {
  const auto found = variables_.find(name);
  return found == variables_.end() ? nullptr : &found->second;
}

std::int64_t Container::bytes() const {
  std::int64_t bytes = 0;
  for (const auto& [name, variable] : variables_) {
    if (variable.is_disposed()) continue;
    bytes += count(variable.shape()) * static_cast<std::int64_t>(size_of(variable.dtype()));
  }
  return bytes;
}

std::int64_t Container::clear(Site site) {
  const std::int64_t freed = bytes();
  for (const auto& [name, variable] : variables_) variable.dispose(site);
  variables_.clear();
  return freed;
}

VariableScope::VariableScope(const std::string& name, Reuse reuse)
    : VariableScope(
          name, current_scope == nullptr ? process_container() : current_scope->container_, reuse) {
}

VariableScope::VariableScope(const std::string& name, Container& container, Reuse reuse)
    : outer_(std::exchange(current_scope, this)),
      container_(container),
      path_(outer_ == nullptr ? name : outer_->path_ + "/" + name),
      reuse_(reuse) {}

VariableScope::~VariableScope() { current_scope = outer_; }

Variable get_variable(const std::string& name, const std::function<Tensor()>& initial,
                      bool trainable, Site site) {
  using Reuse = VariableScope::Reuse;
  const VariableScope* const scope = current_scope;
  Container& container = scope == nullptr ? process_container() : scope->container_;
  const std::string path = scope == nullptr ? name : scope->path_ + "/" + name;
  const Reuse reuse = scope == nullptr ? Reuse::never : scope->reuse_;
  if (const Variable* const found = container.find(path)) {
    if (reuse != Reuse::never) return *found;
    throw GraphError(fmt::format("variable \"{}\" exists already, made at {}; to use it again, "
                                 "open its scope with Reuse::always or Reuse::automatic",
                                 path, to_string(found->created())),
                     site);
  }
  if (reuse == Reuse::always) {
    throw GraphError(
        fmt::format("there is no variable \"{}\" in container \"{}\"", path, container.name()),
        site);
  }
  const Variable variable(Operand(initial(), site), path, trainable);
  container.variables_.emplace(path, variable);
  return variable;
}

}  // namespace tenure
