#pragma once

#include <concepts>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "tenure/base/asked.h"
#include "tenure/nn/layer.h"
#include "tenure/ops/core/operand.h"

namespace tenure::nn {

/// A function as a layer without parameters.
class Lambda : public Layer {
 public:
  /// Throws ValueError for an empty function.
  Lambda(std::string kind, std::function<Tensor(Tensor)> function, Site site = Site::current());
  /// The function is told where the layer is called.
  Lambda(std::string kind, std::function<Tensor(Tensor, Site)> function,
         Site site = Site::current());

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
  explicit Sequential(Site site = Site::current()) : Layer("Sequential", site) {}
  /// Its line is that of the first layer: a list of any length leaves no room for one.
  template <std::derived_from<Layer> First, std::derived_from<Layer>... Rest>
  explicit Sequential(First first, Rest... rest) : Layer("Sequential", first.created()) {
    push_back(std::move(first), created());
    (push_back(std::move(rest), created()), ...);
  }

  template <std::derived_from<Layer> Part>
  void push_back(Part part, Site site = Site::current()) {
    push_back(std::to_string(layers_.size()), std::move(part), site);
  }
  template <std::derived_from<Layer> Part>
  void push_back(const std::string& name, Part part, Site site = Site::current()) {
    layers_.push_back(std::make_shared<const Part>(std::move(part)));
    try {
      add(name, *layers_.back(), site);
    } catch (...) {
      layers_.pop_back();
      throw;
    }
  }

  std::size_t size() const { return layers_.size(); }
  /// Throws IndexError.
  const Layer& operator[](Asked<std::size_t> place) const;

 protected:
  Tensor forward(Tensor x) const override;

 private:
  std::vector<std::shared_ptr<const Layer>> layers_;
};

}  // namespace tenure::nn
