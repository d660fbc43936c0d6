#include "tenure/nn/optimizer.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>
#include <functional>
#include <map>
#include <unordered_set>

#include "tenure/base/object_mutex.h"
#include "tenure/graph/function.h"
#include "tenure/memory/default_device.h"
#include "tenure/memory/scope.h"
#include "tenure/memory/threads/call.h"
#include "tenure/nn/dispose.h"
#include "tenure/nn/layer_state.h"
#include "tenure/ops/core/recorder.h"
#include "tenure/ops/core/tape.h"
#include "tenure/ops/creation.h"
#include "tenure/ops/elementwise.h"
#include "tenure/ops/shape_ops.h"

namespace tenure::nn {
namespace {

/// On the device of the parameters, where the steps are computed.
Variable scalar_variable(const std::vector<NamedVariable>& parameters, const char* name,
                         const Scalar& value, DType dtype, Site site) {
  const CategoryScope category(Category::optimizer);
  const DeviceScope device(parameters.empty() ? default_device()
                                              : parameters.front().variable.device());
  return Variable({full({}, value, dtype, site), site}, name, false);
}

/// The number with the fewest digits that rounds to `value`: 0.1, not 0.10000000149.
double shortest_double(float value) {
  std::array<char, 32> digits;
  const auto written = std::to_chars(digits.data(), digits.data() + digits.size(), value);
  double number = 0;
  std::from_chars(digits.data(), written.ptr, number);
  return number;
}

}  // namespace

/// Steps as runs of functions, which assign all or nothing.
struct Optimizer::Compiled {
  /// Takes the gradients that there are; of each parameter, the text says whether it has one.
  using Callable =
      std::function<std::vector<Tensor>(const std::vector<Tensor>&, const std::string& present)>;

  ObjectMutex mutex;
  std::map<std::pair<std::string, std::uint_least32_t>, Function<Callable>>
      by_line{};  // of the call
};

Optimizer::~Optimizer() = default;

Optimizer::Optimizer(std::string kind, std::vector<NamedVariable> parameters, double rate,
                     Site site) try
    : kind_(std::move(kind)),
      site_(site),
      parameters_(std::move(parameters)),
      rate_(scalar_variable(parameters_, "learning_rate", rate, DType::float32, site)),
      steps_(scalar_variable(parameters_, "steps", 0, DType::int64, site)),
      compiled_(std::make_unique<Compiled>()) {
  rate_factors_.assign(parameters_.size(), 1);
  mem::in_call(kind_, site, [&] { require_parameters(); });
  const CategoryScope category(Category::optimizer);
  for (const NamedVariable& parameter : parameters_) {
    updated_.push_back(parameter.variable);
    if (size_of(parameter.variable.dtype()) != 2) continue;
    const std::string path = fmt::format("{}/master/{}", kind_, parameter.name);
    Tensor master = parameter.variable.has_data()
                        ? cast({parameter.variable.value(site), site}, DType::float32)
                        : zeros_for(parameter.variable, DType::float32, site);
    updated_.back() = Variable({std::move(master), site}, path, false);
    slots_.push_back({path, updated_.back()});
  }
  set_learning_rate(rate, site);
} catch (EmptyHandleError& error) {
  mem::name_call(error, "an optimizer", site);
  throw;
}

void Optimizer::require_parameters() const {
  if (parameters_.empty()) {
    throw ValueError(
        fmt::format("{}: there is no parameter to change; are all layers frozen?", kind_));
  }
  std::unordered_set<const graph::VariableState*> seen;
  for (const NamedVariable& parameter : parameters_) {
    if (!is_floating(parameter.variable.dtype())) {
      throw DTypeError(kind_, fmt::format("parameter {} is {}; gradients change floats alone",
                                          parameter.name, name_of(parameter.variable.dtype())));
    }
    if (!seen.insert(parameter.variable.state().get()).second) {
      throw ValueError(fmt::format("{}: parameter {} is given twice", kind_, parameter.name));
    }
  }
}

void Optimizer::require_gradients(const std::vector<Tensor>& gradients, Site site) const {
  if (gradients.size() != parameters_.size()) {
    throw ValueError(fmt::format("{}: {} gradients for {} parameters", kind_, gradients.size(),
                                 parameters_.size()));
  }
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    if (!gradients[i].defined()) continue;
    const TensorBody& body = gradients[i].body("apply", site);
    if (body.symbol() != nullptr ? ops::current_trace() == nullptr : body.is_disposed()) {
      throw_disposed(body, "apply", site);
    }
    if (!is_floating(gradients[i].dtype())) {
      throw DTypeError(kind_, fmt::format("the gradient of parameter {} is {}, not floating",
                                          parameters_[i].name, name_of(gradients[i].dtype())));
    }
    if (!(gradients[i].shape() == parameter(i).shape())) {
      throw ShapeError(
          kind_,
          fmt::format("the gradient of parameter {} has shape {}, not {}", parameters_[i].name,
                      to_string(gradients[i].shape()), to_string(parameter(i).shape())),
          {gradients[i].shape().to_vector(), parameter(i).shape().to_vector()});
    }
  }
}

