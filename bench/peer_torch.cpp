#include "bench/peer_torch.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <ATen/Version.h>
#include <c10/core/InferenceMode.h>
#include <torch/types.h>
#include <torch/version.h>

#include <array>
#include <cmath>
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

/// What torch::optim::Adam does in a step.
void adam_step(Tensor& w, Tensor& m, Tensor& v, const Tensor& g) {
  constexpr double kRate = 1e-3, kBeta1 = 0.9, kBeta2 = 0.999, kEpsilon = 1e-8;
  constexpr int kStep = 10;
  m.mul_(kBeta1).add_(g, 1 - kBeta1);
  v.mul_(kBeta2).addcmul_(g, g, 1 - kBeta2);
  const Tensor root = (v.sqrt() / std::sqrt(1 - std::pow(kBeta2, kStep))).add_(kEpsilon);
  w.addcdiv_(m, root, -kRate / (1 - std::pow(kBeta1, kStep)));
}

/// The gradients of a convolution of x with w that `mask` asks for.
Work conv_gradient(const Inputs& in, std::array<bool, 3> mask) {
  return in_inference_mode([in, mask] {
    use(at::convolution_backward(in[2], in[0], in[1], at::IntArrayRef{in[1].size(0)}, {1, 1},
                                 {0, 0}, {1, 1}, false, {0, 0}, 1, mask));
  });
}

