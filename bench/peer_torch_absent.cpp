#include "bench/peer_torch.h"
#include "bench/peer_torch_train.h"

namespace tenure::bench {

Work torch_call(const std::string&, const std::vector<std::vector<std::int64_t>>&) { return {}; }
std::string torch_description() { return {}; }
void set_torch_threads(int) {}

std::unique_ptr<TorchTraining> torch_mlp(const Arrays&, const TorchBatch&, int, bool) {
  return nullptr;
}
std::unique_ptr<TorchTraining> torch_cnn(const Arrays&, const TorchBatch&) { return nullptr; }
std::unique_ptr<TorchTraining> torch_gpt(const Arrays&, const TorchBatch&, int, int) {
  return nullptr;
}

}  // namespace tenure::bench
