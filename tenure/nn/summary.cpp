#include "tenure/nn/summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <ostream>

#include "tenure/base/units.h"
#include "tenure/graph/function.h"
#include "tenure/memory/threads/call.h"
#include "tenure/nn/layer_state.h"
#include "tenure/nn/step_checks.h"

namespace tenure::nn {
namespace {

/// Notes each layer that is applied; one that is applied several times has a row for each.
class Rows final : public Layer::Watcher {
 public:
  void enter(const Layer& layer) override {
    const Layer::State& state = layer.state();
    path_.push_back(state.name);
    std::string path;
    for (const std::string& name : path_) {
      if (!name.empty()) path = Layer::State::join(path, name);
    }
    std::int64_t own = 0;
    for (const NamedVariable& parameter : state.parameters) {
      own += count(parameter.variable.shape());
    }
    open_.push_back(rows.size());
    rows.push_back({.path = std::move(path),
                    .kind = state.kind,
                    .detail = layer.describe(),
                    .parameters = own});
  }
  void leave(const Tensor* output) override {
    if (output != nullptr) rows[open_.back()].output = output->shape();
    open_.pop_back();
    path_.pop_back();
  }

  std::vector<Summary::Row> rows;

 private:
  std::vector<std::string> path_;
  std::vector<std::size_t> open_;
};

std::int64_t total(const std::vector<NamedVariable>& variables) {
  std::int64_t sum = 0;
  for (const NamedVariable& own : variables) sum += count(own.variable.shape());
  return sum;
}

/// 1234567 as 1,234,567.
std::string grouped(std::int64_t number) {
  std::string text = std::to_string(number);
  for (auto place = static_cast<int>(text.size()) - 3; place > 0; place -= 3) {
    text.insert(static_cast<std::size_t>(place), 1, ',');
  }
  return text;
}

}  // namespace

Summary summarize(const Layer& model, const Tensor& input, Site site) {
  return summarize(model, Tensors{input}, site);
}

Summary summarize(const Layer& model, const Tensors& inputs, Site site) {
  Rows rows;
  Summary summary;
  {
    const Layer::Watch watch(rows);
    const auto apply =
        function([&model, site](const Tensors& x) { return model.call(x, site); }, {}, site);
    summary.inference = mem::in_call("summarize", site, [&] {
      const std::vector<NamedVariable> own = model.variables();
      return apply.plan(own.empty() ? inputs
                                    : specs_on(own.front().variable.device(), inputs, site));
    });
  }
  summary.rows = std::move(rows.rows);
  summary.parameters = total(model.parameters());
  summary.trainable = total(model.trainable());
  summary.parameter_bytes = bytes_of(model.parameters());
  return summary;
}

Summary summarize(const Trainer& trainer, const Tensor& input, const Tensor& target, Site site) {
  return summarize(trainer, Tensors{input}, Tensors{target}, site);
}

Summary summarize(const Trainer& trainer, const Tensors& inputs, const Tensors& targets,
                  Site site) {
  Summary summary = summarize(trainer.model(), inputs, site);
  summary.training = trainer.plan(inputs, targets, site);
  return summary;
}

std::string to_string(const Summary& summary) {
  std::vector<std::array<std::string, 4>> table{{"layer", "kind", "output", "parameters"}};
  for (const Summary::Row& row : summary.rows) {
    const std::string kind = row.detail.empty() ? row.kind : row.kind + " " + row.detail;
    table.push_back({row.path.empty() ? "(model)" : row.path, kind, to_string(row.output),
                     row.parameters == 0 ? "" : grouped(row.parameters)});
  }
  std::array<std::size_t, 4> widths{};
  for (const auto& cells : table) {
    for (std::size_t i = 0; i < cells.size(); ++i) {
      widths[i] = std::max(widths[i], cells[i].size());
    }
  }
  std::string text;
  for (const auto& cells : table) {
    text += fmt::format("{:<{}}  {:<{}}  {:<{}}  {:>{}}\n", cells[0], widths[0], cells[1],
                        widths[1], cells[2], widths[2], cells[3], widths[3]);
  }
  text += fmt::format("parameters      {} ({} trainable), {}\n", grouped(summary.parameters),
                      grouped(summary.trainable), format_bytes(summary.parameter_bytes));
  text += fmt::format("inference       {} beside parameters and input\n",
                      format_bytes(summary.inference.peak + summary.inference.constants));
  if (!summary.training) return text;
  const StepPlan& step = *summary.training;
  text += fmt::format("training step   {}: parameters {}, optimizer {}, batch {}, computation {}\n",
                      format_bytes(step.peak()), format_bytes(step.parameters),
                      format_bytes(step.optimizer), format_bytes(step.batch),
                      format_bytes(step.computation()));
  return text;
}

std::ostream& operator<<(std::ostream& out, const Summary& summary) {
  return out << to_string(summary);
}

}  // namespace tenure::nn