/// softmax(q k^T / sqrt(d)) v, as scaled_dot_product_attention of libtorch 1.13 has it: its flash
/// kernels are for GPUs.
struct Attended {
  Tensor weights;
  Tensor result;
};
Attended attend(const Inputs& in, bool causal) {
  const double scale = 1 / std::sqrt(static_cast<double>(in[0].size(-1)));
  Tensor scores = at::matmul(at::mul(in[0], scale), in[1].transpose(-2, -1));
  if (causal) {
    const auto n = in[0].size(-2);
    const Tensor hidden = at::ones({n, n}, at::kBool).triu_(1);
    scores.masked_fill_(hidden, -INFINITY);
  }
  Tensor weights = at::softmax(scores, -1);
  Tensor result = at::matmul(weights, in[2]);
  return {weights, result};
}
Tensor attention_gradients(const Inputs& in, const Tensor& p) {
  const double scale = 1 / std::sqrt(static_cast<double>(in[0].size(-1)));
  const Tensor dv = at::matmul(p.transpose(-2, -1), in[3]);
  const Tensor dp = at::matmul(in[3], in[2].transpose(-2, -1));
  const Tensor ds = at::_softmax_backward_data(dp, p, -1, at::kFloat).mul_(scale);
  const Tensor dq = at::matmul(ds, in[1]);
  const Tensor dk = at::matmul(ds.transpose(-2, -1), in[0]);
  use(dq);
  use(dk);
  return dv;
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
  // Tensors that were made in inference mode have no gradients, and no copies of them outside it
  // do.
  const c10::InferenceMode outside(false);
  for (Tensor& x : in) x = x.clone();
  for (std::size_t i = 2; i < in.size(); ++i) in[i].requires_grad_(true);
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
      {"mean_square",
       [](const Inputs& in) {
         return in_inference_mode([in] { use(at::mse_loss(in[0], in[1])); });
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
      {"fft",
       [](const Inputs& in) {
         return in_inference_mode([x = at::view_as_complex(in[0])] { use(at::fft_fft(x)); });
       }},
      {"rfft",
       [](const Inputs& in) { return in_inference_mode([x = in[0]] { use(at::fft_rfft(x)); }); }},
      {"fft2",
       [](const Inputs& in) {
         return in_inference_mode([x = at::view_as_complex(in[0])] { use(at::fft_fft2(x)); });
       }},
      {"cholesky",
       [](const Inputs& in) {
         return in_inference_mode(
             [a = at::add(at::matmul(in[0], in[0].t()), at::eye(in[0].size(0)))] {
               use(at::linalg_cholesky(a));
             });
       }},
      {"solve",
       [](const Inputs& in) {
         return in_inference_mode([a = in[0], b = in[1]] { use(at::linalg_solve(a, b)); });
       }},
      {"qr",
       [](const Inputs& in) { return in_inference_mode([x = in[0]] { use(at::linalg_qr(x)); }); }},
      {"eigh",
       [](const Inputs& in) {
         return in_inference_mode([x = in[0]] { use(at::linalg_eigh(x)); });
       }},
      {"svd",
       [](const Inputs& in) {
         return in_inference_mode([x = in[0]] { use(at::linalg_svd(x, false)); });
       }},
      {"cross_entropy",
       [](const Inputs& in) {
         return in_inference_mode([x = in[0], t = at::zeros({in[0].size(0)}, at::kLong)] {
           use(at::cross_entropy_loss(x, t));
         });
       }},
      {"cross_entropy_gradient",
       [](const Inputs& in) {
         const Tensor t = at::zeros({in[0].size(0)}, at::kLong);
         return in_inference_mode([p = at::log_softmax(in[0], -1), t, one = at::ones({}),
                                   n = at::full({}, static_cast<double>(in[0].size(0)))] {
           const Tensor d = at::nll_loss_backward(one, p, t, {}, at::Reduction::Mean, -100, n);
           use(at::_log_softmax_backward_data(d, p, -1, at::kFloat));
         });
       }},
      {"attention",
       [](const Inputs& in) { return in_inference_mode([in] { use(attend(in, false).result); }); }},
      {"attention/causal",
       [](const Inputs& in) { return in_inference_mode([in] { use(attend(in, true).result); }); }},
      {"attention_gradient",
       [](const Inputs& in) {
         return in_inference_mode(
             [in, p = attend(in, false).weights] { use(attention_gradients(in, p)); });
       }},
      {"lstm",
       [](const Inputs& in) {
         const Tensor state = at::zeros({1, in[0].size(0), in[2].size(1)});
         return in_inference_mode([in, state] {
           use(at::lstm(in[0], {state, state}, {in[1], in[2], in[3], in[3]}, true, 1, 0.0, false,
                        false, true));
         });
       }},
      {"sort",
       [](const Inputs& in) { return in_inference_mode([x = in[0]] { use(at::sort(x)); }); }},
      {"cumsum",
       [](const Inputs& in) { return in_inference_mode([x = in[0]] { use(at::cumsum(x, 0)); }); }},
      {"conv2d",
       [](const Inputs& in) {
         return in_inference_mode([x = in[0], w = in[1]] { use(at::conv2d(x, w)); });
       }},
      {"conv2d_input_gradient",
       [](const Inputs& in) {
         return conv_gradient(in, {true, false, false});
       }},
      {"conv2d_weight_gradient",
       [](const Inputs& in) {
         return conv_gradient(in, {false, true, true});
       }},
      {"max_pool2d",
       [](const Inputs& in) {
         return in_inference_mode([x = in[0]] { use(at::max_pool2d_with_indices(x, {2, 2})); });
       }},
      {"layer_norm",
       [](const Inputs& in) {
         return in_inference_mode(
             [in] { use(at::layer_norm(in[0], in[1].sizes(), in[1], in[2])); });
       }},
      {"layer_norm_gradient",
       [](const Inputs& in) {
         const auto made = at::native_layer_norm(in[0], in[1].sizes(), in[1], in[1], 1e-5);
         return in_inference_mode([in, made] {
           use(at::native_layer_norm_backward(in[0], in[0], in[1].sizes(), std::get<1>(made),
                                              std::get<2>(made), in[1], in[1], {true, true, true}));
         });
       }},
      {"adam",
       [](const Inputs& in) {
         return in_inference_mode([g = in[0], w = at::zeros_like(in[0]), m = at::zeros_like(in[0]),
                                   v = at::zeros_like(in[0])]() mutable {
           adam_step(w, m, v, g);
           use(w);
         });
       }},
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
