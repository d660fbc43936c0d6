#include <memory>

#include "bench/contest.h"
#include "bench/floors.h"
#include "bench/peer_torch.h"
#include "tenure/ops/core/dispatch.h"
#include "tenure/tenure.h"

namespace tenure::bench {
namespace {

/// A convolution with a square kernel and valid padding, as in the network for MNIST.
struct Convolution {
  std::int64_t batch, size, in, out, kernel;

  std::int64_t result() const { return size - kernel + 1; }
  double flops() const {
    return 2.0 * static_cast<double>(batch * result() * result() * out) *
           static_cast<double>(kernel * kernel * in);
  }
  std::string name() const {
    return "conv " + std::to_string(kernel) + "x" + std::to_string(kernel) + " " +
           std::to_string(in) + "->" + std::to_string(out) + " of " + std::to_string(batch) + "x" +
           std::to_string(size) + "x" + std::to_string(size);
  }
};

/// Calls a record that has no function of its own: a gradient.
Work call_record(const char* name, std::vector<Tensor> inputs, const ops::Attributes& attributes) {
  return repeat([op = ops::find_op(name), inputs = std::move(inputs), attributes] {
    const std::vector<Operand> operands(inputs.begin(), inputs.end());
    use(ops::run_many_now(*op, operands, attributes, Site::current()));
  });
}

void add_convolution(std::vector<Case>& cases, const Convolution& c) {
  const std::vector<std::vector<std::int64_t>> shapes{{c.batch, c.in, c.size, c.size},
                                                      {c.out, c.in, c.kernel, c.kernel},
                                                      {c.batch, c.out, c.result(), c.result()}};
  const auto add = [&](const std::string& what, const char* peer, auto make) {
    const std::string name = c.name() + what;
    cases.push_back({"nn", name, [=](const Options& options) {
                       return run({.name = name,
                                   .unit = kFlops,
                                   .amount = c.flops(),
                                   .ours = make(),
                                   .peers = {{"libtorch", torch_call(peer, shapes)},
                                             fma_peak(options.threads)}},
                                  options);
                     }});
  };
  const auto x = [c] { return normal({c.batch, c.size, c.size, c.in}); };
  const auto w = [c] { return normal({c.kernel, c.kernel, c.in, c.out}); };
  const auto dy = [c] { return normal({c.batch, c.result(), c.result(), c.out}); };
  const auto attributes = [](const Dims& last) {
    return ops::Attributes(Dims{1, 1}, Dims{0, 0}, Dims{0, 0}, Dims{1, 1}, std::int64_t{1}, last);
  };
  add("", "conv2d", [=] { return repeat([x = x(), w = w()] { use(conv2d(x, w)); }); });
  add(", gradient by images", "conv2d_input_gradient", [=] {
    return call_record("conv_input_gradient", {dy(), w()}, attributes({c.size, c.size}));
  });
  add(", gradient by weights", "conv2d_weight_gradient", [=] {
    return call_record("conv_weight_gradient", {x(), dy()}, attributes({c.kernel, c.kernel}));
  });
}

void add(std::vector<Case>& cases, const std::string& name, const char* torch_name,
         const std::vector<std::vector<std::int64_t>>& shapes, Work (*make)()) {
  cases.push_back({"nn", name, [=](const Options& options) {
                     return run({.name = name,
                                 .unit = kMicroseconds,
                                 .ours = make(),
                                 .peers = {{"libtorch", torch_call(torch_name, shapes)}}},
                                options);
                   }});
}

/// Steps in place: one holder has the tensors, however often the work is copied.
Work adam_steps(std::int64_t parameters) {
  struct State {
    Tensor w, m, v, g;
  };
  const auto state = std::make_shared<State>(
      State{normal({parameters}), zeros({parameters}), zeros({parameters}), normal({parameters})});
  return repeat([state] {
    State& s = *state;
    auto [w, m, v] = adam_update(std::move(s.w), std::move(s.m), std::move(s.v), s.g, 1e-3, 10);
    s.w = std::move(w);
    s.m = std::move(m);
    s.v = std::move(v);
  });
}

/// Bytes that an Adam step reads and writes for each parameter.
constexpr double kAdamBytes = 7 * 4;

}  // namespace

void add_nn_cases(std::vector<Case>& cases) {
  add_convolution(cases, {64, 28, 1, 32, 3});
  add_convolution(cases, {64, 26, 32, 64, 3});
  add_convolution(cases, {8, 30, 128, 128, 3});
  add(cases, "max_pool 2x2 of 64x24x24x64", "max_pool2d", {{64, 64, 24, 24}}, [] {
    return repeat([x = normal({64, 24, 24, 64})] { use(max_pool2d(x, 2)); });
  });
  add(cases, "layer_norm of [1024,256]", "layer_norm", {{1024, 256}, {256}, {256}}, [] {
    return repeat(
        [x = normal({1024, 256}), w = ones({256}), b = zeros({256})] { use(layer_norm(x, w, b)); });
  });
  add(cases, "gradient of layer_norm of [1024,256]", "layer_norm_gradient", {{1024, 256}, {256}},
      [] {
        return call_record("layer_norm_gradient",
                           {normal({1024, 256}), normal({1024, 256}), ones({256})},
                           ops::Attributes(std::int64_t{1}, 1e-5));
      });
  constexpr std::int64_t kParameters = 1'199'882;  // of the network for MNIST
  cases.push_back({"nn", "adam of 1.2M parameters", [](const Options& options) {
                     return run({.name = "adam of 1.2M parameters",
                                 .unit = kBandwidth,
                                 .amount = kAdamBytes * static_cast<double>(kParameters),
                                 .ours = adam_steps(kParameters),
                                 .peers = {{"libtorch", torch_call("adam", {{kParameters}})},
                                           copy_bandwidth()}},
                                options);
                   }});
}

}  // namespace tenure::bench
