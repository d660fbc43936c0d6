#include "bench/peer_torch_train.h"

#include <torch/torch.h>

#include <cmath>
#include <functional>

namespace tenure::bench {
namespace {

using torch::Tensor;

Tensor tensor_of(const Array& array) {
  return torch::from_blob(const_cast<float*>(array.values.data()), array.shape).clone();
}

Array flat(const Array& array) {
  return {{static_cast<std::int64_t>(array.values.size())}, array.values};
}

/// Leaves by name, in the order of their names.
class Weights {
 public:
  explicit Weights(const Arrays& arrays) {
    for (const auto& [name, array] : arrays) {
      tensors_[name] = tensor_of(array).requires_grad_(true);
      list_.push_back(tensors_[name]);
    }
  }
  const Tensor& operator[](const std::string& name) const { return tensors_.at(name); }
  const std::vector<Tensor>& list() const { return list_; }

 private:
  std::map<std::string, Tensor> tensors_;
  std::vector<Tensor> list_;
};

class Training final : public TorchTraining {
 public:
  using Forward = std::function<Tensor(const Weights&, const Tensor&)>;
  Training(const Arrays& arrays, const TorchBatch& batch, bool whole_input, bool with_adam,
           Forward forward)
      : weights_(arrays),
        x_(whole_input ? tensor_of(batch.x).to(torch::kLong) : tensor_of(batch.x)),
        target_(tensor_of(batch.target).to(torch::kLong)),
        forward_(std::move(forward)) {
    if (with_adam) {
      adam_ =
          std::make_unique<torch::optim::Adam>(weights_.list(), torch::optim::AdamOptions(1e-3));
    }
  }

  float step() override {
    for (const Tensor& weight : weights_.list()) weight.mutable_grad().reset();
    const Tensor loss = torch::cross_entropy_loss(forward_(weights_, x_), target_);
    loss.backward();
    if (adam_) adam_->step();
    return loss.item<float>();
  }

 private:
  Weights weights_;
  Tensor x_;
  Tensor target_;
  Forward forward_;
  std::unique_ptr<torch::optim::Adam> adam_;
};

Tensor dense(const Weights& w, const std::string& name, const Tensor& x) {
  const Tensor& kernel = w[name + "/kernel"];
  if (x.dim() == 2) return torch::addmm(w[name + "/bias"], x, kernel);
  const Tensor rows = x.reshape({-1, x.size(-1)});
  std::vector<std::int64_t> shape = x.sizes().vec();
  shape.back() = kernel.size(1);
  return torch::addmm(w[name + "/bias"], rows, kernel).view(shape);
}

Tensor norm(const Weights& w, const std::string& name, const Tensor& x) {
  return torch::layer_norm(x, {x.size(-1)}, w[name + "/scale"], w[name + "/offset"]);
}

Tensor attention(const Weights& w, const std::string& name, const Tensor& x, int heads) {
  const auto batch = x.size(0);
  const auto length = x.size(1);
  const auto width = x.size(2) / heads;
  const auto split = [&](const char* part) {
    return dense(w, name + part, x).view({batch, length, heads, width}).transpose(1, 2);
  };
  const Tensor scores = torch::matmul(split("/query"), split("/key").transpose(-2, -1)) /
                        std::sqrt(static_cast<double>(width));
  const Tensor future = torch::ones({length, length}, torch::kBool).triu(1);
  const Tensor shares = torch::softmax(scores.masked_fill(future, -INFINITY), -1);
  const Tensor mixed = torch::matmul(shares, split("/value")).transpose(1, 2);
  return dense(w, name + "/out", mixed.reshape({batch, length, heads * width}));
}

}  // namespace

std::unique_ptr<TorchTraining> torch_mlp(const Arrays& weights, const TorchBatch& batch, int layers,
                                         bool with_adam) {
  return std::make_unique<Training>(weights, batch, false, with_adam,
                                    [layers](const Weights& w, Tensor x) {
                                      for (int i = 0; i < layers; ++i) {
                                        x = dense(w, std::to_string(i), x);
                                        if (i + 1 < layers) x = torch::relu(x);
                                      }
                                      return x;
                                    });
}

std::unique_ptr<TorchTraining> torch_cnn(const Arrays& weights, const TorchBatch& batch) {
  return std::make_unique<Training>(
      weights, batch, false, true, [](const Weights& w, const Tensor& images) {
        Tensor x = torch::relu(torch::conv2d(images, w["conv1/kernel"], w["conv1/bias"]));
        x = torch::relu(torch::conv2d(x, w["conv2/kernel"], w["conv2/bias"]));
        x = torch::max_pool2d(x, 2).flatten(1);
        return dense(w, "dense2", torch::relu(dense(w, "dense1", x)));
      });
}

std::unique_ptr<TorchTraining> torch_gpt(const Arrays& weights, const TorchBatch& batch, int layers,
                                         int heads) {
  return std::make_unique<Training>(
      weights, TorchBatch{batch.x, flat(batch.target)}, true, true,
      [=](const Weights& w, const Tensor& tokens) {
        Tensor x = torch::embedding(w["tokens/table"], tokens) + w["positions"];
        for (int i = 0; i < layers; ++i) {
          const std::string block = "block" + std::to_string(i);
          x = x + attention(w, block + "/attention", norm(w, block + "/norm1", x), heads);
          const Tensor hidden =
              torch::gelu(dense(w, block + "/up", norm(w, block + "/norm2", x)), "tanh");
          x = x + dense(w, block + "/down", hidden);
        }
        x = dense(w, "head", norm(w, "norm", x));
        return x.view({-1, x.size(-1)});
      });
}

}  // namespace tenure::bench
