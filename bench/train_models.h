#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "bench/peer_torch_train.h"
#include "tenure/tenure.h"

// The models of the training benchmarks, each with a batch, and the same for libtorch.

namespace tenure::bench {

struct TrainingCase {
  std::string name;
  double flops = 0;  ///< of a step, as the benchmark's text counts them
  std::shared_ptr<const nn::Layer> model{};
  Tensor x{};
  Tensor target{};
  /// The same weights and the same batch; gives null without libtorch.
  std::function<std::unique_ptr<TorchTraining>()> make_peer{};
  /// peer_torch.py has a model of this name.
  bool in_python = true;
};

/// Dense layers of these widths with relu between them.
TrainingCase mlp_case(const std::string& name, const std::vector<std::int64_t>& widths,
                      std::int64_t batch, bool with_adam);
/// Two 3x3 convolutions, pooling, two dense layers, on 28x28 images.
TrainingCase cnn_case(std::int64_t batch);
/// Width 256, 4 heads, 4 layers, 128 positions, 96 tokens.
TrainingCase gpt_case(std::int64_t batch);

}  // namespace tenure::bench
