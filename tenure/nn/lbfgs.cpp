#include "tenure/nn/lbfgs.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <unordered_set>

#include "tenure/autograd/tape.h"
#include "tenure/memory/default_device.h"
#include "tenure/memory/scope.h"
#include "tenure/memory/threads/arguments.h"
#include "tenure/memory/threads/call.h"
#include "tenure/nn/dispose.h"
#include "tenure/nn/step_checks.h"
#include "tenure/ops/core/recorder.h"
#include "tenure/ops/core/tape.h"
#include "tenure/ops/creation.h"
#include "tenure/ops/elementwise.h"
#include "tenure/ops/linalg_ops.h"
#include "tenure/ops/reduce_ops.h"
#include "tenure/ops/shape_ops.h"

namespace tenure::nn {
namespace {

void require_domain(const std::vector<NamedVariable>& parameters, const LbfgsOptions& options) {
  if (parameters.empty()) throw ValueError("Lbfgs: there is no parameter to change");
  std::unordered_set<const graph::VariableState*> seen;
  for (const NamedVariable& parameter : parameters) {
    const DType dtype = parameter.variable.dtype();
    if (dtype != DType::float32 && dtype != DType::float64) {
      throw DTypeError("Lbfgs", fmt::format("parameter {} is {}; it changes float32 and float64",
                                            parameter.name, name_of(dtype)));
    }
    if (!seen.insert(parameter.variable.state().get()).second) {
      throw ValueError(fmt::format("Lbfgs: parameter {} is given twice", parameter.name));
    }
  }
  const LineSearchOptions& search = options.line_search;
  mem::require_least("Lbfgs", {{"iterations", options.iterations},
                               {"history", options.history},
                               {"evaluations", search.evaluations}});
  mem::require_in(mem::kAboveZero, "Lbfgs", {{"rate", options.rate}});
  mem::require_in(mem::kNotNegative, "Lbfgs",
                  {{"rate", options.rate},
                   {"gradient_tolerance", options.gradient_tolerance},
                   {"change_tolerance", options.change_tolerance}});
  mem::require_in(mem::kWithinOne, "Lbfgs",
                  {{"decrease", search.decrease}, {"curvature", search.curvature}});
  if (search.decrease >= search.curvature) {
    throw ValueError(fmt::format("Lbfgs: decrease is {}; it is below curvature, {}",
                                 search.decrease, search.curvature));
  }
}

Device device_of(const std::vector<NamedVariable>& parameters) {
  return parameters.empty() ? default_device() : parameters.front().variable.device();
}

}  // namespace

Lbfgs::Lbfgs(std::vector<NamedVariable> parameters, const LbfgsOptions& options, Site site)
    : parameters_(std::move(parameters)), options_(options), pairs_([&] {
        mem::in_call("Lbfgs", site, [&] { require_domain(parameters_, options); });
        const CategoryScope category(Category::optimizer);
        const DeviceScope device(device_of(parameters_));
        return Variable({zeros({}, DType::int64, site), site}, "lbfgs/pairs", false);
      }()) {
  std::int64_t elements = 0;
  for (const NamedVariable& parameter : parameters_) {
    elements += count(parameter.variable.shape());
    if (parameter.variable.dtype() == DType::float64) dtype_ = DType::float64;
  }
  const CategoryScope category(Category::optimizer);
  const DeviceScope device(device_of(parameters_));
  for (int i = 0; i < options.history; ++i) {
    const auto make = [&](const char* name) {
      return Variable({zeros({elements}, dtype_, site), site}, fmt::format("lbfgs/{}/{}", name, i),
                      false);
    };
    changes_.push_back(make("change"));
    bends_.push_back(make("bend"));
  }
}

/// One step(). It changes the parameters, and takes that back unless it is kept; what is remembered
/// changes when it is.
class Lbfgs::Descent {
 public:
  Descent(Lbfgs& owner, const std::function<Tensor()>& loss, Site site)
      : owner_(owner),
        loss_(loss),
        site_(site),
        pairs_(owner.pairs_.value(site).item<std::int64_t>(site)) {
    for (const NamedVariable& parameter : owner.parameters_) {
      before_.push_back(clone(at(parameter.variable.value(site))));
      variables_.push_back(parameter.variable);
    }
    origin_ = flat(before_);
  }
  Descent(const Descent&) = delete;
  Descent& operator=(const Descent&) = delete;
  ~Descent() {
    for (std::size_t i = 0; i < before_.size(); ++i) {
      variables_[i].assign(at(std::move(before_[i])));
    }
  }

