#include "tenure/nn/step_checks.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <unordered_set>

#include "tenure/graph/function.h"
#include "tenure/graph/ir/variable_state.h"
#include "tenure/graph/trace/state.h"
#include "tenure/memory/default_device.h"
#include "tenure/ops/core/gradient.h"

namespace tenure::nn {
namespace {

using graph::VariableState;

/// The variables that calls of the program read other than to stop gradients.
std::vector<std::shared_ptr<VariableState>> variables_used(const graph::Program& program) {
  std::vector<std::shared_ptr<VariableState>> used;
  std::unordered_set<const VariableState*> seen;
  for (const graph::Node& node : program.nodes) {
    const bool stops = node.op != nullptr && node.op->view != nullptr &&
                       node.op->gradient != nullptr && node.op->gradient->run == nullptr;
    if (node.kind != graph::Node::Kind::call || stops) continue;
    for (const graph::Argument& argument : node.arguments) {
      if (argument.number) continue;
      const graph::Node& from = program[argument.value];
      if (from.kind != graph::Node::Kind::variable) continue;
      if (seen.insert(from.variable.get()).second) used.push_back(from.variable);
    }
  }
  return used;
}

}  // namespace

void require_data(const Tensor& tensor, const char* user, Site site) {
  const TensorBody& body = tensor.body(user, site);
  if (body.symbol() != nullptr || body.is_disposed()) throw_disposed(body, user, site);
}

void require_number(const Tensor& tensor, const std::string& what, Site site) {
  if (!tensor.defined()) {
    throw ValueError(
        fmt::format("Trainer: {} is an empty handle; it is one number\n  trainer made at {}", what,
                    to_string(site)));
  }
  if (tensor.rank() != 0) {
    throw ShapeError("Trainer",
                     fmt::format("{} has shape {}; it is one number: mean() or sum() it\n  trainer "
                                 "made at {}",
                                 what, to_string(tensor.shape()), to_string(site)),
                     {tensor.shape().to_vector()});
  }
  if (!is_floating(tensor.dtype())) {
    throw DTypeError("Trainer", fmt::format("{} is {}; it is a float\n  trainer made at {}", what,
                                            name_of(tensor.dtype()), to_string(site)));
  }
}

void require_own_parameters(const StepParts& parts, const Tensors& prediction) {
  std::optional<graph::SymbolView> symbol;  // any has all that the trace has come to
  for (const Tensor& one : prediction) {
    if (symbol = graph::look_up(one); symbol && symbol->graph != nullptr) break;
  }
  if (!symbol || symbol->graph == nullptr) return;
  std::unordered_set<const VariableState*> own;
  for (const NamedVariable& known : parts.model.variables()) {
    own.insert(known.variable.state().get());
  }
  for (const NamedVariable& known : parts.optimizer.parameters()) {
    own.insert(known.variable.state().get());
  }
  for (const auto& variable : symbol->graph->read(variables_used)) {
    if (!variable->trainable || own.contains(variable.get())) continue;
    throw ValueError(fmt::format(
        "{} computes with the variable \"{}\" made at {}, which is no part of it, so that training "
        "would leave it as it is\n  add(\"name\", layer) it to the model, give it to the "
        "optimizer, "
        "or freeze() it",
        parts.model.kind(), variable->name, to_string(variable->created)));
  }
}

void require_use(const std::vector<Tensor>& gradients, Site site) {
  const auto has_gradient = [](const Tensor& gradient) { return gradient.defined(); };
  if (gradients.empty() || std::any_of(gradients.begin(), gradients.end(), has_gradient)) return;
  throw ValueError(fmt::format(
      "Trainer: the loss depends on none of the optimizer's parameters, so that nothing "
      "would be learned\n  trainer made at {}",
      to_string(site)));
}

Tensors specs_on(Device device, Tensors tensors, Site site) {
  const DeviceScope scope(device);
  for (Tensor& tensor : tensors) {
    if (!tensor.defined() || tensor.device() == device) continue;
    tensor = spec(tensor.shape(site), tensor.dtype(site), site);
  }
  return tensors;
}

}  // namespace tenure::nn
