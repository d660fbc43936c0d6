#include "tenure/nn/optimizers.h"

#include <fmt/format.h>

#include <limits>
#include <utility>

namespace tenure::nn {
namespace {

/// Throws ValueError unless the option is in [0, limit).
void require_option(const char* kind, const char* option, double value,
                    double limit = std::numeric_limits<double>::infinity()) {
  if (value >= 0 && value < limit) return;
  throw ValueError(fmt::format("{}: {} is {}; it is {}", kind, option, value,
                               limit == 1 ? "at least 0 and below 1" : "finite and not negative"));
}

}  // namespace

Sgd::Sgd(std::vector<NamedVariable> parameters, double rate, const SgdOptions& options)
    : Optimizer("sgd", std::move(parameters), rate), options_(options) {
  require_option("sgd", "momentum", options.momentum);
  require_option("sgd", "weight_decay", options.weight_decay);
  if (options.momentum != 0) velocities_ = make_slots("velocity");
}

void Sgd::update(std::size_t i, Tensor gradient, const Step& step) {
  const Variable& w = parameter(i);
  if (velocities_.empty()) {
    return w.assign(sgd_update(w.value(), std::move(gradient), step.rate, options_));
  }
  auto [weight, velocity] = sgd_momentum_update(w.value(), velocities_[i].value(),
                                                std::move(gradient), step.rate, options_);
  w.assign(std::move(weight));
  velocities_[i].assign(std::move(velocity));
}

Adam::Adam(std::vector<NamedVariable> parameters, double rate, const AdamOptions& options)
    : Adam("adam", std::move(parameters), rate, options) {}

Adam::Adam(const char* kind, std::vector<NamedVariable> parameters, double rate,
           const AdamOptions& options)
    : Optimizer(kind, std::move(parameters), rate),
      options_(options),
      means_(make_slots("mean")),
      squares_(make_slots("square")) {
  require_option(kind, "beta1", options.beta1, 1);
  require_option(kind, "beta2", options.beta2, 1);
  require_option(kind, "epsilon", options.epsilon);
  require_option(kind, "weight_decay", options.weight_decay);
}

void Adam::update(std::size_t i, Tensor gradient, const Step& step) {
  const Variable& w = parameter(i);
  auto [weight, mean, square] = adam_update(w.value(), means_[i].value(), squares_[i].value(),
                                            std::move(gradient), step.rate, step.number, options_);
  w.assign(std::move(weight));
  means_[i].assign(std::move(mean));
  squares_[i].assign(std::move(square));
}

AdamW::AdamW(std::vector<NamedVariable> parameters, double rate, AdamOptions options)
    : Adam("adamw", std::move(parameters), rate, [&options] {
        options.decoupled = true;
        return options;
      }()) {}

Rmsprop::Rmsprop(std::vector<NamedVariable> parameters, double rate, const RmspropOptions& options)
    : Optimizer("rmsprop", std::move(parameters), rate),
      options_(options),
      squares_(make_slots("square")) {
  require_option("rmsprop", "alpha", options.alpha, 1);
  require_option("rmsprop", "epsilon", options.epsilon);
  require_option("rmsprop", "weight_decay", options.weight_decay);
}

void Rmsprop::update(std::size_t i, Tensor gradient, const Step& step) {
  const Variable& w = parameter(i);
  auto [weight, square] =
      rmsprop_update(w.value(), squares_[i].value(), std::move(gradient), step.rate, options_);
  w.assign(std::move(weight));
  squares_[i].assign(std::move(square));
}

Adagrad::Adagrad(std::vector<NamedVariable> parameters, double rate, const AdagradOptions& options)
    : Optimizer("adagrad", std::move(parameters), rate),
      options_(options),
      sums_(make_slots("sum")) {
  require_option("adagrad", "epsilon", options.epsilon);
  require_option("adagrad", "weight_decay", options.weight_decay);
}

void Adagrad::update(std::size_t i, Tensor gradient, const Step& step) {
  const Variable& w = parameter(i);
  auto [weight, sum] =
      adagrad_update(w.value(), sums_[i].value(), std::move(gradient), step.rate, options_);
  w.assign(std::move(weight));
  sums_[i].assign(std::move(sum));
}

Lion::Lion(std::vector<NamedVariable> parameters, double rate, const LionOptions& options)
    : Optimizer("lion", std::move(parameters), rate),
      options_(options),
      means_(make_slots("mean")) {
  require_option("lion", "beta1", options.beta1, 1);
  require_option("lion", "beta2", options.beta2, 1);
  require_option("lion", "weight_decay", options.weight_decay);
}

void Lion::update(std::size_t i, Tensor gradient, const Step& step) {
  const Variable& w = parameter(i);
  auto [weight, mean] =
      lion_update(w.value(), means_[i].value(), std::move(gradient), step.rate, options_);
  w.assign(std::move(weight));
  means_[i].assign(std::move(mean));
}

}  // namespace tenure::nn