  Progress run() {
    const LbfgsOptions& options = owner_.options_;
    Progress progress;
    progress.before = evaluate();
    if (!std::isfinite(progress.before)) {
      throw ValueError(fmt::format("Lbfgs: the loss is {}", progress.before));
    }
    progress.after = progress.before;
    while (progress.iterations < options.iterations && !progress.converged) {
      if (largest(gradient_) <= options.gradient_tolerance) {
        progress.converged = true;
        break;
      }
      const double change = iterate(progress.after);
      const double fall = progress.after - value_;
      progress.after = value_;
      ++progress.iterations;
      progress.converged =
          change <= options.change_tolerance || std::abs(fall) <= options.change_tolerance;
    }
    progress.evaluations = evaluations_;
    keep();
    return progress;
  }

 private:
  struct Remembered {
    Tensor change, bend;
  };

  Operand at(const Tensor& tensor) const { return {tensor, site_}; }
  Operand at(Tensor&& tensor) const { return {std::move(tensor), site_}; }
  Operand at(double number) const { return {number, site_}; }
  double product(const Tensor& a, const Tensor& b) const {
    return dot(at(a), at(b)).item<double>(site_);
  }
  double largest(const Tensor& x) const { return max(at(abs(at(x)))).item<double>(site_); }
  /// a + factor b.
  Tensor along(const Tensor& a, double factor, const Tensor& b) const {
    return add(at(mul(at(b), at(factor))), at(a));
  }

  Tensor flat(const std::vector<Tensor>& parts) const {
    std::vector<Tensor> rows;
    for (const Tensor& part : parts) {
      rows.push_back(cast(at(reshape(at(part), {-1})), owner_.dtype_));
    }
    return concat(OperandList(rows, site_), 0);
  }
  /// Gives the parameters their parts of a vector.
  void place(const Tensor& all) const {
    std::int64_t start = 0;
    for (const Variable& variable : variables_) {
      const std::int64_t n = count(variable.shape());
      Tensor part = reshape(at(slice(at(all), 0, start, start + n)), variable.shape());
      variable.assign(at(cast(at(std::move(part)), variable.dtype())));
      start += n;
    }
  }

  /// The loss where the parameters are now; its gradient is gradient_ then.
  double evaluate() {
    ++evaluations_;
    GradientTape tape;
    const Tensor loss = loss_();
    require_data(loss, "Lbfgs", site_);
    require_number(loss, "the loss", site_);
    gradient_ = flat(tape.gradient(loss, variables_, {.unconnected = Unconnected::zero}, site_));
    value_ = loss.item<double>(site_);
    return value_;
  }

  Remembered remembered(std::int64_t i) const {
    const auto slot = static_cast<std::size_t>(i) % owner_.changes_.size();
    const auto found = fresh_.find(slot);
    if (found != fresh_.end()) return found->second;
    return {owner_.changes_[slot].value(site_), owner_.bends_[slot].value(site_)};
  }

