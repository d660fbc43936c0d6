#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

// Training steps of libtorch on weights and batches that are given to it.

namespace tenure::bench {

/// Numbers with a shape; of class indices, whole numbers.
struct Array {
  std::vector<std::int64_t> shape;
  std::vector<float> values;
};
using Arrays = std::map<std::string, Array>;

/// A model that trains on one batch.
class TorchTraining {
 public:
  virtual ~TorchTraining() = default;
  /// Forward, backward and, with an optimizer, Adam; returns the loss before the update.
  virtual float step() = 0;
};

struct TorchBatch {
  Array x;
  Array target;
};

/// Dense layers with relu between them; weights "0/kernel" [in, out], "0/bias", "1/kernel", ...
/// Null without libtorch.
std::unique_ptr<TorchTraining> torch_mlp(const Arrays& weights, const TorchBatch& batch, int layers,
                                         bool with_adam);
/// Two valid 3x3 convolutions with relu, maximum pooling by 2, two dense layers. Images and weights
/// are channels-first.
std::unique_ptr<TorchTraining> torch_cnn(const Arrays& weights, const TorchBatch& batch);
/// A decoder-only transformer with layer norm before attention and before the MLP.
std::unique_ptr<TorchTraining> torch_gpt(const Arrays& weights, const TorchBatch& batch, int layers,
                                         int heads);

}  // namespace tenure::bench
