#include "tenure/graph/variable.h"

#include <fmt/format.h>

#include <atomic>
#include <map>
#include <utility>

#include "tenure/base/error.h"
#include "tenure/base/lasting.h"
#include "tenure/base/per_thread.h"
#include "tenure/graph/ir/variable_state.h"
#include "tenure/graph/spec.h"
#include "tenure/graph/trace/state.h"
#include "tenure/memory/default_device.h"
#include "tenure/memory/pool/devices.h"
#include "tenure/memory/scope.h"
#include "tenure/memory/threads/call.h"
#include "tenure/ops/core/dispatch.h"
#include "tenure/ops/core/list.h"
#include "tenure/ops/core/tape.h"
#include "tenure/ops/creation.h"
#include "tenure/ops/shape_ops.h"
#include "tenure/tensor/share.h"

namespace tenure {
namespace {

using graph::GraphState;

Container& process_container() {
  static constinit Lasting<Container> container;
  return container.get([] { return new Container("process"); });
}

bool is_spec(const Tensor& tensor) {
  const TensorBody* const body = tensor.body_or_null();
  return body != nullptr && body->symbol() != nullptr && !graph::look_up(tensor);
}

bool can_move_in(const Operand& value) {
  return value.may_consume() && value.tensor().is_sole_holder() && value.tensor().is_contiguous();
}

/// A contiguous tensor of the caller's own.
Tensor owned(const Operand& value) {
  if (!value.is_scalar()) static_cast<void>(value.tensor().body("variable", value.site()));
  if (!value.is_scalar() && is_spec(value.tensor())) {
    const Tensor& given = value.tensor();
    const DeviceScope device(given.device());
    return graph::spec_tensor(given.dtype(), given.shape(), value.site());
  }
  if (value.is_scalar() || !can_move_in(value)) return clone(value);
  Tensor taken = value.tensor();
  value.consume();
  return taken;
}

}  // namespace

Variable::Variable(const Operand& initial, std::string name, bool trainable) {
  const ops::TraceScope now(nullptr);
  state_ = {std::make_shared<graph::VariableState>(std::move(name), trainable, owned(initial),
                                                   initial.site()),
            initial.site()};
}

const std::string& Variable::name() const { return state_->name; }
bool Variable::trainable() const { return state_->trainable; }
DType Variable::dtype() const { return state_->dtype; }
const Shape& Variable::shape() const { return state_->shape; }
Device Variable::device() const { return state_->device(); }
bool Variable::has_data() const { return !is_spec(state_->value()); }
Site Variable::created() const { return state_->created; }

Tensor Variable::value(Site site) const try {
  if (auto* const trace = dynamic_cast<GraphState*>(ops::current_trace())) {
    return trace->read_variable(state(), site);
  }
  Tensor value = state_->value();
  if (value.is_disposed() || is_spec(value))
    throw_disposed(value.body("value()", site), "value()", site);
  // A view: what the variable holds next is another tensor, and this one stays.
  Tensor view = share(value, "variable", site, HolderKind::view);
  if (ops::current_tape() != nullptr) {
    ops::current_tape()->read_variable(state_->number, state_->trainable, view);
  }
  return view;
} catch (Error& error) {
  mem::name_call(error, "value()", site);
  throw;
}

void Variable::assign(const Operand& value) const try {
  if (value.is_scalar()) {
    throw ShapeError("assign", "a number is no tensor; use full() for one of the right shape");
  }
  if (auto* const trace = dynamic_cast<GraphState*>(ops::current_trace())) {
    if (trace->is_graph()) {
      trace->update_variable(state(), nullptr, value.tensor(), value.site());
    } else {
      trace->assign_variable(state(), value.tensor(), value.site());
    }
    return value.consume();
  }
  const TensorBody& body = value.tensor().body("assign", value.site());
  if (body.symbol() != nullptr) throw_disposed(body, "assign", value.site());
  state_->require_fit(body.dtype, body.shape);
  if (body.device() != state_->device()) {
    state_->replace(copy_to(Operand(value.tensor(), value.site()), state_->device()), value.site());
    return value.consume();
  }
  if (!can_move_in(value) && state_->copy_in(value.tensor(), value.site())) return value.consume();
  state_->replace(owned(value), value.site());
} catch (Error& error) {
  mem::name_call(error, "assign", value.site());
  throw;
}

void Variable::assign_add(const Operand& value) const {
  static constinit ops::NamedOp op("add");
  update(*op, value);
}

void Variable::assign_sub(const Operand& value) const {
  static constinit ops::NamedOp op("sub");
  update(*op, value);
}

void Variable::update(const ops::OpRecord& op, const Operand& value) const try {
  auto* const trace = dynamic_cast<GraphState*>(ops::current_trace());
  if (trace != nullptr && trace->is_graph()) {
    const Tensor term =
        value.is_scalar() ? full({}, value.scalar(), state_->dtype, value.site()) : value.tensor();
    return trace->update_variable(state(), &op, term, value.site());
  }
  if (trace == nullptr && state_->update(op, value)) return;
  assign(Operand(ops::call(op, Operand(this->value(value.site()), value.site()), value),
                 value.site()));
} catch (Error& error) {
  mem::name_call(error, op.name, value.site());
  throw;
}

void Variable::to(Device device, Site site) const { move_to({*this}, device, site); }

void move_to(const std::vector<Variable>& variables, Device device, Site site) try {
  mem::require_device(device, "to()", site);
  if (ops::current_trace() != nullptr) {
    throw GraphError("variables are moved to another device while something is traced", site);
  }
  // Each once, in the order in which runs lock them.
  std::map<std::uint64_t, graph::VariableState*> states;
  for (const Variable& variable : variables) {
    graph::VariableState* const state = variable.state().get();
    if (state->device() != device) states.emplace(state->number, state);
  }
  const ops::Untaped untaped;
  std::vector<Tensor> moved;
  std::vector<std::unique_lock<ObjectMutex>> locks;
  for (const auto& [number, state] : states) {
    locks.push_back(state->lock());
    if (is_spec(state->locked_value())) {
      const DeviceScope there(device);
      moved.push_back(graph::spec_tensor(state->dtype, state->shape, site));
      continue;
    }
    state->require_data("to()", site);
    const CategoryScope category(state->category);
    moved.push_back(copy_to(Operand(state->locked_value(), site), device));
  }
  std::size_t next = 0;
  for (const auto& [number, state] : states) {
    Tensor& tensor = moved[next++];
    tensor = state->move_locked(std::move(tensor));
  }
} catch (Error& error) {
  mem::name_call(error, "to()", site);
  throw;
}

void Variable::dispose(Site site) const {
  mem::in_call("dispose()", site, [&] { state_->dispose(site); });
}

bool Variable::is_disposed() const { return state_->value().is_disposed(); }

Container::~Container() {
  try {
    clear();
  } catch (const ForkError&) {  // a thread of the parent's was at it: its variables stay
  }
}

std::vector<Variable> Container::variables() const {
  const std::lock_guard lock(mutex_);
  std::vector<Variable> list;
  for (const auto& [name, variable] : variables_) list.push_back(variable);
  return list;
}

const Variable* Container::find(const std::string& name) const {
  const std::lock_guard lock(mutex_);
  const auto found = variables_.find(name);
  return found == variables_.end() ? nullptr : &found->second;
}

std::int64_t Container::bytes() const {
  const std::lock_guard lock(mutex_);
  return locked_bytes();
}

std::int64_t Container::locked_bytes() const {
  std::int64_t bytes = 0;
  for (const auto& [name, variable] : variables_) {
    if (variable.is_disposed()) continue;
    bytes += count(variable.shape()) * static_cast<std::int64_t>(size_of(variable.dtype()));
  }
  return bytes;
}

// It takes no memory: a destructor calls it.
std::int64_t Container::clear(Site site) {
  const std::lock_guard lock(mutex_);
  const std::int64_t freed = locked_bytes();
  for (const auto& [name, variable] : variables_) variable.dispose(site);
  variables_.clear();
  return freed;
}

struct VariableScope::State {
  State(Container& container, std::string path, Reuse reuse)
      : container(container), path(std::move(path)), reuse(reuse) {}

