#pragma once

#include <cstdint>
#include <functional>
#include <random>
#include <utility>
#include <vector>

#include "tenure/tenure.h"

namespace tenure::test {

/// Layers of images, then of rows, drawn at random, and the gradients by all weights and the
/// images.
class RandomNetwork {
 public:
  explicit RandomNetwork(std::uint64_t seed) : random_(seed) {
    Shape shape{2 + 2 * draw(8), 6 + draw(6), 6 + draw(6), 1 + draw(4)};
    inputs_.push_back(normal(shape));
    const std::int64_t layers = 1 + draw(4);
    for (std::int64_t i = 0; i < layers; ++i) add_layer(shape);
    shape = {shape[0], shape[1] * shape[2] * shape[3]};
    layers_.emplace_back([](const Tensor& x, const std::vector<Tensor>&) { return flatten(x, 1); });
    const std::int64_t width = 1 + draw(40);
    add_weights({shape[1], width}, [](const Tensor& x, const Tensor& w) { return matmul(x, w); });
    add([](const Tensor& x) { return gelu(x); });
    add_weights({width, 5}, [](const Tensor& x, const Tensor& w) { return softmax(matmul(x, w)); });
  }

  const std::vector<Tensor>& inputs() const { return inputs_; }
  std::vector<Tensor> operator()(const std::vector<Tensor>& in) const {
    GradientTape tape;
    for (const Tensor& tensor : in) tape.watch(tensor);
    Tensor x = in[0];
    for (const Layer& layer : layers_) x = layer(x, in);
    const Tensor loss = mean(square(x));
    std::vector<Tensor> results = tape.gradient(loss, in);
    results.push_back(loss);
    return results;
  }

 private:
  using Layer = std::function<Tensor(const Tensor&, const std::vector<Tensor>&)>;

  std::int64_t draw(std::uint64_t n) { return static_cast<std::int64_t>(random_() % n); }
  void add(Tensor (*op)(const Tensor&)) {
    layers_.emplace_back([op](const Tensor& x, const std::vector<Tensor>&) { return op(x); });
  }
  void add_weights(const Shape& shape, std::function<Tensor(const Tensor&, const Tensor&)> op) {
    const std::size_t place = inputs_.size();
    inputs_.push_back(normal(shape, 0, 0.3));
    layers_.emplace_back(
        [place, op = std::move(op)](const Tensor& x, const std::vector<Tensor>& in) {
          return op(x, in[place]);
        });
  }
  void add_layer(Shape& shape) {
    switch (draw(6)) {
      case 0:
        add([](const Tensor& x) { return relu(x); });
        break;
      case 1:
        add([](const Tensor& x) { return tanh(x) * x; });
        break;
      case 2:
        if (shape[1] < 4 || shape[2] < 4) return;
        if (draw(2) == 0) {
          add([](const Tensor& x) { return max_pool2d(x, 2); });
        } else {
          add([](const Tensor& x) { return avg_pool2d(x, 2); });
        }
        shape = {shape[0], shape[1] / 2, shape[2] / 2, shape[3]};
        break;
      default: {
        if (shape[1] < 4 || shape[2] < 4) return;
        const std::int64_t channels = 1 + draw(9);
        add_weights({3, 3, shape[3], channels},
                    [](const Tensor& x, const Tensor& w) { return conv2d(x, w); });
        shape = {shape[0], shape[1] - 2, shape[2] - 2, channels};
      }
    }
  }

  std::mt19937_64 random_;
  std::vector<Tensor> inputs_;
  std::vector<Layer> layers_;
};

}  // namespace tenure::test
