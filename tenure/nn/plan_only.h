#pragma once

#include <memory>

namespace tenure::nn {

/// While it lives, layers that this thread makes have parameters and buffers without data, and so
/// have the optimizers and trainers of such layers: all of it can be planned and summarized,
/// however large it is, and nothing of it can run. What initializers would compute is not computed.
/// Such a variable is one of a spec(): to read it is a SymbolError. In layer.cpp.
///
///     const nn::PlanOnly planned;
///     const Net net;
///     nn::Adam adam(net.trainable());
///     std::cout << nn::Trainer(net, loss, adam).plan(spec({64, 784}), spec({64}, int64)).peak();
class PlanOnly {
 public:
  PlanOnly();
  ~PlanOnly();
  PlanOnly(const PlanOnly&) = delete;
  PlanOnly& operator=(const PlanOnly&) = delete;

 private:
  class Scope;
  std::unique_ptr<Scope> scope_;
};

}  // namespace tenure::nn
