#include "tenure/nn/layer.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <unordered_set>
#include <utility>

#include "tenure/graph/function.h"
#include "tenure/graph/ir/variable_state.h"
#include "tenure/memory/default_device.h"
#include "tenure/memory/scope.h"
#include "tenure/memory/threads/call.h"
#include "tenure/nn/dispose.h"
#include "tenure/nn/layer_state.h"
#include "tenure/nn/plan_only.h"
#include "tenure/ops/core/recorder.h"
#include "tenure/ops/creation.h"
#include "tenure/ops/shape_ops.h"

namespace tenure::nn {
namespace {

/// Variables of all layers below and including `root`, by path. What is a part in several places
/// counts once, under its first path.
template <class Choose>
std::vector<NamedVariable> collect(Layer::State& root, const Choose& choose) {
  std::vector<NamedVariable> found;
  std::unordered_set<const graph::VariableState*> seen;
  root.walk([&](const std::string& path, Layer::State& state) {
    choose(state, [&](const std::vector<NamedVariable>& variables) {
      for (const NamedVariable& own : variables) {
        if (!seen.insert(own.variable.state().get()).second) continue;
        found.push_back({Layer::State::join(path, own.name), own.variable});
      }
    });
  });
  return found;
}

/// What the thread does with layers now.
LayerCall layer_call() {
  const LayerCall* const call = ops::call_context().layer;
  return call == nullptr ? LayerCall{} : *call;
}

/// A stand-in for what it gives, which is not computed.
Tensor spec_of(const std::function<Tensor()>& initial, Site site) {
  const Plan::Value value = function(initial, {}, site).plan().outputs.front();
  return spec(value.shape, value.dtype, site);
}

Variable make_variable(std::vector<NamedVariable>& list, const std::string& name, bool trainable,
                       const std::function<Tensor()>& initial, Site site) {
  const CategoryScope category(Category::parameter);
  const bool has_data = !layer_call().has_no_data;
  list.push_back({name, Variable(Operand(has_data ? initial() : spec_of(initial, site), site), name,
                                 trainable)});
  return list.back().variable;
}

LayerCall with_site(LayerCall call, const Site& site) {
  call.site = &site;
  return call;
}

LayerCall with_watcher(LayerCall call, Layer::Watcher& watcher) {
  call.watcher = &watcher;
  return call;
}

LayerCall by_trainer(LayerCall call) {
  call.is_trainers = true;
  return call;
}

LayerCall without_data(LayerCall call) {
  call.has_no_data = true;
  return call;
}

}  // namespace

Layer::Watch::Watch(Watcher& watcher) : LayerCallScope(with_watcher(layer_call(), watcher)) {}
Layer::TrainerCall::TrainerCall() : LayerCallScope(by_trainer(layer_call())) {}

class PlanOnly::Scope : LayerCallScope {
 public:
  Scope() : LayerCallScope(without_data(layer_call())) {}
};
PlanOnly::PlanOnly() : scope_(std::make_unique<Scope>()) {}
PlanOnly::~PlanOnly() = default;

Tensor zeros_for(const Variable& variable, DType dtype, Site site) {
  const DeviceScope device(variable.device());
  return variable.has_data() ? zeros(variable.shape(), dtype, site)
                             : spec(variable.shape(), dtype, site);
}

std::int64_t bytes_of(const Variable& variable) {
  return count(variable.shape()) * static_cast<std::int64_t>(size_of(variable.dtype()));
}

std::int64_t bytes_of(const std::vector<NamedVariable>& variables) {
  std::int64_t bytes = 0;
  for (const NamedVariable& own : variables) bytes += bytes_of(own.variable);
  return bytes;
}

void move_to(const std::vector<NamedVariable>& variables, Device device, Site site) {
  std::vector<Variable> all;
  for (const NamedVariable& own : variables) all.push_back(own.variable);
  tenure::move_to(all, device, site);
}

void Layer::State::require_free(const std::string& wanted) const {
  if (wanted.empty() || wanted.find('/') != std::string::npos) {
    throw ValueError(
        fmt::format("'{}' cannot name a part of {}: a name has at least one letter and no slash",
                    wanted, kind));
  }
  const auto has = [&wanted](const auto& list) {
    return std::any_of(list.begin(), list.end(),
                       [&](const auto& entry) { return entry.name == wanted; });
  };
  if (has(parameters) || has(buffers) || has(parts)) {
    throw ValueError(fmt::format("{} already has a part named '{}'", kind, wanted));
  }
}

Layer::Layer(std::string kind, Site site)
    : state_(std::make_shared<State>(std::move(kind), site), site) {}

Site Layer::call_site() {
  const Site* const site = layer_call().site;
  return site != nullptr ? *site : Site::current();
}

Site Layer::part_site(const Layer& part) {
  return layer_call().is_trainers ? part.created() : call_site();
}

Site Layer::created() const { return state_->site; }

Tensor Layer::operator()(Tensor x, Site site) const {
  return apply_as(
      std::move(x), [this](Tensor input) { return forward(std::move(input)); }, site);
}

std::vector<Tensor> Layer::call(std::vector<Tensor> inputs, Site site) const {
  std::vector<Tensor> outputs;
  const auto run = [&]() -> const Tensor* {
    if (inputs.empty()) throw ValueError(fmt::format("{} is given no input", kind()));
    outputs = forward_all(std::move(inputs));
    if (outputs.empty()) throw ValueError(fmt::format("{} gives no output", kind()));
    return &outputs.front();
  };
  const Tensor none;
  const Tensor* first = inputs.empty() ? &none : &inputs.front();
  for (const Tensor& input : inputs) {
    if (input.defined() && input.is_disposed()) throw_disposed(input.body("call"), "call", site);
    if (input.defined() && input.is_symbolic()) first = &input;  // its graph is the call's
  }
  apply_around(*first, run, site);
  return outputs;
}

std::vector<Tensor> Layer::forward_all(std::vector<Tensor> inputs) const {
  if (inputs.size() != 1) {
    throw ValueError(fmt::format("{} takes one input, not {}", kind(), inputs.size()));
  }
  return {forward(std::move(inputs.front()))};
}

Tensor Model::forward(Tensor x) const {
  std::vector<Tensor> outputs = forward_all({std::move(x)});
  if (outputs.size() != 1) {
    throw ValueError(
        fmt::format("{} gives {} outputs; call() gives all of them", kind(), outputs.size()));
  }
  return std::move(outputs.front());
}

Tensor Layer::apply_as(Tensor x, const std::function<Tensor(Tensor)>& forward, Site site) const {
  Tensor output;
  apply_around(
      x,
      [&] {
        output = forward(std::move(x));
        return &output;
      },
      site);
  return output;
}

void Layer::apply_around(const Tensor& first, const std::function<const Tensor*()>& run,
                         Site site) const try {
  if (first.defined() && first.is_disposed()) {
    throw_disposed(first.body("forward"), "forward", site);
  }
  std::optional<NameScope> name;
  if (!state_->name.empty()) name.emplace(state_->name);
  const LayerCallScope call(with_site(layer_call(), site));
  std::optional<DeviceScope> device;  // for what forward() makes from nothing
  if (first.defined()) device.emplace(first.device());
  const ops::GraphScope scope(first, "forward", site);
  // What it throws itself; ops have named their own calls, and the path of the layer with them.
  mem::in_call(kind(), site, [&] {
    Watcher* const watcher = layer_call().watcher;
    if (watcher == nullptr) {
      run();
      return;
    }
    watcher->enter(*this);
    try {
      watcher->leave(run());
    } catch (...) {
      watcher->leave(nullptr);
      throw;
    }
  });
} catch (EmptyHandleError& error) {
  mem::name_call(error, "forward", site);
  throw;
}

const std::string& Layer::kind() const { return state_->kind; }

Variable Layer::add_parameter(const std::string& name, const Initial& initial, Site site) {
  return mem::in_call(kind(), site, [&] {
    state_->require_free(name);
    return make_variable(state_->parameters, name, true, initial, site);
  });
}

Variable Layer::add_buffer(const std::string& name, const Initial& initial, Site site) {
  return mem::in_call(kind(), site, [&] {
    state_->require_free(name);
    return make_variable(state_->buffers, name, false, initial, site);
  });
}

void Layer::add(const std::string& name, const Layer& part, Site site) {
  mem::in_call(kind(), site, [&] {
    state_->require_free(name);
    bool is_above = false;
    part.state_->walk(
        [&](const std::string&, const State& below) { is_above = is_above || &below == &*state_; });
    if (is_above) throw ValueError(fmt::format("{} cannot be a part of itself", kind()));
  });
  std::vector<std::pair<graph::VariableState*, std::string>> paths;
  part.state_->walk([&](const std::string& path, const State& below) {
    for (const auto* list : {&below.parameters, &below.buffers}) {
      for (const NamedVariable& own : *list) {
        paths.emplace_back(own.variable.state().get(),
                           State::join(State::join(name, path), own.name));
      }
    }
  });
  std::string own_name = part.state_->name.empty() ? name : part.state_->name;
  state_->parts.push_back({name, part.state_.shared()});
  // From here on nothing can fail.
  part.state_->name.swap(own_name);
  for (auto& [variable, path] : paths) variable->extend_path(std::move(path));
}

bool Layer::remove(const std::string& name) {
  const auto take_from = [&name](auto& list) {
    return std::erase_if(list, [&](const auto& entry) { return entry.name == name; }) > 0;
  };
  const bool was_there =
      take_from(state_->parameters) || take_from(state_->buffers) || take_from(state_->parts);
  if (was_there) ++state_->removals;
  return was_there;
}

std::vector<NamedVariable> Layer::parameters() const {
  return collect(*state_, [](State& state, const auto& take) { take(state.parameters); });
}

std::vector<NamedVariable> Layer::trainable() const {
  return collect(*state_, [](State& state, const auto& take) {
    if (!state.is_frozen) take(state.parameters);
  });
}

std::vector<NamedVariable> Layer::buffers() const {
  return collect(*state_, [](State& state, const auto& take) { take(state.buffers); });
}

std::vector<NamedVariable> Layer::variables() const {
  return collect(*state_, [](State& state, const auto& take) {
    take(state.parameters);
    take(state.buffers);
  });
}

std::int64_t Layer::parameter_count() const {
  std::int64_t total = 0;
  for (const NamedVariable& parameter : parameters()) total += count(parameter.variable.shape());
  return total;
}

void Layer::train(bool on) const {
  state_->walk([on](const std::string&, State& state) { state.is_training = on; });
}

bool Layer::is_training() const { return state_->is_training; }

void Layer::freeze(bool on) const {
  state_->walk([on](const std::string&, State& state) { state.is_frozen = on; });
}

bool Layer::is_frozen() const { return state_->is_frozen; }

std::string Layer::modes() const {
  std::string modes;
  const auto add = [&modes](const State& state, const auto& self) -> void {
    modes += static_cast<char>('0' + (state.is_training ? 1 : 0) + (state.is_frozen ? 2 : 0));
    if (state.removals > 0) modes += fmt::format("({})", state.removals);
    for (const State::Part& part : state.parts) self(*part.state, self);
  };
  add(*state_, add);
  return modes;
}

std::int64_t Layer::removals() const {
  std::int64_t total = 0;
  state_->walk([&total](const std::string&, const State& state) { total += state.removals; });
  return total;
}

void Layer::to(Device device, Site site) const {
  move_to(mem::in_call("to()", site, [&] { return variables(); }), device, site);
}

std::int64_t Layer::dispose(Site site) const {
  return dispose_all(mem::in_call("dispose()", site, [&] { return variables(); }), site);
}

Tensor Layer::read(const Variable& parameter, Site site) const {
  Tensor value = parameter.value(site);
  return state_->is_frozen ? stop_gradient(Operand(value, site)) : value;
}

}  // namespace tenure::nn
