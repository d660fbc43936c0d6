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

namespace {

LoadReport assign(const std::vector<NamedVariable>& variables, const Checkpoint& checkpoint,
                  const LoadOptions& options, Site site) {
  LoadReport report;
  std::set<std::string> wanted;
  std::vector<const NamedVariable*> fitting;
  const auto fits = [&](const Variable& variable, const Tensor& saved) {
    if (is_old_count(variable, saved)) return true;
    const bool may_cast =
        options.cast && is_floating(saved.dtype()) && is_floating(variable.dtype());
    return saved.shape() == variable.shape() && (saved.dtype() == variable.dtype() || may_cast);
  };
  for (const NamedVariable& own : variables) {
    const auto& [name, variable] = own;
    wanted.insert(name);
    const auto found = checkpoint.tensors.find(name);
    if (found == checkpoint.tensors.end()) {
      report.left_out.push_back(name + ": not in the file");
    } else if (!fits(variable, found->second)) {
      report.left_out.push_back(fmt::format("{}: {} in the file, {} here", name,
                                            type_of(found->second.dtype(), found->second.shape()),
                                            type_of(variable.dtype(), variable.shape())));
    } else {
      report.loaded.push_back(name);
      fitting.push_back(&own);
    }
  }
  for (const auto& [name, tensor] : checkpoint.tensors) {
    if (wanted.count(name) == 0) report.left_out.push_back(name + ": only in the file");
  }
  const bool is_enough = options.partial ? !fitting.empty() : report.left_out.empty();
  if (!is_enough) throw CheckpointError(checkpoint.path, std::move(report.left_out));

  // Copies first: whatever is refused is refused before the first variable changes.
  std::vector<Tensor> values;
  for (const NamedVariable* own : fitting) {
    const Tensor& saved = checkpoint.tensor(own->name);
    const DType dtype = own->variable.dtype();
    values.push_back(saved.dtype() == dtype ? clone({saved, site}) : cast({saved, site}, dtype));
  }
  for (std::size_t i = 0; i < fitting.size(); ++i) {
    fitting[i]->variable.assign({std::move(values[i]), site});
  }
  return report;
}

}  // namespace

void assign_all(const std::vector<NamedVariable>& variables, const Checkpoint& checkpoint,
                Site site) try {
  assign(variables, checkpoint, {}, site);
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

LoadReport load_weights(const Layer& model, const std::string& path, const LoadOptions& options,
                        Site site) {
  return mem::in_call("load_weights", site, [&] {
    return assign(model.variables(), load_checkpoint(path, site), options, site);
  });
}

}  // namespace tenure::nn