  Container& container;
  const std::string path;
  const Reuse reuse;
  std::atomic<bool> has_ended{false};

  /// Of this thread; some of them may have ended.
  static std::vector<std::shared_ptr<State>>& all() {
    return PerThread<std::vector<std::shared_ptr<State>>>::get();
  }
};

const VariableScope::State* VariableScope::current() {
  std::erase_if(State::all(), [](const auto& scope) { return scope->has_ended.load(); });
  return State::all().empty() ? nullptr : State::all().back().get();
}

Container& VariableScope::current_container() {
  const State* const scope = current();
  return scope == nullptr ? process_container() : scope->container;
}

VariableScope::VariableScope(const std::string& name, Reuse reuse)
    : VariableScope(name, current_container(), reuse) {}

VariableScope::VariableScope(const std::string& name, Container& container, Reuse reuse) {
  const State* const outer = current();
  state_ =
      std::make_shared<State>(container, outer == nullptr ? name : outer->path + "/" + name, reuse);
  State::all().push_back(state_);
}

VariableScope::~VariableScope() {
  state_->has_ended = true;
  current();  // drops it, if the thread is the one that opened it
}

Variable get_variable(const std::string& name, const std::function<Tensor()>& initial,
                      bool trainable, Site site) {
  using Reuse = VariableScope::Reuse;
  const VariableScope::State* const scope = VariableScope::current();
  Container& container = VariableScope::current_container();
  const std::string path = scope == nullptr ? name : scope->path + "/" + name;
  const Reuse reuse = scope == nullptr ? Reuse::never : scope->reuse;
  const auto use_again = [&](const Variable& found) {
    if (reuse != Reuse::never) return found;
    throw GraphError(fmt::format("variable \"{}\" exists already, made at {}; to use it again, "
                                 "open its scope with Reuse::always or Reuse::automatic",
                                 path, to_string(found.created())),
                     site);
  };
  if (const Variable* const found = container.find(path)) return use_again(*found);
  if (initial == nullptr) {
    throw GraphError(fmt::format("variable \"{}\" has no function that makes it", path), site);
  }
  if (reuse == Reuse::always) {
    throw GraphError(
        fmt::format("there is no variable \"{}\" in container \"{}\"", path, container.name()),
        site);
  }
  const auto made = [&] {
    // Whatever is being traced: a run finds the variable with what it holds.
    const ops::TraceScope now(nullptr);
    const ops::Untaped untaped;
    return Variable(Operand(initial(), site), path, trainable);
  };
  const Variable variable = made();
  const std::lock_guard lock(container.mutex_);
  const auto [place, is_new] = container.variables_.emplace(path, variable);
  return is_new ? variable : use_again(place->second);  // another thread, or initial(), made it
}

}  // namespace tenure