void Optimizer::apply(std::vector<Tensor> gradients, Site site) {
  mem::in_call(kind_, site, [&] { require_gradients(gradients, site); });
  if (ops::current_trace() != nullptr) return update_all(std::move(gradients), site);
  std::vector<Tensor> given;
  std::string present;
  for (Tensor& gradient : gradients) {
    present += gradient.defined() ? '+' : '-';
    if (gradient.defined()) given.push_back(std::move(gradient));
  }
  const auto update = [this, site](const std::vector<Tensor>& symbols, const std::string& which) {
    std::vector<Tensor> all(which.size());
    std::size_t next = 0;
    for (std::size_t i = 0; i < which.size(); ++i) {
      if (which[i] == '+') all[i] = symbols[next++];
    }
    update_all(std::move(all), site);
    return std::vector<Tensor>();
  };
  const auto step = [&] {
    const std::lock_guard lock(compiled_->mutex);
    return compiled_->by_line
        .try_emplace({site.file_name(), site.line()}, Compiled::Callable(update),
                     FunctionOptions{.name = kind_, .warn_after = 0}, site)
        .first->second;
  }();
  const ops::Untaped untaped;  // no gradient goes through what a variable is assigned
  step(std::move(given), present);
}

void Optimizer::update_all(std::vector<Tensor> gradients, Site site) {
  const CategoryScope category(Category::optimizer);
  has_steps_ = true;
  const Step step{.rate = rate_.value(site),
                  .number = add({steps_.value(site), site}, {1, site}),
                  .site = site};
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    if (!gradients[i].defined()) continue;
    const NameScope name(parameters_[i].name);
    Step own_step = step;
    if (rate_factors_[i] != 1) own_step.rate = mul({step.rate, site}, {rate_factors_[i], site});
    update(i, std::move(gradients[i]), own_step);
    const Variable& own = parameters_[i].variable;
    if (updated_[i].state() == own.state()) continue;
    own.assign({cast({updated_[i].value(site), site}, own.dtype()), site});
  }
  update_averages(site);
  steps_.assign({step.number, site});
}

void Optimizer::update_averages(Site site) const {
  for (std::size_t i = 0; i < averages_.size(); ++i) {
    const NameScope name(parameters_[i].name);
    Tensor kept = mul({averages_[i].value(site), site}, {average_decay_, site});
    Tensor added = mul({updated_[i].value(site), site}, {1 - average_decay_, site});
    averages_[i].assign({add({std::move(kept), site}, {std::move(added), site}), site});
  }
}

void Optimizer::require_no_steps(const char* what) const {
  if (!has_steps_) return;
  throw ValueError(
      fmt::format("{}: {} come before the first step, which is compiled with them", kind_, what));
}

void Optimizer::keep_averages(double decay, Site site) {
  mem::in_call(kind_, site, [&] {
    require_option("the decay of averages", decay, 1);
    if (!averages_.empty()) throw ValueError(fmt::format("{}: it has averages already", kind_));
    require_no_steps("averages");
  });
  const CategoryScope category(Category::optimizer);
  const auto slots = static_cast<std::ptrdiff_t>(slots_.size());
  std::vector<Variable> made;
  try {
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
      add_slot(fmt::format("{}/average/{}", kind_, parameters_[i].name), made,
               updated_[i].has_data() ? clone({updated_[i].value(site), site})
                                      : zeros_for(updated_[i], updated_[i].dtype(), site));
    }
  } catch (...) {
    slots_.erase(slots_.begin() + slots, slots_.end());
    throw;
  }
  averages_ = std::move(made);
  average_decay_ = decay;
}

