#pragma once

#include <concepts>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "tenure/nn/layer.h"
#include "tenure/ops/operand.h"

namespace tenure::nn {

/// A function as a layer without parameters.
class Lambda : public Layer {
 public:
  Lambda(std::string kind, std::function<Tensor(Tensor)> function)
      : Layer(std::move(kind)), function_(std::move(function)) {}

 protected:
  Tensor forward(Tensor x) const override { return function_(std::move(x)); }

 private:
  std::function<Tensor(Tensor)> function_;
};

Lambda Relu();
Lambda Tanh();
Lambda Sigmoid();
Lambda Gelu();
Lambda Silu();
Lambda Softmax();
/// All dimensions but the first become one.
Lambda Flatten();

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
    add(name, part);
    layers_.push_back(std::make_shared<const Part>(std::move(part)));
  }

  std::size_t size() const { return layers_.size(); }
  const Layer& operator[](std::size_t i) const { return *layers_[i]; }

 protected:
  Tensor forward(Tensor x) const override;

 private:
  std::vector<std::shared_ptr<const Layer>> layers_;
};

}  // namespace tenure::nn
