#include "tenure/nn/checkpoint.h"

#include <fmt/format.h>

#include <cmath>
#include <set>
#include <utility>

#include "tenure/memory/threads/call.h"
#include "tenure/ops/shape_ops.h"

namespace tenure::nn {
namespace {

std::string type_of(DType dtype, const Shape& shape) {
  return fmt::format("{}{}", name_of(dtype), to_string(shape));
}

std::string text_of(const std::string& path, const std::vector<std::string>& problems) {
  constexpr std::size_t kShown = 8;
  std::string text = fmt::format("{} is a checkpoint of something else:", path);
  for (std::size_t i = 0; i < problems.size() && i < kShown; ++i) text += "\n  " + problems[i];
  if (problems.size() > kShown) {
    text += fmt::format("\n  and {} more", problems.size() - kShown);
  }
  return text;
}

/// Optimizers counted their steps in float32 once: such a count is read as what it stands for.
bool is_old_count(const Variable& variable, const Tensor& saved) {
  if (variable.dtype() != DType::int64 || saved.dtype() != DType::float32) return false;
  if (!variable.shape().empty() || !saved.shape().empty()) return false;
  const float count = saved.item<float>();
  return count >= 0 && count <= 0x1p24F && count == std::floor(count);
}

}  // namespace

CheckpointError::CheckpointError(const std::string& path, std::vector<std::string> problems)
    : Error(text_of(path, problems)), path_(path), problems_(std::move(problems)) {}

NamedTensors values_of(const std::vector<NamedVariable>& variables, Site site) {
  NamedTensors values;
  for (const NamedVariable& own : variables) values.emplace(own.name, own.variable.value(site));
  return values;
}

void assign_all(const std::vector<NamedVariable>& variables, const Checkpoint& checkpoint,
                Site site) try {
  std::vector<std::string> problems;
  std::set<std::string> wanted;
  for (const auto& [name, variable] : variables) {
    wanted.insert(name);
    const auto found = checkpoint.tensors.find(name);
    if (found == checkpoint.tensors.end()) {
      problems.push_back(name + ": not in the file");
    } else if ((found->second.dtype() != variable.dtype() ||
                !(found->second.shape() == variable.shape())) &&
               !is_old_count(variable, found->second)) {
      problems.push_back(fmt::format("{}: {} in the file, {} here", name,
                                     type_of(found->second.dtype(), found->second.shape()),
                                     type_of(variable.dtype(), variable.shape())));
    }
  }
  for (const auto& [name, tensor] : checkpoint.tensors) {
    if (wanted.count(name) == 0) problems.push_back(name + ": only in the file");
  }
  if (!problems.empty()) throw CheckpointError(checkpoint.path, std::move(problems));

  // Copies first: whatever is refused is refused before the first variable changes.
  std::vector<Tensor> values;
  for (const NamedVariable& own : variables) {
    const Tensor& saved = checkpoint.tensor(own.name);
    const DType dtype = own.variable.dtype();
    values.push_back(saved.dtype() == dtype ? clone({saved, site}) : cast({saved, site}, dtype));
  }
  for (std::size_t i = 0; i < variables.size(); ++i) {
    variables[i].variable.assign({std::move(values[i]), site});
  }
} catch (Error& error) {
  mem::name_call(error, "assign_all", site);
  throw;
}

void save_weights(const Layer& model, const std::string& path, Site site) {
  mem::in_call("save_weights", site,
               [&] { save_checkpoint(path, values_of(model.variables(), site), {}, site); });
}

void load_weights(const Layer& model, const std::string& path, Site site) {
  mem::in_call("load_weights", site,
               [&] { assign_all(model.variables(), load_checkpoint(path, site), site); });
}

}  // namespace tenure::nn
