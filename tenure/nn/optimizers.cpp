#include "tenure/nn/optimizers.h"
#include "tenure/memory/threads/call.h"

#include <fmt/format.h>

#include <limits>
#include <utility>

namespace tenure::nn {
namespace {

/// Throws ValueError unless the option is in [0, limit).
void require_option(const char* kind, Site site, const char* option, double value,
                    double limit = std::numeric_limits<double>::infinity()) {
  if (value >= 0 && value < limit) return;
  mem::in_call(kind, site, [&] {
    throw ValueError(
        fmt::format("{}: {} is {}; it is {}", kind, option, value,
                    limit == 1 ? "at least 0 and below 1" : "finite and not negative"));
  });
}

/// Gives a parameter and the one state that it has what `update(parameter, state, gradient, rate,
/// options)` makes of them.
template <class Update, class Options, class Step>
void update_both(const Update& update, const Variable& parameter, const Variable& state,
                 Tensor gradient, const Step& step, const Options& options) {
  const Site at = step.site;
  auto [new_parameter, new_state] =
      update(Operand(parameter.value(at), at), Operand(state.value(at), at),
             Operand(std::move(gradient), at), Operand(step.rate, at), options);
  parameter.assign({std::move(new_parameter), at});
  state.assign({std::move(new_state), at});
}

}  // namespace

Sgd::Sgd(std::vector<NamedVariable> parameters, double rate, const SgdOptions& options, Site site)
    : Optimizer("sgd", std::move(parameters), rate, site), options_(options) {
  require_option("sgd", site, "momentum", options.momentum);
  require_option("sgd", site, "weight_decay", options.weight_decay);
  if (options.momentum != 0) velocities_ = make_slots("velocity");
}

void Sgd::update(std::size_t i, Tensor gradient, const Step& step) {
  const Variable& w = parameter(i);
  const Site at = step.site;
  if (velocities_.empty()) {
    return w.assign({sgd_update(Operand(w.value(at), at), Operand(std::move(gradient), at),
                                Operand(step.rate, at), options_),
                     at});
  }
  update_both(sgd_momentum_update, w, velocities_[i], std::move(gradient), step, options_);
}

Adam::Adam(std::vector<NamedVariable> parameters, double rate, const AdamOptions& options,
           Site site)
    : Adam("adam", std::move(parameters), rate, options, site) {}

Adam::Adam(const char* kind, std::vector<NamedVariable> parameters, double rate,
           const AdamOptions& options, Site site)
    : Optimizer(kind, std::move(parameters), rate, site),
      options_(options),
      means_(make_slots("mean")),
      squares_(make_slots("square")) {
  require_option(kind, site, "beta1", options.beta1, 1);
  require_option(kind, site, "beta2", options.beta2, 1);
  require_option(kind, site, "epsilon", options.epsilon);
  require_option(kind, site, "weight_decay", options.weight_decay);
}

void Adam::update(std::size_t i, Tensor gradient, const Step& step) {
  const Variable& w = parameter(i);
  const Site at = step.site;
  auto [weight, mean, square] =
      adam_update(Operand(w.value(at), at), Operand(means_[i].value(at), at),
                  Operand(squares_[i].value(at), at), Operand(std::move(gradient), at),
                  Operand(step.rate, at), Operand(step.number, at), options_);
  w.assign({std::move(weight), at});
  means_[i].assign({std::move(mean), at});
  squares_[i].assign({std::move(square), at});
}

AdamW::AdamW(std::vector<NamedVariable> parameters, double rate, AdamOptions options, Site site)
    : Adam(
          "adamw", std::move(parameters), rate,
          [&options] {
            options.decoupled = true;
            return options;
          }(),
          site) {}

Rmsprop::Rmsprop(std::vector<NamedVariable> parameters, double rate, const RmspropOptions& options,
                 Site site)
    : Optimizer("rmsprop", std::move(parameters), rate, site),
      options_(options),
      squares_(make_slots("square")) {
  require_option("rmsprop", site, "alpha", options.alpha, 1);
  require_option("rmsprop", site, "epsilon", options.epsilon);
  require_option("rmsprop", site, "weight_decay", options.weight_decay);
}

void Rmsprop::update(std::size_t i, Tensor gradient, const Step& step) {
  update_both(rmsprop_update, parameter(i), squares_[i], std::move(gradient), step, options_);
}

Adagrad::Adagrad(std::vector<NamedVariable> parameters, double rate, const AdagradOptions& options,
                 Site site)
    : Optimizer("adagrad", std::move(parameters), rate, site),
      options_(options),
      sums_(make_slots("sum")) {
  require_option("adagrad", site, "epsilon", options.epsilon);
  require_option("adagrad", site, "weight_decay", options.weight_decay);
}

void Adagrad::update(std::size_t i, Tensor gradient, const Step& step) {
  update_both(adagrad_update, parameter(i), sums_[i], std::move(gradient), step, options_);
}

Lion::Lion(std::vector<NamedVariable> parameters, double rate, const LionOptions& options,
           Site site)
    : Optimizer("lion", std::move(parameters), rate, site),
      options_(options),
      means_(make_slots("mean")) {
  require_option("lion", site, "beta1", options.beta1, 1);
  require_option("lion", site, "beta2", options.beta2, 1);
  require_option("lion", site, "weight_decay", options.weight_decay);
}

void Lion::update(std::size_t i, Tensor gradient, const Step& step) {
  update_both(lion_update, parameter(i), means_[i], std::move(gradient), step, options_);
}

}  // namespace tenure::nn
