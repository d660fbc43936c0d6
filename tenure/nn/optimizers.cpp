#include "tenure/nn/optimizers.h"

#include <fmt/format.h>

#include <cmath>

#include "tenure/base/error.h"
#include "tenure/ops/elementwise.h"
#include "tenure/ops/shape_ops.h"

namespace tenure::nn {
namespace {

/// Formulas over tensors whose ops have one line, that of the step. They are compiled, so that
/// elementwise ones become few passes over memory.
struct Formulas {
  Site at;

  Tensor sum(const Tensor& a, const Operand& b) const { return add({a, at}, b); }
  Tensor difference(const Tensor& a, const Tensor& b) const { return sub({a, at}, {b, at}); }
  Tensor product(const Tensor& a, const Tensor& b) const { return mul({a, at}, {b, at}); }
  Tensor times(const Tensor& a, double b) const { return mul({a, at}, {b, at}); }
  Tensor plus(const Tensor& a, double b) const { return add({a, at}, {b, at}); }
  Tensor quotient(const Tensor& a, const Tensor& b) const { return div({a, at}, {b, at}); }
  Tensor root(const Tensor& a) const { return sqrt({a, at}); }
  /// share * average + (1 - share) * x
  Tensor averaged(double share, const Tensor& average, const Tensor& x) const {
    return sum(times(average, share), {times(x, 1 - share), at});
  }
  /// The gradient, and with it a decay of the parameter.
  Tensor decayed(double decay, const Tensor& parameter, const Tensor& gradient) const {
    return decay == 0 ? gradient : sum(times(parameter, decay), {gradient, at});
  }
  /// 1 - base^exponent
  Tensor rest_of_power(double base, const Tensor& exponent) const {
    return sub({1.0, at}, {pow({base, at}, {exponent, at}), at});
  }
  /// A number, in the type of `like`: those of a step are computed in float64.
  Tensor in_type_of(const Tensor& like, const Tensor& number) const {
    return number.dtype() == like.dtype() ? number : cast({number, at}, like.dtype());
  }
  Tensor wide(const Tensor& number) const { return cast({number, at}, DType::float64); }
};

/// Gradients are in the type of the state.
Tensor gradient_for(const Variable& state, Tensor gradient, Site at) {
  return gradient.dtype() == state.dtype() ? gradient
                                           : cast({std::move(gradient), at}, state.dtype());
}

}  // namespace

Sgd::Sgd(std::vector<NamedVariable> parameters, double rate, const SgdOptions& options, Site site)
    : OptionsOptimizer("sgd", std::move(parameters), rate, options, site),
      has_velocities_(options.momentum != 0) {
  Sgd::require_options(options);
  if (has_velocities_) velocities_[0] = make_slots("velocity");
}

void Sgd::require_options(const SgdOptions& options) const {
  require_option("momentum", options.momentum);
  require_option("dampening", options.dampening);
  require_option("weight_decay", options.weight_decay);
  require_state("momentum", options.momentum != 0, has_velocities_);
  if (options.nesterov && options.momentum == 0) refuse("nesterov is along a momentum, which is 0");
}

void Sgd::update(std::size_t i, Tensor gradient, const Step& step) {
  const SgdOptions& o = options(i);
  if (!has_velocities_) {
    return change_by<sgd_update>(parameter(i), velocities_, i, std::move(gradient), step, o);
  }
  if (o.dampening == 0) {
    return change_by<sgd_momentum_update>(parameter(i), velocities_, i, std::move(gradient), step,
                                          o);
  }
  const Formulas f{step.site};
  const Variable& velocity = velocities_[0][i];
  const Tensor w = parameter(i).value(f.at);
  const Tensor g = f.decayed(o.weight_decay, w, gradient_for(velocity, std::move(gradient), f.at));
  // The first gradient is the velocity, and is not dampened.
  const Tensor is_later = f.wide(greater({step.number, f.at}, {1, f.at}));
  const Tensor share = f.plus(f.times(is_later, -o.dampening), 1);
  const Tensor v = f.sum(f.times(velocity.value(f.at), o.momentum),
                         {f.product(g, f.in_type_of(g, share)), f.at});
  const Tensor by = o.nesterov ? f.sum(g, {f.times(v, o.momentum), f.at}) : v;
  parameter(i).assign({f.difference(w, f.product(by, f.in_type_of(w, step.rate))), f.at});
  velocity.assign({v, f.at});
}

Adam::Adam(const char* kind, std::vector<NamedVariable> parameters, double rate,
           const AdamOptions& options, Site site)
    : UpdateOptimizer(kind, std::move(parameters), rate, options, {"mean", "square"}, site),
      has_largest_(options.amsgrad) {
  Adam::require_options(options);
  if (has_largest_) largest_ = make_slots("largest_square");
}

void Adam::require_options(const AdamOptions& options) const {
  require_option("beta1", options.beta1, 1);
  require_option("beta2", options.beta2, 1);
  require_option("epsilon", options.epsilon);
  require_option("weight_decay", options.weight_decay);
  require_state("amsgrad", options.amsgrad, has_largest_);
}

void Adam::update(std::size_t i, Tensor gradient, const Step& step) {
  if (!has_largest_) return UpdateOptimizer::update(i, std::move(gradient), step);
  const Formulas f{step.site};
  const AdamOptions& o = options(i);
  Tensor w = parameter(i).value(f.at);
  Tensor g = gradient_for(largest_[i], std::move(gradient), f.at);
  if (o.decoupled) {
    w = f.difference(w, f.product(w, f.in_type_of(w, f.times(step.rate, o.weight_decay))));
  } else {
    g = f.decayed(o.weight_decay, w, g);
  }
  const Tensor mean = f.averaged(o.beta1, state_of(0, i).value(f.at), g);
  const Tensor square = f.averaged(o.beta2, state_of(1, i).value(f.at), f.product(g, g));
  const Tensor largest = maximum({largest_[i].value(f.at), f.at}, {square, f.at});
  const Tensor count = f.wide(step.number);
  const Tensor rate = f.quotient(f.wide(step.rate), f.rest_of_power(o.beta1, count));
  const Tensor unbiased = f.root(f.rest_of_power(o.beta2, count));
  const Tensor root = f.plus(f.quotient(f.root(largest), f.in_type_of(w, unbiased)), o.epsilon);
  const Tensor by = f.product(f.quotient(mean, root), f.in_type_of(w, rate));
  parameter(i).assign({f.difference(w, by), f.at});
  state_of(0, i).assign({mean, f.at});
  state_of(1, i).assign({square, f.at});
  largest_[i].assign({largest, f.at});
}

Adamax::Adamax(std::vector<NamedVariable> parameters, double rate, const AdamaxOptions& options,
               Site site)
    : OptionsOptimizer("adamax", std::move(parameters), rate, options, site),
      means_(make_slots("mean")),
      largest_(make_slots("largest")) {
  Adamax::require_options(options);
}

void Adamax::require_options(const AdamaxOptions& options) const {
  require_option("beta1", options.beta1, 1);
  require_option("beta2", options.beta2, 1);
  require_option("epsilon", options.epsilon);
  require_option("weight_decay", options.weight_decay);
}

void Adamax::update(std::size_t i, Tensor gradient, const Step& step) {
  const Formulas f{step.site};
  const AdamaxOptions& o = options(i);
  const Tensor w = parameter(i).value(f.at);
  const Tensor g = f.decayed(o.weight_decay, w, gradient_for(means_[i], std::move(gradient), f.at));
  const Tensor mean = f.averaged(o.beta1, means_[i].value(f.at), g);
  const Tensor size = f.plus(abs({g, f.at}), o.epsilon);
  const Tensor before = f.times(largest_[i].value(f.at), o.beta2);
  const Tensor largest = maximum({before, f.at}, {size, f.at});
  const Tensor rate = f.quotient(f.wide(step.rate), f.rest_of_power(o.beta1, f.wide(step.number)));
  const Tensor by = f.product(f.quotient(mean, largest), f.in_type_of(w, rate));
  parameter(i).assign({f.difference(w, by), f.at});
  means_[i].assign({mean, f.at});
  largest_[i].assign({largest, f.at});
}

Nadam::Nadam(std::vector<NamedVariable> parameters, double rate, const NadamOptions& options,
             Site site)
    : OptionsOptimizer("nadam", std::move(parameters), rate, options, site),
      means_(make_slots("mean")),
      squares_(make_slots("square")),
      products_(make_numbers("momentum_product", 1)) {
  Nadam::require_options(options);
}

void Nadam::require_options(const NadamOptions& options) const {
  require_option("beta1", options.beta1, 1);
  require_option("beta2", options.beta2, 1);
  require_option("epsilon", options.epsilon);
  require_option("weight_decay", options.weight_decay);
  require_option("momentum_decay", options.momentum_decay);
}

void Nadam::update(std::size_t i, Tensor gradient, const Step& step) {
  const Formulas f{step.site};
  const NadamOptions& o = options(i);
  const Tensor w = parameter(i).value(f.at);
  const Tensor g = f.decayed(o.weight_decay, w, gradient_for(means_[i], std::move(gradient), f.at));
  const Tensor mean = f.averaged(o.beta1, means_[i].value(f.at), g);
  const Tensor square = f.averaged(o.beta2, squares_[i].value(f.at), f.product(g, g));
  const Tensor count = f.wide(step.number);
  // beta1 (1 - 0.96^(count momentum_decay) / 2)
  const auto momentum_at = [&](const Tensor& number) {
    const Tensor power = pow({0.96, f.at}, {f.times(number, o.momentum_decay), f.at});
    return f.times(f.plus(f.times(power, -0.5), 1), o.beta1);
  };
  const Tensor momentum = momentum_at(count);
  const Tensor next = momentum_at(f.plus(count, 1));
  const Tensor product = f.product(products_[i].value(f.at), momentum);
  const auto rest = [&](const Tensor& x) { return f.plus(f.times(x, -1), 1); };
  const Tensor rate = f.wide(step.rate);
  const Tensor of_gradient = f.quotient(f.product(rate, rest(momentum)), rest(product));
  const Tensor of_mean = f.quotient(f.product(rate, next), rest(f.product(product, next)));
  const Tensor unbiased = f.root(f.rest_of_power(o.beta2, count));
  const Tensor root = f.plus(f.quotient(f.root(square), f.in_type_of(w, unbiased)), o.epsilon);
  Tensor by = f.sum(f.product(g, f.in_type_of(w, of_gradient)),
                    {f.product(mean, f.in_type_of(w, of_mean)), f.at});
  by = f.quotient(by, root);
  parameter(i).assign({f.difference(w, by), f.at});
  means_[i].assign({mean, f.at});
  squares_[i].assign({square, f.at});
  products_[i].assign({product, f.at});
}

Radam::Radam(std::vector<NamedVariable> parameters, double rate, const RadamOptions& options,
             Site site)
    : OptionsOptimizer("radam", std::move(parameters), rate, options, site),
      means_(make_slots("mean")),
      squares_(make_slots("square")) {
  Radam::require_options(options);
}

void Radam::require_options(const RadamOptions& options) const {
  require_option("beta1", options.beta1, 1);
  require_option("beta2", options.beta2, 1);
  require_option("epsilon", options.epsilon);
  require_option("weight_decay", options.weight_decay);
}

void Radam::update(std::size_t i, Tensor gradient, const Step& step) {
  const Formulas f{step.site};
  const RadamOptions& o = options(i);
  const Tensor w = parameter(i).value(f.at);
  const Tensor g = f.decayed(o.weight_decay, w, gradient_for(means_[i], std::move(gradient), f.at));
  const Tensor mean = f.averaged(o.beta1, means_[i].value(f.at), g);
  const Tensor square = f.averaged(o.beta2, squares_[i].value(f.at), f.product(g, g));
  const Tensor count = f.wide(step.number);
  const Tensor rest = f.rest_of_power(o.beta2, count);
  // How many terms the average of squares has, and at most. From more than five on its variance
  // is finite.
  const double most = 2 / (1 - o.beta2) - 1;
  const Tensor power = f.plus(f.times(rest, -1), 1);
  const Tensor terms = f.plus(f.times(f.quotient(f.product(count, power), rest), -2), most);
  const Tensor known = greater({terms, f.at}, {5.0, f.at});
  const Tensor enough = where({known, f.at}, {terms, f.at}, {6.0, f.at});
  const Tensor above = f.product(f.plus(enough, -4), f.plus(enough, -2));
  const Tensor ratio = f.times(f.quotient(above, enough), most / ((most - 4) * (most - 2)));
  const Tensor factor = f.product(f.root(ratio), f.root(rest));
  const Tensor adapted = f.quotient(f.in_type_of(w, factor), f.plus(f.root(square), o.epsilon));
  const Tensor by = where({known, f.at}, {adapted, f.at}, {1.0, f.at});
  const Tensor rate = f.quotient(f.wide(step.rate), f.rest_of_power(o.beta1, count));
  const Tensor change = f.product(f.product(mean, by), f.in_type_of(w, rate));
  parameter(i).assign({f.difference(w, change), f.at});
  means_[i].assign({mean, f.at});
  squares_[i].assign({square, f.at});
}

Rmsprop::Rmsprop(std::vector<NamedVariable> parameters, double rate, const RmspropOptions& options,
                 Site site)
    : UpdateOptimizer("rmsprop", std::move(parameters), rate, options, {"square"}, site),
      has_velocities_(options.momentum != 0),
      has_means_(options.centered) {
  Rmsprop::require_options(options);
  if (has_velocities_) velocities_ = make_slots("velocity");
  if (has_means_) means_ = make_slots("mean");
}

void Rmsprop::require_options(const RmspropOptions& options) const {
  require_option("alpha", options.alpha, 1);
  require_option("epsilon", options.epsilon);
  require_option("weight_decay", options.weight_decay);
  require_option("momentum", options.momentum);
  require_state("momentum", options.momentum != 0, has_velocities_);
  require_state("centered", options.centered, has_means_);
}

void Rmsprop::update(std::size_t i, Tensor gradient, const Step& step) {
  if (!has_velocities_ && !has_means_) {
    return UpdateOptimizer::update(i, std::move(gradient), step);
  }
  const Formulas f{step.site};
  const RmspropOptions& o = options(i);
  const Tensor w = parameter(i).value(f.at);
  const Tensor g =
      f.decayed(o.weight_decay, w, gradient_for(state_of(0, i), std::move(gradient), f.at));
  const Tensor square = f.averaged(o.alpha, state_of(0, i).value(f.at), f.product(g, g));
  Tensor variance = square;
  if (has_means_) {
    const Tensor mean = f.averaged(o.alpha, means_[i].value(f.at), g);
    // Rounding may take it below zero.
    variance = relu({f.difference(square, f.product(mean, mean)), f.at});
    means_[i].assign({mean, f.at});
  }
  Tensor by = f.quotient(g, f.plus(f.root(variance), o.epsilon));
  if (has_velocities_) {
    by = f.sum(f.times(velocities_[i].value(f.at), o.momentum), {by, f.at});
    velocities_[i].assign({by, f.at});
  }
  parameter(i).assign({f.difference(w, f.product(by, f.in_type_of(w, step.rate))), f.at});
  state_of(0, i).assign({square, f.at});
}

Adagrad::Adagrad(std::vector<NamedVariable> parameters, double rate, const AdagradOptions& options,
                 Site site)
    : UpdateOptimizer("adagrad", std::move(parameters), rate, options, {"sum"}, site) {
  Adagrad::require_options(options);
}

void Adagrad::require_options(const AdagradOptions& options) const {
  require_option("epsilon", options.epsilon);
  require_option("weight_decay", options.weight_decay);
}

Lion::Lion(std::vector<NamedVariable> parameters, double rate, const LionOptions& options,
           Site site)
    : UpdateOptimizer("lion", std::move(parameters), rate, options, {"mean"}, site) {
  Lion::require_options(options);
}

void Lion::require_options(const LionOptions& options) const {
  require_option("beta1", options.beta1, 1);
  require_option("beta2", options.beta2, 1);
  require_option("weight_decay", options.weight_decay);
}

}  // namespace tenure::nn
