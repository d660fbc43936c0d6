#pragma once

#include <functional>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include "tenure/ops/core/attributes.h"
#include "tenure/tensor/tensor.h"

namespace tenure {

/// What the forward part of a custom gradient keeps for the way back: a tape holds it and lists it.
class Saves {
 public:
  void operator()(const Tensor& tensor) { tensors_.push_back(tensor); }
  const std::vector<Tensor>& tensors() const { return tensors_; }

 private:
  std::vector<Tensor> tensors_;
};

namespace autograd {

using CustomForward = std::function<Tensor(Saves&)>;
/// From what was saved and the gradient of the result, one gradient for each input.
using CustomBackward =
    std::function<std::vector<Tensor>(const std::vector<Tensor>& saved, const Tensor& gradient)>;

/// Which custom gradient a symbol is of: a graph has equal calls once, and their gradients differ.
using CustomIdentity = std::shared_ptr<const ops::Opaque>;

/// Runs `forward` unseen by tapes, which note the call as one with `backward` as its way back.
Tensor call_custom(const CustomIdentity& identity, const std::vector<Tensor>& inputs,
                   const CustomForward& forward, CustomBackward backward, Site site);

}  // namespace autograd

/// A function of tensors with a gradient of its own, made by custom_gradient().
template <class Forward, class Backward>
class CustomGradient {
 public:
  CustomGradient(Forward forward, Backward backward, Site site)
      : forward_(std::move(forward)), backward_(std::move(backward)), site_(site) {}

  template <class... Tensors>
  Tensor operator()(const Tensors&... inputs) const {
    return autograd::call_custom(
        identity_, {inputs...}, [&](Saves& saves) { return forward_(saves, inputs...); },
        [backward = backward_](const std::vector<Tensor>& saved, const Tensor& gradient) {
          if constexpr (sizeof...(Tensors) == 1) {
            return std::vector<Tensor>{backward(saved, gradient)};
          } else {
            return backward(saved, gradient);
          }
        },
        site_);
  }

 private:
  Forward forward_;
  Backward backward_;
  Site site_;
  autograd::CustomIdentity identity_ = std::make_shared<const ops::Opaque>();
};

/// A function whose gradient is not that of the ops it is made of. `forward(saves, x...)` gives one
/// tensor; `backward(saved, gradient)` gives the gradient of its input, or a vector of one for each
/// of several inputs; an empty tensor there is a zero. Both are made of public ops, so that the
/// gradient can itself be differentiated, and works in graphs and traces.
///
///     auto steep = custom_gradient(
///         [](Saves& saves, const Tensor& x) { saves(x); return sign(x); },
///         [](const std::vector<Tensor>& saved, const Tensor& g) {
///           return where(abs(saved[0]) < 1, g, 0.0);
///         });
template <class Forward, class Backward>
CustomGradient<Forward, Backward> custom_gradient(Forward forward, Backward backward,
                                                  Site site = Site::current()) {
  return {std::move(forward), std::move(backward), site};
}

}  // namespace tenure
