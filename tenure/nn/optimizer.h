#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "tenure/nn/layer.h"

namespace tenure::nn {

/// Changes parameters by their gradients. Of 16-bit parameters it keeps float32 masters: small
/// steps add up in those.
///
/// It has a state for each parameter, made at the beginning
/// in the category optimizer, and changes both in place, one pass over memory for each parameter.
/// A step is a run of a traced function, in eager programs too, or part of the one that is being
/// traced: the rate and the count of steps are variables, so that one trace serves all steps.
class Optimizer {
 public:
  virtual ~Optimizer();
  Optimizer(const Optimizer&) = delete;
  Optimizer& operator=(const Optimizer&) = delete;

  /// One step, as a whole or not at all. The gradients are those of parameters(), in that order;
  /// they are used up. Where one is an empty handle, the parameter and its state stay as they are.
  /// Throws ValueError if there are more or fewer, ShapeError, DTypeError, DisposedError or
  /// SymbolError if one is no gradient of its parameter, DisposedError if a parameter or its state
  /// was disposed, and OutOfMemory; then nothing has changed. What it computes has the line of
  /// the call.
  void apply(std::vector<Tensor> gradients, Site site = Site::current());

  const std::vector<NamedVariable>& parameters() const { return parameters_; }
  /// parameters(), as GradientTape::gradient() takes them.
  std::vector<Variable> variables() const;

  /// As it was set; once something else has changed the variable in state(), what that holds.
  double learning_rate() const;
  void set_learning_rate(double rate, Site site = Site::current());
  /// Steps that were applied.
  std::int64_t steps() const;

  /// Keeps a moving average of each parameter from now on: after each step it is decay times
  /// itself plus (1 - decay) times the parameter. It is part of state(), so that checkpoints hold
  /// it. Throws ValueError unless decay is in [0, 1), if there are averages already, and if a step
  /// has been compiled, which would go on without them.
  void keep_averages(double decay, Site site = Site::current());
  /// Gives each parameter its average, and the average the parameter: call it before an evaluation,
  /// and again before training goes on. As a whole or not at all. Throws ValueError if there are no
  /// averages.
  void swap_averages(Site site = Site::current());

  /// The count of steps, the rate, and the state of each parameter: "adam/first/dense/kernel". What
  /// a checkpoint must hold.
  std::vector<NamedVariable> state() const;
  /// Moves its state to a device, where its parameters are by then: model.to(device);
  /// optimizer.to(device). All or, if it throws, nothing.
  void to(Device device, Site site = Site::current());
  /// Frees its state; says how many bytes that were.
  std::int64_t dispose(Site site = Site::current());

 protected:
  /// `site` is where it was made.
  Optimizer(std::string kind, std::vector<NamedVariable> parameters, double rate,
            Site site = Site::current());

  /// Throws ValueError in its name, with the line where it was made.
  [[noreturn]] void refuse(const std::string& problem) const;
  /// Throws ValueError unless an option is in [0, limit).
  void require_option(const char* option, double value,
                      double limit = std::numeric_limits<double>::infinity()) const;

  /// Throws ValueError if an option needs a state that there is not, or the other way round.
  void require_state(const char* option, bool wants, bool has) const;

  /// One state for each parameter, of its shape, zero at first.
  std::vector<Variable> make_slots(const std::string& name);
  /// One number for each parameter, float64.
  std::vector<Variable> make_numbers(const std::string& name, double initial);

  /// The place of each of these in parameters(). Throws ValueError if one is not there, or if a
  /// step has been compiled, which has the options of before.
  std::vector<std::size_t> places_to_set(const std::vector<NamedVariable>& parameters,
                                         Site site) const;
  /// The rate of parameter i is this times learning_rate().
  void set_rate_factor(std::size_t i, double factor) { rate_factors_[i] = factor; }

  /// What all parameters see in one step.
  struct Step {
    Tensor rate;    ///< float32, one number
    Tensor number;  ///< int64: 1 in the first step
    Site site;      ///< of the call
  };
  /// Changes parameter i and its slots. It is traced: called once for many steps, on symbols.
  virtual void update(std::size_t i, Tensor gradient, const Step& step) = 0;
  /// What update() changes: the parameter, or its master.
  const Variable& parameter(std::size_t i) const { return updated_[i]; }

 private:
  void require_parameters() const;
  void require_gradients(const std::vector<Tensor>& gradients, Site site) const;
  void update_all(std::vector<Tensor> gradients, Site site);
  void update_averages(Site site) const;
  void require_no_steps(const char* what) const;
  void add_slot(const std::string& path, std::vector<Variable>& made, Tensor value);

  std::string kind_;
  Site site_;
  std::vector<NamedVariable> parameters_;
  std::vector<Variable> updated_;
  std::vector<NamedVariable> slots_;  // masters among them
  std::vector<double> rate_factors_;
  std::vector<Variable> averages_;  // none, or one of each parameter
  double average_decay_ = 0;
  bool has_steps_ = false;  // compiled
  double given_rate_ = 0;
  Variable rate_;  // the same, rounded
  Variable steps_;
  struct Compiled;
  std::unique_ptr<Compiled> compiled_;  // steps of eager programs
};

}  // namespace tenure::nn