  /// The gradient, turned by the inverse of the curvature that is remembered, downwards.
  Tensor direction() const {
    const auto slots = static_cast<std::int64_t>(owner_.changes_.size());
    const std::int64_t first = std::max<std::int64_t>(pairs_ - slots, 0);
    std::vector<double> weights;
    Tensor d = neg(at(gradient_));
    for (std::int64_t i = pairs_ - 1; i >= first; --i) {
      const Remembered pair = remembered(i);
      weights.push_back(product(pair.change, d) / product(pair.change, pair.bend));
      d = along(d, -weights.back(), pair.bend);
    }
    if (pairs_ > 0) {
      const Remembered last = remembered(pairs_ - 1);
      d = mul(at(std::move(d)),
              at(product(last.change, last.bend) / product(last.bend, last.bend)));
    }
    for (std::int64_t i = first; i < pairs_; ++i) {
      const Remembered pair = remembered(i);
      const double weight = product(pair.bend, d) / product(pair.change, pair.bend);
      d = along(d, weights.back() - weight, pair.change);
      weights.pop_back();
    }
    return d;
  }

  /// One search along a line; the largest change of a parameter.
  double iterate(double value) {
    const LbfgsOptions& options = owner_.options_;
    const Tensor begin = gradient_;
    Tensor d = direction();
    double slope = product(begin, d);
    if (!(slope < 0)) {  // what is remembered is of another loss
      pairs_ = 0;
      d = neg(at(begin));
      slope = product(begin, d);
    }
    // Before anything is known of the curvature, no parameter is to go far.
    const double size = pairs_ > 0 ? 1 : std::min(1.0, 1 / sum(at(abs(at(begin)))).item<double>());
    double here = 0;
    const auto trial = [&](double step) -> LinePoint {
      place(along(origin_, step, d));
      here = step;
      const double found = evaluate();
      return {.step = step, .value = found, .slope = product(gradient_, d)};
    };
    const LinePoint best = search_line(trial, {.step = 0, .value = value, .slope = slope},
                                       options.rate * size, options.line_search);
    if (best.step != here) trial(best.step);
    Tensor change = mul(at(std::move(d)), at(best.step));
    const double moved = largest(change);
    origin_ = add(at(std::move(origin_)), at(change));
    Tensor bend = sub(at(gradient_), at(begin));
    // Only what bends upwards is a curvature that can be gone down.
    if (product(change, bend) > 1e-10 * product(bend, bend)) {
      const auto slot = static_cast<std::size_t>(pairs_) % owner_.changes_.size();
      fresh_[slot] = {std::move(change), std::move(bend)};
      ++pairs_;
    }
    return moved;
  }

  /// Makes all of it last.
  void keep() {
    Tensor pairs = full({}, pairs_, DType::int64, site_);
    owner_.pairs_.assign(at(std::move(pairs)));
    for (auto& [slot, pair] : fresh_) {
      owner_.changes_[slot].assign(at(std::move(pair.change)));
      owner_.bends_[slot].assign(at(std::move(pair.bend)));
    }
    before_.clear();
  }

  Lbfgs& owner_;
  const std::function<Tensor()>& loss_;
  Site site_;
  std::int64_t pairs_;
  std::map<std::size_t, Remembered> fresh_;  // by slot
  std::vector<Variable> variables_;
  std::vector<Tensor> before_;
  Tensor origin_;    // where the parameters are between searches
  Tensor gradient_;  // and the gradient, where they are now
  double value_ = 0;
  int evaluations_ = 0;
};

Lbfgs::Progress Lbfgs::step(const std::function<Tensor()>& loss, Site site) {
  return mem::in_call("Lbfgs", site, [&] {
    if (!loss) throw ValueError("Lbfgs: the loss is no function");
    if (ops::current_trace() != nullptr) {
      throw GraphError(
          "Lbfgs: how far a step goes depends on numbers; call it outside of functions", site);
    }
    const ops::Untaped untaped;  // no gradient goes through what a variable is assigned
    const CategoryScope category(Category::optimizer);
    const DeviceScope device(device_of(parameters_));
    return Descent(*this, loss, site).run();
  });
}

std::vector<NamedVariable> Lbfgs::state() const {
  std::vector<NamedVariable> all{{"lbfgs/pairs", pairs_}};
  for (const auto* const list : {&changes_, &bends_}) {
    for (const Variable& own : *list) all.push_back({own.name(), own});
  }
  return all;
}

std::int64_t Lbfgs::dispose(Site site) { return dispose_all(state(), site); }

}  // namespace tenure::nn
