#include "bench/peer_torch.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <ATen/Version.h>
#include <c10/core/InferenceMode.h>
#include <torch/types.h>
#include <torch/version.h>

#include <map>
#include <stdexcept>

namespace tenure::bench {
namespace {

using at::Tensor;
using Inputs = std::vector<Tensor>;

/// The loop in inference mode, where libtorch is at its fastest.
template <class F>
Work in_inference_mode(F f) {
  return [f](std::int64_t n) mutable {
    const c10::InferenceMode mode;
    for (std::int64_t i = 0; i < n; ++i) f();
  };
}

Work unary(const Inputs& in, Tensor (*op)(const Tensor&)) {
  return in_inference_mode([x = in[0], op] { use(op(x)); });
}
Work unary_out(const Inputs& in, Tensor& (*op)(Tensor&, const Tensor&)) {
  return in_inference_mode(
      [x = in[0], out = at::empty_like(in[0]), op]() mutable { use(op(out, x)); });
}

Tensor chain_of_10(const Tensor& x) {
  Tensor y = at::add(x, x);
  for (int i = 1; i < 10; ++i) y = at::add(y, x);
  return y;
}

Tensor mlp_loss(const Inputs& in) {
  Tensor h = at::relu(at::addmm(in[3], in[0], in[2]));
  h = at::relu(at::addmm(in[5], h, in[4]));
  h = at::addmm(in[7], h, in[6]);
  return at::mse_loss(h, in[1]);
}

/// Forward and backward; the gradients are dropped before each, as zero_grad() does.
Work mlp_step(Inputs in) {
  for (std::size_t i = 2; i < in.size(); ++i) in[i] = in[i].detach().requires_grad_(true);
  return [in](std::int64_t n) {
    for (std::int64_t i = 0; i < n; ++i) {
      for (std::size_t p = 2; p < in.size(); ++p) in[p].mutable_grad().reset();
      mlp_loss(in).backward();
    }
  };
}

using Maker = Work (*)(const Inputs&);

const std::map<std::string, Maker>& makers() {
  static const auto& all = *new std::map<std::string, Maker>{
      {"add",
       [](const Inputs& in) {
         return in_inference_mode([a = in[0], b = in[1]] { use(at::add(a, b)); });
       }},
      {"add/out",
       [](const Inputs& in) {
         return in_inference_mode([a = in[0], b = in[1], out = at::empty_like(in[0])]() mutable {
           use(at::add_out(out, a, b));
         });
       }},
      {"add_scalar",
       [](const Inputs& in) { return in_inference_mode([x = in[0]] { use(at::add(x, 2.0)); }); }},
      {"mul_scalar",
       [](const Inputs& in) { return in_inference_mode([x = in[0]] { use(at::mul(x, 2.0)); }); }},
      {"gate",
       [](const Inputs& in) {
         return in_inference_mode([in] {
           use(at::mul(at::tanh(at::add(at::mul(in[0], in[1]), in[2])), at::sigmoid(in[3])));
         });
       }},
      {"mlp_step", [](const Inputs& in) { return mlp_step(in); }},
      {"mlp_forward",
       [](const Inputs& in) { return in_inference_mode([in] { use(mlp_loss(in)); }); }},
      {"chain_of_10", [](const Inputs& in) { return unary(in, chain_of_10); }},
      {"relu", [](const Inputs& in) { return unary(in, at::relu); }},
      {"tanh", [](const Inputs& in) { return unary(in, at::tanh); }},
      {"tanh/out", [](const Inputs& in) { return unary_out(in, at::tanh_out); }},
      {"exp", [](const Inputs& in) { return unary(in, at::exp); }},
      {"exp/out", [](const Inputs& in) { return unary_out(in, at::exp_out); }},
      {"sigmoid", [](const Inputs& in) { return unary(in, at::sigmoid); }},
      {"sigmoid/out", [](const Inputs& in) { return unary_out(in, at::sigmoid_out); }},
      {"gelu",
       [](const Inputs& in) { return in_inference_mode([x = in[0]] { use(at::gelu(x)); }); }},
      {"gelu/out",
       [](const Inputs& in) {
         return in_inference_mode(
             [x = in[0], out = at::empty_like(in[0])]() mutable { use(at::gelu_out(out, x)); });
       }},
      {"clone",
       [](const Inputs& in) { return in_inference_mode([x = in[0]] { use(at::clone(x)); }); }},
      {"clone_transposed",
       [](const Inputs& in) {
         return in_inference_mode(
             [x = in[0].t()] { use(at::clone(x, at::MemoryFormat::Contiguous)); });
       }},
      {"full",
       [](const Inputs& in) {
         return in_inference_mode([shape = in[0].sizes().vec()] { use(torch::full(shape, 3.0F)); });
       }},
      {"empty", [](const Inputs&) { return in_inference_mode([] { use(torch::empty({1024})); }); }},
      {"reshape",
       [](const Inputs& in) {
         return in_inference_mode([x = in[0]] { use(at::reshape(x, {4, 4})); });
       }},
      {"sum", [](const Inputs& in) { return in_inference_mode([x = in[0]] { use(at::sum(x)); }); }},
      {"softmax",
       [](const Inputs& in) {
         return in_inference_mode([x = in[0]] { use(at::softmax(x, -1)); });
       }},
      {"sort",
       [](const Inputs& in) { return in_inference_mode([x = in[0]] { use(at::sort(x)); }); }},
      {"cumsum",
       [](const Inputs& in) { return in_inference_mode([x = in[0]] { use(at::cumsum(x, 0)); }); }},
      {"matmul",
       [](const Inputs& in) {
         return in_inference_mode([a = in[0], b = in[1]] { use(at::matmul(a, b)); });
       }},
  };
  return all;
}

}  // namespace

Work torch_call(const std::string& name, const std::vector<std::vector<std::int64_t>>& shapes) {
  const auto found = makers().find(name);
  if (found == makers().end()) throw std::invalid_argument("no libtorch peer named " + name);
  const c10::InferenceMode mode;
  Inputs inputs;
  for (const auto& shape : shapes) inputs.push_back(at::randn(shape));
  return found->second(inputs);
}

std::string torch_description() {
  const std::string config = at::show_config();
  const std::string label = "CPU capability usage: ";
  std::string capability = "unknown instructions";
  if (const auto at = config.find(label); at != std::string::npos) {
    const auto begin = at + label.size();
    capability = config.substr(begin, config.find('\n', begin) - begin);
  }
  return std::string("libtorch ") + TORCH_VERSION + ", " + capability;
}

void set_torch_threads(int threads) { at::set_num_threads(threads); }

}  // namespace tenure::bench
