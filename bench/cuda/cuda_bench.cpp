#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "bench/cuda/resnet.h"
#include "examples/gpt.h"

// What a GPU takes for the works of bench/cuda/table.py, a line of JSON for each: its name,
// seconds, and the highest live bytes. Ends with 77, and says why, where there is no GPU. With
// --small the works are such that the emulated GPU can do them, which says nothing about speed;
// with --only TEXT they are those with TEXT in their names; with --once each is done twice, for
// profilers to look at.

namespace tenure::bench {
namespace {

using examples::Gpt;
using examples::GptSizes;

bool is_small = false;
bool is_once = false;
std::string_view only;

/// The median of some runs of `work`, each as often as it takes to be measured, in seconds.
double seconds_of(const std::function<void()>& work, const std::function<void()>& wait, int times) {
  using Clock = std::chrono::steady_clock;
  work();
  wait();
  std::vector<double> taken;
  for (int run = 0; run < (is_once ? 1 : 7); ++run) {
    const auto begin = Clock::now();
    for (int i = 0; i < times; ++i) work();
    wait();
    taken.push_back(std::chrono::duration<double>(Clock::now() - begin).count() / times);
  }
  std::nth_element(taken.begin(), taken.begin() + taken.size() / 2, taken.end());
  return taken[taken.size() / 2];
}

class Bench {
 public:
  explicit Bench(Device device) : device_(device) {}

  /// Prints what `work` takes; bytes are those beyond what was there before it was made.
  void add(const char* name, const std::function<std::function<void()>()>& make, int times) {
    if (std::string_view(name).find(only) == std::string_view::npos) return;
    try {
      const std::int64_t before = memory(device_).bytes;
      reset_peak(device_);
      const std::function<void()> work = make();
      const double seconds = seconds_of(
          work, [this] { wait(); }, is_once ? 1 : times);
      print(name, seconds, memory(device_).peak - before);
    } catch (const Error& error) {
      fmt::print("{{\"work\": \"{}\", \"problem\": \"{}\"}}\n", name, first_line(error.what()));
    }
    std::fflush(stdout);
  }

 private:
  /// A number that is computed last is read.
  void wait() const { static_cast<void>(last_.item<float>()), last_ = ones({}).to(device_) + 0; }
  static void print(const char* name, double seconds, std::int64_t bytes) {
    fmt::print("{{\"work\": \"{}\", \"seconds\": {}, \"bytes\": {}}}\n", name, seconds, bytes);
  }
  static std::string first_line(const std::string& text) {
    std::string line = text.substr(0, text.find('\n'));
    std::replace(line.begin(), line.end(), '"', '\'');
    return line;
  }

