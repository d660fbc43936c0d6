#include "bench/train_models.h"

#include <utility>

namespace tenure::bench {
namespace {

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

class Gpt final : public nn::Layer {
 public:
  static constexpr std::int64_t kWidth = 256;
  static constexpr std::int64_t kHeads = 4;
  static constexpr int kLayers = 4;
  static constexpr std::int64_t kLength = 128;
  static constexpr std::int64_t kTokens = 96;

  Gpt()
      : Layer("Gpt"), positions_(add_parameter("positions", [] {
          return normal({kLength, kWidth}, 0, 0.02);
        })) {
    add("tokens", tokens_);
    for (int i = 0; i < kLayers; ++i) {
      blocks_.emplace_back(kWidth, kHeads);
      add("block" + std::to_string(i), blocks_.back());
    }
    add("norm", norm_);
    add("head", head_);
  }

 protected:
  Tensor forward(Tensor x) const override {
    x = tokens_(std::move(x)) + read(positions_);
    for (const nn::TransformerBlock& block : blocks_) x = block(std::move(x));
    return head_(norm_(std::move(x)));
  }

 private:
  Variable positions_;
  nn::Embedding tokens_{kTokens, kWidth};
  std::vector<nn::TransformerBlock> blocks_;
  nn::LayerNorm norm_{kWidth};
  nn::Dense head_{kWidth, kTokens};
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
  TrainingCase made{.name = "GPT", .flops = 21e9 * static_cast<double>(batch) / 8};
  made.model = std::make_shared<const Gpt>();
  made.x = random_classes(Gpt::kTokens, {batch, Gpt::kLength});
  made.target = random_classes(Gpt::kTokens, {batch, Gpt::kLength});
  made.make_peer = [arrays = arrays_of(*made.model),
                    pair = TorchBatch{array_of(made.x), array_of(made.target)}] {
    return torch_gpt(arrays, pair, Gpt::kLayers, Gpt::kHeads);
  };
  return made;
}

}  // namespace tenure::bench
