#pragma once

#include <concepts>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "tenure/nn/layer.h"
#include "tenure/ops/core/operand.h"

namespace tenure::nn {

/// A function as a layer without parameters.
class Lambda : public Layer {
 public:
  Lambda(std::string kind, std::function<Tensor(Tensor)> function, Site site = Site::current())
      : Lambda(
            std::move(kind), [f = std::move(function)](Tensor x, Site) { return f(std::move(x)); },
            site) {}
  /// The function is told where the layer is called.
  Lambda(std::string kind, std::function<Tensor(Tensor, Site)> function,
         Site site = Site::current())
      : Layer(std::move(kind), site), function_(std::move(function)) {}

 protected:
  Tensor forward(Tensor x) const override { return function_(std::move(x), call_site()); }

 private:
  std::function<Tensor(Tensor, Site)> function_;
};

Lambda Relu(Site site = Site::current());
Lambda Tanh(Site site = Site::current());
Lambda Sigmoid(Site site = Site::current());
Lambda Gelu(Site site = Site::current());
Lambda Silu(Site site = Site::current());
Lambda Softmax(Site site = Site::current());
/// All dimensions but the first become one.
Lambda Flatten(Site site = Site::current());

/// Layers one after the other, named "0", "1", ... unless they are given names.
class Sequential : public Layer {
 public:
  Sequential() : Layer("Sequential") {}
  template <std::derived_from<Layer>... Layers>
  requires(sizeof...(Layers) > 0) explicit Sequential(Layers... layers) : Layer("Sequential") {
    (push_back(std::move(layers)), ...);
  }

  template <std::derived_from<Layer> Part>
  void push_back(Part part) {
    push_back(std::to_string(layers_.size()), std::move(part));
  }
  template <std::derived_from<Layer> Part>
  void push_back(const std::string& name, Part part) {
    layers_.push_back(std::make_shared<const Part>(std::move(part)));
    try {
      add(name, *layers_.back());
    } catch (...) {
      layers_.pop_back();
      throw;
    }
  }

  std::size_t size() const { return layers_.size(); }
  /// Throws IndexError.
  const Layer& operator[](std::size_t i) const;

 protected:
  Tensor forward(Tensor x) const override;

 private:
  std::vector<std::shared_ptr<const Layer>> layers_;
};

}  // namespace tenure::nn