void Optimizer::swap_averages(Site site) {
  mem::in_call(kind_, site, [&] {
    if (averages_.empty()) {
      throw ValueError(fmt::format("{}: there are no averages; see keep_averages()", kind_));
    }
  });
  const auto swap = [&](const std::vector<Tensor>&) {
    for (std::size_t i = 0; i < averages_.size(); ++i) {
      const Tensor average = averages_[i].value(site);
      averages_[i].assign({updated_[i].value(site), site});
      updated_[i].assign({average, site});
      const Variable& own = parameters_[i].variable;
      if (updated_[i].state() != own.state()) {
        own.assign({cast({average, site}, own.dtype()), site});
      }
    }
    return std::vector<Tensor>();
  };
  const ops::Untaped untaped;
  const Function<std::function<std::vector<Tensor>(const std::vector<Tensor>&)>> run(
      swap, FunctionOptions{.name = kind_, .warn_after = 0}, site);
  run(std::vector<Tensor>());
}

std::vector<Variable> Optimizer::variables() const {
  std::vector<Variable> variables;
  for (const NamedVariable& parameter : parameters_) variables.push_back(parameter.variable);
  return variables;
}

double Optimizer::learning_rate() const {
  const auto rounded = rate_.value(site_).item<float>(site_);
  return static_cast<float>(given_rate_) == rounded ? given_rate_ : shortest_double(rounded);
}

void Optimizer::set_learning_rate(double rate, Site site) {
  mem::in_call(kind_, site, [&] {
    if (rate >= 0 && std::isfinite(static_cast<float>(rate))) return;
    throw ValueError(
        fmt::format("{}: a learning rate of {}; it is not negative, and a float32", kind_, rate));
  });
  rate_.assign({full({}, rate, DType::float32, site), site});
  given_rate_ = rate;
}

std::int64_t Optimizer::steps() const { return steps_.value(site_).item<std::int64_t>(site_); }

std::vector<NamedVariable> Optimizer::state() const {
  std::vector<NamedVariable> all{{kind_ + "/steps", steps_}, {kind_ + "/learning_rate", rate_}};
  all.insert(all.end(), slots_.begin(), slots_.end());
  return all;
}

void Optimizer::to(Device device, Site site) { move_to(state(), device, site); }

std::int64_t Optimizer::dispose(Site site) { return dispose_all(state(), site); }

void Optimizer::refuse(const std::string& problem) const {
  ValueError error(fmt::format("{}: {}", kind_, problem));
  mem::name_call(error, kind_, site_);
  throw ValueError(error);
}

void Optimizer::require_option(const char* option, double value, double limit) const {
  if (value >= 0 && value < limit) return;
  refuse(fmt::format("{} is {}; it is {}", option, value,
                     limit == 1 ? "at least 0 and below 1" : "finite and not negative"));
}

void Optimizer::require_state(const char* option, bool wants, bool has) const {
  if (wants == has) return;
  refuse(
      fmt::format("{} decides what is kept of all parameters; set it when the optimizer is made, "
                  "for all or for none",
                  option));
}

void Optimizer::add_slot(const std::string& path, std::vector<Variable>& made, Tensor value) {
  const CategoryScope category(Category::optimizer);
  made.push_back(Variable({std::move(value), site_}, path, false));
  slots_.push_back({path, made.back()});
}

std::vector<Variable> Optimizer::make_slots(const std::string& name) {
  const CategoryScope category(Category::optimizer);
  std::vector<Variable> made;
  for (const NamedVariable& parameter : parameters_) {
    const bool is_double = parameter.variable.dtype() == DType::float64;
    const DType dtype = is_double ? DType::float64 : DType::float32;
    add_slot(fmt::format("{}/{}/{}", kind_, name, parameter.name), made,
             zeros_for(parameter.variable, dtype, site_));
  }
  return made;
}

std::vector<Variable> Optimizer::make_numbers(const std::string& name, double initial) {
  const CategoryScope category(Category::optimizer);
  std::vector<Variable> made;
  for (const NamedVariable& parameter : parameters_) {
    const DeviceScope device(parameter.variable.device());
    add_slot(fmt::format("{}/{}/{}", kind_, name, parameter.name), made,
             full({}, initial, DType::float64, site_));
  }
  return made;
}

std::vector<std::size_t> Optimizer::places_to_set(const std::vector<NamedVariable>& parameters,
                                                  Site site) const {
  return mem::in_call(kind_, site, [&] {
    require_no_steps("options of some parameters");
    std::vector<std::size_t> places;
    for (const NamedVariable& wanted : parameters) {
      std::size_t i = 0;
      while (i < parameters_.size() && parameters_[i].variable.state() != wanted.variable.state()) {
        ++i;
      }
      if (i == parameters_.size()) {
        throw ValueError(fmt::format("{}: {} is not one of its parameters", kind_, wanted.name));
      }
      places.push_back(i);
    }
    return places;
  });
}

}  // namespace tenure::nn