  Device device_;
  mutable Tensor last_ = ones({}).to(device_);
};

/// A step of training, and what it works on.
template <class Optimizer>
std::function<void()> training(std::shared_ptr<nn::Layer> model, const Tensor& x,
                               const Tensor& target, Device device, nn::TrainerOptions options) {
  model->to(device);
  auto optimizer = std::make_shared<Optimizer>(model->trainable(), 1e-3);
  auto trainer = std::make_shared<nn::Trainer>(
      *model, [](const Tensor& y, const Tensor& t) { return cross_entropy(y, t); }, *optimizer,
      std::move(options));
  return [model, optimizer, trainer, x = x.to(device), target = target.to(device)] {
    static_cast<void>(trainer->step_ahead(x, target));
  };
}

std::function<void()> gpt_step(const GptSizes& sizes, std::int64_t batch, Device device,
                               nn::TrainerOptions options) {
  return training<nn::AdamW>(
      std::make_shared<Gpt>(sizes), randint(0, sizes.tokens, {batch, sizes.length}),
      randint(0, sizes.tokens, {batch, sizes.length}), device, std::move(options));
}

void run(Device device) {
  Bench bench(device);
  const auto there = [&](const Shape& shape) { return normal(shape).to(device); };
  bench.add(
      "eager op on 16 floats",
      [&] { return [x = there({16}), y = there({16})] { static_cast<void>(x + y); }; }, 10000);
  bench.add(
      "allocate + free 4 KiB",
      [&] {
        return [device] {
          const DeviceScope scope(device);
          static_cast<void>(empty({1024}));
        };
      },
      10000);
  const std::int64_t n = is_small ? 1 << 10 : 16 << 20;
  bench.add(
      "copy, 16M", [&] { return [x = there({n})] { static_cast<void>(clone(x)); }; }, 50);
  bench.add(
      "tanh(a*b+c)*sigmoid(d), 16M",
      [&] {
        const auto f = function([](const Tensor& a, const Tensor& b, const Tensor& c,
                                   const Tensor& d) { return tanh(a * b + c) * sigmoid(d); });
        return [f, a = there({n}), b = there({n}), c = there({n}), d = there({n})] {
          static_cast<void>(f(a, b, c, d));
        };
      },
      50);
  bench.add(
      "8 dense layers of 256 with relu, batch 1",
      [&] {
        nn::Sequential model;
        for (int i = 0; i < 8; ++i) {
          model.push_back(nn::Dense(256, 256));
          model.push_back(nn::Relu());
        }
        model.to(device);
        const auto f = function([model](const Tensor& x) { return model(x); });
        return [f, x = there({1, 256})] { static_cast<void>(f(x)); };
      },
      200);
  bench.add(
      "MLP step (784-512-512-10, b128, Adam)",
      [&] {
        return training<nn::Adam>(
            std::make_shared<nn::Sequential>(nn::Dense(784, 512), nn::Relu(), nn::Dense(512, 512),
                                             nn::Relu(), nn::Dense(512, 10)),
            normal({is_small ? 2 : 128, 784}), randint(0, 10, {is_small ? 2 : 128}), device, {});
      },
      100);
  const GptSizes tiny{.width = 16, .heads = 2, .layers = 1, .length = 8, .tokens = 11};
  bench.add(
      "GPT d256 L4 T128 B8 step",
      [&] { return gpt_step(is_small ? tiny : GptSizes{}, is_small ? 1 : 8, device, {}); }, 20);
  const GptSizes gpt2{
      .width = 768, .heads = 12, .layers = 12, .length = 1024, .tokens = 50257, .is_tied = true};
  const auto gpt2_within = [&](std::optional<std::int64_t> budget) {
    return [&, budget] {
      return gpt_step(is_small ? tiny : gpt2, is_small ? 1 : 8, device,
                      {.budget = is_small ? std::nullopt : budget, .precision = bfloat16});
    };
  };
  bench.add("GPT-2 small B8 T1024 bf16 step", gpt2_within(std::nullopt), 5);
  bench.add("GPT-2 small B8 T1024 bf16 step in 4096 MiB", gpt2_within(4096 * std::int64_t{MiB}), 5);
  const auto resnet_within = [&](std::optional<std::int64_t> budget) {
    return [&, budget] {
      const std::int64_t images = is_small ? 1 : 64;
      const std::int64_t side = is_small ? 32 : 224;
      auto model = is_small ? resnet({1, 1}, 4) : resnet();
      return training<nn::Sgd>(std::make_shared<nn::Sequential>(std::move(model)),
                               normal({images, side, side, 3}), randint(0, 1000, {images}), device,
                               {.budget = is_small ? std::nullopt : budget, .precision = bfloat16});
    };
  };
  bench.add("ResNet-50 b64 bf16 step", resnet_within(std::nullopt), 5);
  bench.add("ResNet-50 b64 bf16 step in 1840 MiB", resnet_within(1840 * std::int64_t{MiB}), 5);
}

}  // namespace
}  // namespace tenure::bench

int main(int argc, char** argv) try {
  constexpr int kSkipped = 77;
  for (int i = 1; i < argc; ++i) {
    const std::string_view option = argv[i];
    if (option == "--small") tenure::bench::is_small = tenure::bench::is_once = true;
    if (option == "--once") tenure::bench::is_once = true;
    if (option == "--only" && i + 1 < argc) tenure::bench::only = argv[++i];
  }
  tenure::Device device = tenure::cpu;
  try {
    device = tenure::cuda();
  } catch (const tenure::DeviceError& error) {
    std::puts(error.what());
    return kSkipped;
  }
  tenure::seed(1);
  tenure::bench::run(device);
} catch (const std::exception& error) {
  std::puts(error.what());
  return 1;
}
