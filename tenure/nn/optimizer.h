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

  /// The count of steps, the rate, and the state of each parameter: "adam/first/dense/kernel". What
  /// a checkpoint must hold.
  std::vector<NamedVariable> state() const;
  /// Frees its state; says how many bytes that were.
  std::int64_t dispose(Site site = Site::current());

 protected:
  /// `site` is where it was made.
  Optimizer(std::string kind, std::vector<NamedVariable> parameters, double rate,
            Site site = Site::current());

  /// Throws ValueError unless an option is in [0, limit).
  void require_option(const char* option, double value,
                      double limit = std::numeric_limits<double>::infinity()) const;

  /// One state for each parameter, of its shape, zero at first.
  std::vector<Variable> make_slots(const std::string& name);

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

  std::string kind_;
  Site site_;
  std::vector<NamedVariable> parameters_;
  std::vector<Variable> updated_;
  std::vector<NamedVariable> slots_;  // masters among them
  double given_rate_ = 0;
  Variable rate_;  // the same, rounded
  Variable steps_;
  struct Compiled;
  std::unique_ptr<Compiled> compiled_;  // steps of eager programs
};

}  // namespace tenure::nn
