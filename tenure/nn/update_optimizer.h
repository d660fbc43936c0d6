#pragma once

#include <array>
#include <cstddef>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "tenure/nn/optimizer.h"
#include "tenure/ops/core/operand.h"

namespace tenure::nn {

template <class... All>
using LastOf = std::remove_cvref_t<std::tuple_element_t<sizeof...(All) - 1, std::tuple<All...>>>;

/// What an update op (ops/optimizer_ops.h) takes and gives: a parameter and its states, the
/// gradient, the rate, the number of the step if it counts them, options; then the parameter and
/// its states, or the parameter alone.
template <class Op>
struct UpdateShape;
template <std::size_t n, class... Arguments>
struct UpdateShape<std::array<Tensor, n> (*)(Arguments...)> {
  static constexpr std::size_t states = n - 1;
  static constexpr bool counts_steps = sizeof...(Arguments) == n + 4;
  using Options = LastOf<Arguments...>;
};
template <class... Arguments>
struct UpdateShape<Tensor (*)(Arguments...)> {
  static constexpr std::size_t states = 0;
  static constexpr bool counts_steps = sizeof...(Arguments) == 5;
  using Options = LastOf<Arguments...>;
};

/// Gives a parameter, and state i of each kind, what an update op makes of them.
template <auto op, class States, class Step>
void change_by(const Variable& parameter, const States& states, std::size_t i, Tensor gradient,
               const Step& step, const typename UpdateShape<decltype(op)>::Options& options) {
  using Shape = UpdateShape<decltype(op)>;
  const Site at = step.site;
  [&]<std::size_t... s>(std::index_sequence<s...>) {
    auto results = [&] {
      if constexpr (Shape::counts_steps) {
        return op(Operand(parameter.value(at), at), Operand(states[s][i].value(at), at)...,
                  Operand(std::move(gradient), at), Operand(step.rate, at),
                  Operand(step.number, at), options);
      } else {
        return op(Operand(parameter.value(at), at), Operand(states[s][i].value(at), at)...,
                  Operand(std::move(gradient), at), Operand(step.rate, at), options);
      }
    }();
    if constexpr (Shape::states == 0) {
      parameter.assign({std::move(results), at});
    } else {
      parameter.assign({std::move(results[0]), at});
      (states[s][i].assign({std::move(results[s + 1]), at}), ...);
    }
  }
  (std::make_index_sequence<Shape::states>());
}

/// An optimizer with options, which may differ from parameter to parameter.
template <class OptionsType>
class OptionsOptimizer : public Optimizer {
 public:
  using Options = OptionsType;

  /// Trains some of its parameters otherwise: with these options, and with a rate that is
  /// `rate_factor` times learning_rate(). Throws ValueError if one is none of its parameters, for
  /// options out of their domain or that need another state than the optimizer keeps, and if a step
  /// has been compiled; then nothing has changed.
  void set_options(const std::vector<NamedVariable>& parameters, const Options& options,
                   double rate_factor = 1, Site site = Site::current()) {
    const std::vector<std::size_t> places = places_to_set(parameters, site);
    require_option("rate_factor", rate_factor);
    require_options(options);
    for (const std::size_t i : places) {
      options_[i] = options;
      set_rate_factor(i, rate_factor);
    }
  }

 protected:
  OptionsOptimizer(const char* kind, std::vector<NamedVariable> parameters, double rate,
                   const Options& options, Site site)
      : Optimizer(kind, std::move(parameters), rate, site),
        options_(this->parameters().size(), options) {}

  const Options& options(std::size_t i) const { return options_[i]; }
  /// Throws ValueError for options out of their domain.
  virtual void require_options(const Options& options) const = 0;

 private:
  std::vector<Options> options_;
};

/// An optimizer whose step is one update op: it keeps of each parameter what the op changes
/// besides. One that derives from it says what these states are called, and what its options may
/// be.
template <auto op>
class UpdateOptimizer : public OptionsOptimizer<typename UpdateShape<decltype(op)>::Options> {
 protected:
  using Base = OptionsOptimizer<typename UpdateShape<decltype(op)>::Options>;
  using Shape = UpdateShape<decltype(op)>;
  using Options = typename Shape::Options;
  using StateNames = std::array<const char*, Shape::states>;

  UpdateOptimizer(const char* kind, std::vector<NamedVariable> parameters, double rate,
                  const Options& options, const StateNames& states, Site site)
      : Base(kind, std::move(parameters), rate, options, site) {
    for (std::size_t s = 0; s < Shape::states; ++s) states_[s] = this->make_slots(states[s]);
  }

  void update(std::size_t i, Tensor gradient, const Optimizer::Step& step) override {
    change_by<op>(this->parameter(i), states_, i, std::move(gradient), step, this->options(i));
  }
  /// State s of parameter i.
  const Variable& state_of(std::size_t s, std::size_t i) const { return states_[s][i]; }

 private:
  std::array<std::vector<Variable>, Shape::states> states_;
};

}  // namespace tenure::nn
