#include "bench/train_models.h"

#include <utility>

#include "examples/gpt.h"

namespace tenure::bench {
namespace {

using examples::Gpt;
using examples::GptSizes;

Array array_of(const Tensor& tensor) {
  return {tensor.shape().to_vector(), cast(tensor, DType::float32).to_vector<float>()};
}

Arrays arrays_of(const nn::Layer& model) {
  Arrays arrays;
  for (const auto& [name, variable] : model.parameters()) arrays[name] = array_of(variable.value());
  return arrays;
}

Tensor random_classes(std::int64_t classes, const Shape& shape) {
  return randint(0, classes, shape);
}

class Cnn final : public nn::Layer {
 public:
  Cnn() : Layer("Cnn") {
    add("conv1", conv1_);
    add("conv2", conv2_);
    add("dense1", dense1_);
    add("dense2", dense2_);
  }

 protected:
  Tensor forward(Tensor x) const override {
    x = relu(max_pool2d(conv2_(conv1_(std::move(x))), 2));  // the same as relu before
    return dense2_(relu(dense1_(flatten(std::move(x), 1))));
  }

 private:
  nn::Conv2d conv1_{1, 32, 3, {.relu = true, .kernel_initializer = nn::init::lecun_normal()}};
  nn::Conv2d conv2_{32, 64, 3, {.kernel_initializer = nn::init::lecun_normal()}};
  nn::Dense dense1_{64 * 12 * 12, 128};
  nn::Dense dense2_{128, 10};
};

}  // namespace

TrainingCase mlp_case(const std::string& name, const std::vector<std::int64_t>& widths,
                      std::int64_t batch, bool with_adam) {
  nn::Sequential model;
  double flops = 0;
  const auto layers = static_cast<int>(widths.size()) - 1;
  for (int i = 0; i < layers; ++i) {
    const auto at = static_cast<std::size_t>(i);
    model.push_back(std::to_string(i), nn::Dense(widths[at], widths[at + 1]));
    if (i + 1 < layers) model.push_back("relu" + std::to_string(i), nn::Relu());
    // Forward, the gradient of the weights and, but for the first layer, that of the input.
    flops += (i == 0 ? 4.0 : 6.0) * static_cast<double>(widths[at] * widths[at + 1] * batch);
  }
  TrainingCase made{.name = name, .flops = flops};
  made.x = normal({batch, widths.front()});
  made.target = random_classes(widths.back(), {batch});
  made.make_peer = [=, arrays = arrays_of(model),
                    pair = TorchBatch{array_of(made.x), array_of(made.target)}] {
    return torch_mlp(arrays, pair, layers, with_adam);
  };
  made.model = std::make_shared<const nn::Sequential>(std::move(model));
  return made;
}

TrainingCase cnn_case(std::int64_t batch) {
  TrainingCase made{.name = "CNN", .flops = 4.6e9 * static_cast<double>(batch) / 64};
  made.model = std::make_shared<const Cnn>();
  made.x = uniform({batch, 28, 28, 1});
  made.target = random_classes(10, {batch});
  Arrays arrays;
  for (const auto& [name, variable] : made.model->parameters()) {
    Tensor value = variable.value();
    if (value.shape().size() == 4) value = permute(value, {3, 2, 0, 1});
    if (name == "dense1/kernel") {  // rows by channel first
      value = reshape(permute(reshape(value, {12, 12, 64, 128}), {2, 0, 1, 3}), {9216, 128});
    }
    arrays[name] = array_of(value);
  }
  made.make_peer =
      [arrays, pair = TorchBatch{array_of(permute(made.x, {0, 3, 1, 2})), array_of(made.target)}] {
        return torch_cnn(arrays, pair);
      };
  return made;
}

TrainingCase gpt_case(std::int64_t batch) {
  const GptSizes sizes;
  TrainingCase made{.name = "GPT", .flops = 21e9 * static_cast<double>(batch) / 8};
  made.model = std::make_shared<const Gpt>(sizes);
  made.x = random_classes(sizes.tokens, {batch, sizes.length});
  made.target = random_classes(sizes.tokens, {batch, sizes.length});
  made.make_peer = [arrays = arrays_of(*made.model), sizes,
                    pair = TorchBatch{array_of(made.x), array_of(made.target)}] {
    return torch_gpt(arrays, pair, sizes.layers, sizes.heads);
  };
  return made;
}

}  // namespace tenure::bench
