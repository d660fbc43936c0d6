#pragma once

#include <string>
#include <utility>
#include <vector>

#include "tenure/tenure.h"

namespace tenure::bench {

/// Three convolutions with a way past them.
class Bottleneck final : public nn::Layer {
 public:
  Bottleneck(std::int64_t in, std::int64_t middle, std::int64_t stride)
      : Layer("Bottleneck"),
        is_plain_(stride == 1 && in == 4 * middle),
        first_(in, middle, 1, {.bias = false}),
        second_(middle, middle, 3, {.stride = stride, .padding = 1, .bias = false}),
        third_(middle, 4 * middle, 1, {.bias = false}),
        past_(in, 4 * middle, 1, {.stride = stride, .bias = false}),
        norms_{nn::BatchNorm(middle), nn::BatchNorm(middle), nn::BatchNorm(4 * middle),
               nn::BatchNorm(4 * middle)} {
    add("first", first_);
    add("second", second_);
    add("third", third_);
    for (std::size_t i = 0; i < (is_plain_ ? 3 : 4); ++i)
      add("norm" + std::to_string(i), norms_[i]);
    if (!is_plain_) add("past", past_);
  }

 protected:
  Tensor forward(Tensor x) const override {
    const Tensor beside = is_plain_ ? x : norms_[3](past_(x));
    x = relu(norms_[0](first_(std::move(x))));
    x = relu(norms_[1](second_(std::move(x))));
    return relu(norms_[2](third_(std::move(x))) + beside);
  }

 private:
  bool is_plain_;
  nn::Conv2d first_, second_, third_, past_;
  std::vector<nn::BatchNorm> norms_;
};

class MeanOfPlaces final : public nn::Layer {
 public:
  MeanOfPlaces() : Layer("MeanOfPlaces") {}

 protected:
  Tensor forward(Tensor x) const override { return mean(std::move(x), {1, 2}); }
};

/// ResNet-50, of images [n, side, side, 3] and 1000 classes.
inline nn::Sequential resnet(const std::vector<int>& blocks = {3, 4, 6, 3},
                             std::int64_t width = 64) {
  nn::Sequential model(nn::Conv2d(3, width, 7, {.stride = 2, .padding = 3, .bias = false}),
                       nn::BatchNorm(width), nn::Relu(), nn::MaxPool2d(2));
  std::int64_t in = width;
  for (std::size_t stage = 0; stage < blocks.size(); ++stage) {
    const std::int64_t middle = width << stage;
    for (int i = 0; i < blocks[stage]; ++i) {
      model.push_back(Bottleneck(in, middle, i == 0 && stage != 0 ? 2 : 1));
      in = 4 * middle;
    }
  }
  model.push_back(MeanOfPlaces());
  model.push_back(nn::Dense(in, 1000));
  return model;
}

}  // namespace tenure::bench
