#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "tenure/nn/layer.h"
#include "tenure/nn/line_search.h"

namespace tenure::nn {

struct LbfgsOptions {
  double rate = 1;      ///< the first length of a step that is tried, of the one that is computed
  int iterations = 20;  ///< of one step(), at most
  int history = 10;     ///< changes that are remembered: two vectors of all parameters each
  double gradient_tolerance = 1e-7;  ///< converged when no element of the gradient is larger
  double change_tolerance = 1e-9;    ///< or when no parameter, or the loss, changes by more
  LineSearchOptions line_search{};
};

/// Limited-memory BFGS with a search for the strong Wolfe conditions (Nocedal and Wright, 7.2): for
/// losses without noise, of few enough parameters that evaluations are what takes time. It
/// evaluates the loss as often as it likes, and so is no Optimizer, which is given gradients.
class Lbfgs {
 public:
  /// What one step() did.
  struct Progress {
    double before = 0;  ///< the loss
    double after = 0;
    int iterations = 0;
    int evaluations = 0;
    bool converged = false;
  };

  /// Parameters are float32 or float64: DTypeError. Throws ValueError for none, for one that is
  /// given twice, and for options out of their domain. Its memory is made at once, in the category
  /// optimizer.
  explicit Lbfgs(std::vector<NamedVariable> parameters, const LbfgsOptions& options = {},
                 Site site = Site::current());

  /// Goes down `loss`, one number that it computes from what the parameters hold; a compiled
  /// function makes that fast. Up to options.iterations times. If something throws, `loss`
  /// included, the parameters and all that is remembered are as before. Throws ValueError if the
  /// loss is not finite where it begins, and GraphError inside a trace.
  Progress step(const std::function<Tensor()>& loss, Site site = Site::current());

  const std::vector<NamedVariable>& parameters() const { return parameters_; }
  /// What it remembers, for checkpoints: "lbfgs/pairs", "lbfgs/change/0", ...
  std::vector<NamedVariable> state() const;
  /// Frees its state; says how many bytes that were.
  std::int64_t dispose(Site site = Site::current());

 private:
  class Descent;

  std::vector<NamedVariable> parameters_;
  LbfgsOptions options_;
  DType dtype_ = DType::float32;   // of vectors of all parameters
  Variable pairs_;                 // how many were ever remembered; the last ones are there
  std::vector<Variable> changes_;  // of the parameters
  std::vector<Variable> bends_;    // of the gradient, by the same
};

}  // namespace tenure::nn
