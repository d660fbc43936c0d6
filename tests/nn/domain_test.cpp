#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

#include "tenure/tenure.h"
#include "tests/support/expect.h"

// What an argument or an option may not be is refused where the object is made, by the name of the
// argument, with the line; what it may be at most and at least is taken.

namespace tenure {
namespace {

using test::expect_throws;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr std::int64_t kHuge = std::int64_t{1} << 62;

/// Makes an object of each value.
template <class Value, class F>
void refuses(const std::string& name, const std::vector<Value>& values, const F& make) {
  for (const Value& value : values) {
    SCOPED_TRACE(name);
    SCOPED_TRACE(value);
    expect_throws<ValueError>([&] { make(value); }, {name, "domain_test.cpp"});
  }
}
template <class F>
void refuses_numbers(const std::string& name, const std::vector<double>& values, const F& make) {
  refuses<double>(name, values, make);
}
template <class F>
void refuses_sizes(const std::string& name, const std::vector<std::int64_t>& values,
                   const F& make) {
  refuses<std::int64_t>(name, values, make);
}

const std::vector<double> kNoEpsilon{-1, kNan, kInfinity, -kInfinity};
const std::vector<double> kNotFinite{kNan, kInfinity, -kInfinity};
const std::vector<std::int64_t> kNoSize{-1, 0};
const std::vector<std::int64_t> kNoWindow{-1, 0, kHuge};

TEST(Domains, OfFunctionsThatNormalizeAndAttend) {
  const Tensor x = ones({2, 4});
  const Tensor w = ones({4});
  refuses_numbers("epsilon", kNoEpsilon, [&](double e) { layer_norm(x, {.epsilon = e}); });
  refuses_numbers("epsilon", kNoEpsilon, [&](double e) { layer_norm(x, w, w, {.epsilon = e}); });
  refuses_numbers("epsilon", kNoEpsilon, [&](double e) { rms_norm(x, {.epsilon = e}); });
  refuses_numbers("epsilon", kNoEpsilon, [&](double e) { rms_norm(x, w, {.epsilon = e}); });
  refuses_numbers("epsilon", kNoEpsilon, [&](double e) { batch_norm(x, w, w, {.epsilon = e}); });
  refuses_numbers("epsilon", kNoEpsilon,
                  [&](double e) { batch_norm_with(x, w, w, w, w, {.epsilon = e}); });
  refuses_numbers("epsilon", kNoEpsilon, [&](double e) { group_norm(x, 2, w, w, {.epsilon = e}); });
  refuses_numbers("scale", kNotFinite, [&](double s) { attention(x, x, x, {.scale = s}); });
  refuses_numbers("rcond", kNotFinite, [&](double r) { pinv(x, r); });
}

TEST(Domains, OfNorms) {
  refuses_numbers("epsilon", kNoEpsilon, [](double x) { nn::LayerNorm(4, x); });
  refuses_numbers("epsilon", kNoEpsilon, [](double x) { nn::RmsNorm(4, x); });
  refuses_numbers("epsilon", kNoEpsilon, [](double x) { nn::BatchNorm(4, {.epsilon = x}); });
  refuses_numbers("epsilon", kNoEpsilon, [](double x) { nn::GroupNorm(2, 4, {.epsilon = x}); });
  refuses_numbers("epsilon", kNoEpsilon, [](double x) { nn::InstanceNorm(4, {.epsilon = x}); });
  refuses_numbers("momentum", {-0.1, 1.5, kNan, kInfinity},
                  [](double x) { nn::BatchNorm(4, {.momentum = x}); });
  refuses_sizes("width", kNoSize, [](std::int64_t n) { nn::LayerNorm{n}; });
  refuses_sizes("channels", kNoSize, [](std::int64_t n) { nn::BatchNorm{n}; });
  refuses_sizes("groups", kNoSize, [](std::int64_t n) { nn::GroupNorm(n, 4); });
  const nn::LayerNorm plain(4, 0);
  const nn::BatchNorm latest(4, {.epsilon = 0, .momentum = 1});
  const nn::BatchNorm first(4, {.momentum = 0});
}

TEST(Domains, OfConvolutions) {
  refuses_sizes("kernel", kNoWindow, [](std::int64_t n) { nn::Conv2d(4, 4, n); });
  refuses_sizes("stride", kNoWindow, [](std::int64_t n) { nn::Conv1d(4, 4, 3, {.stride = n}); });
  refuses_sizes("dilation", kNoWindow,
                [](std::int64_t n) { nn::Conv3d(4, 4, 3, {.dilation = n}); });
  refuses_sizes("padding", {-1, kHuge},
                [](std::int64_t n) { nn::Conv2d(4, 4, 3, {.padding = n}); });
  refuses_sizes("groups", kNoSize, [](std::int64_t n) { nn::Conv2d(4, 4, 3, {.groups = n}); });
  refuses_sizes("axes", {-1, 0, 4}, [](std::int64_t n) { nn::Conv(static_cast<int>(n), 4, 4, 3); });
  refuses_sizes("kernel", kNoWindow, [](std::int64_t n) { nn::ConvTranspose2d(4, 4, n); });
  refuses_sizes("stride", kNoWindow,
                [](std::int64_t n) { nn::ConvTranspose2d(4, 4, 3, {.stride = n}); });
  refuses_sizes("padding", {-1, kHuge},
                [](std::int64_t n) { nn::ConvTranspose2d(4, 4, 3, {.padding = n}); });
  refuses_sizes("output padding", {-1, 2, kHuge}, [](std::int64_t n) {
    nn::ConvTranspose2d(4, 4, 3, {.stride = 2, .output_padding = n});
  });
  expect_throws<ValueError>(
      [] {
        nn::Conv2d(4, 4, 3, {.stride = {1, 2, 3}});
      },
      {"Conv2d", "stride", "2 axes"});
  expect_throws<ShapeError>([] { nn::Conv3d(4, 4, std::int64_t{1} << 30); }, {"Conv3d"});
  const nn::Conv2d same(4, 4, 3, {.stride = 3, .padding = Padding::same(), .dilation = 2});
}

TEST(Domains, OfPooling) {
  refuses_sizes("kernel", kNoWindow, [](std::int64_t n) { nn::MaxPool2d(n); });
  refuses_sizes("stride", kNoWindow, [](std::int64_t n) { nn::AvgPool1d(2, {.stride = n}); });
  refuses_sizes("padding", {-1, 2, kHuge},
                [](std::int64_t n) { nn::MaxPool3d(2, {.padding = n}); });
  refuses_sizes("dilation", kNoWindow, [](std::int64_t n) { nn::MaxPool2d(2, {.dilation = n}); });
  refuses_sizes("size", kNoWindow, [](std::int64_t n) { nn::AdaptiveAvgPool2d(n); });
  refuses_sizes("size", kNoWindow, [](std::int64_t n) { nn::AdaptiveMaxPool1d(n); });
  refuses_sizes("factor", kNoWindow, [](std::int64_t n) { nn::Upsample(n); });
  expect_throws<ValueError>([] { nn::AvgPool2d({1, 2, 3}); }, {"AvgPool2d", "kernel", "2 axes"});
  expect_throws<ValueError>([] { nn::AdaptiveMaxPool3d({1, 2}); }, {"size", "3 axes"});
  EXPECT_EQ(nn::MaxPool2d({1, 3}, {.padding = {0, 1}})(ones({1, 4, 4, 2})).shape(),
            (Shape{1, 4, 2, 2}));
}

TEST(Domains, OfOtherLayers) {
  refuses_numbers("p", {-0.1, 1, kNan, kInfinity}, [](double p) { nn::Dropout{p}; });
  refuses_numbers("p", {-0.1, 1, kNan}, [](double p) { nn::Lstm(2, 2, {.dropout = p}); });
  refuses_numbers("initial", {kNan, kInfinity}, [](double x) { nn::PRelu(2, x); });
  refuses_sizes("inputs", kNoSize, [](std::int64_t n) { nn::Dense(n, 2); });
  refuses_sizes("units", kNoSize, [](std::int64_t n) { nn::Gru(2, n); });
  refuses_sizes("layers", kNoSize, [](std::int64_t n) { nn::Gru(2, 2, {.layers = n}); });
  refuses_sizes("heads", kNoSize, [](std::int64_t n) { nn::MultiHeadAttention(4, n); });
  refuses_numbers("deviation", kNoEpsilon, [](double x) { nn::init::normal(x); });
  refuses_numbers("value", {kNan, kInfinity}, [](double x) { nn::init::constant(x); });
  expect_throws<ValueError>([] { nn::init::uniform(1, 0); }, {"low is 1", "high"});
}

TEST(Domains, OfOptimizersAndSchedules) {
  const nn::Dense model(2, 2);
  const auto all = model.trainable();
  refuses_numbers("dampening", kNoEpsilon,
                  [&](double x) { nn::Sgd(all, 0.1, {.momentum = 0.9, .dampening = x}); });
  expect_throws<ValueError>([&] { nn::Sgd(all, 0.1, {.nesterov = true}); },
                            {"sgd: nesterov", "domain_test.cpp"});
  refuses_numbers("gradient_tolerance", kNoEpsilon,
                  [&](double x) { nn::Lbfgs(all, {.gradient_tolerance = x}); });
  refuses_numbers("rate", kNoEpsilon, [](double x) { nn::schedule::constant(x); });
  refuses_numbers("rate", kNoEpsilon, [](double x) { nn::schedule::exponential(x, 0.9); });
  refuses_numbers("factor", kNoEpsilon, [](double x) { nn::schedule::exponential(0.1, x); });
  refuses_numbers("factor", kNoEpsilon, [](double x) { nn::schedule::steps(0.1, 2, x); });
  refuses_numbers("rate", kNoEpsilon, [](double x) { nn::schedule::cosine(x, 2); });
  refuses_numbers("last", kNoEpsilon, [](double x) { nn::schedule::linear(0.1, 2, x); });
  refuses_numbers("most", kNoEpsilon, [](double x) { nn::schedule::one_cycle(x, 2); });
  refuses_numbers("rising", {0, 1, kNan},
                  [](double x) { nn::schedule::one_cycle(0.1, 4, {.rising = x}); });
}

TEST(Domains, OfTraining) {
  const nn::Dense model(2, 2);
  nn::Sgd sgd(model.trainable(), 0.1);
  const auto make = [&](const nn::TrainerOptions& options) {
    const nn::Trainer trainer(
        model, [](const Tensor& y, const Tensor& t) { return mse_loss(y, t); }, sgd, options);
  };
  refuses_numbers("clip_norm", {-1, 0, kNan}, [&](double x) { make({.clip_norm = x}); });
  refuses_numbers("recompute", {-1, kNan}, [&](double x) { make({.recompute = x}); });
  refuses_sizes("effort", kNoSize, [&](std::int64_t n) { make({.effort = static_cast<int>(n)}); });
  make({.clip_norm = kInfinity});
  refuses_numbers("least_change", {kNan, kInfinity},
                  [](double x) { nn::EarlyStopping({.least_change = x}); });
  refuses_numbers("least_change", {kNan, kInfinity},
                  [](double x) { nn::ReduceOnPlateau({.least_change = x}); });
  refuses_numbers("least_rate", kNoEpsilon,
                  [](double x) { nn::ReduceOnPlateau({.least_rate = x}); });
  refuses_sizes("pause", {-1},
                [](std::int64_t n) { nn::ReduceOnPlateau({.pause = static_cast<int>(n)}); });
}

TEST(Domains, OfFunctions) {
  const auto refused = [](const std::string& what, const auto& make) {
    expect_throws<ValueError>(make, {what, "empty", "domain_test.cpp"});
  };
  refused("kernel_initializer", [] { nn::Dense(2, 2, {.kernel_initializer = {}}); });
  refused("bias_initializer", [] { nn::Conv2d(2, 2, 3, {.bias_initializer = {}}); });
  refused("initializer", [] { nn::Embedding(2, 2, {.initializer = {}}); });
  refused("kernel_initializer", [] { nn::Lstm(2, 2, {.kernel_initializer = {}}); });
  refused("initializer", [] { nn::TransformerBlock(4, 2, {.initializer = {}}); });
  refused("Half", [] { nn::Lambda("Half", std::function<Tensor(Tensor)>()); });
  refused("Half", [] { nn::Lambda("Half", std::function<Tensor(Tensor, Site)>()); });
}

/// A limit that no float32 reaches shortens nothing.
TEST(Domains, ALimitBeyondAllFloatsShortensNothing) {
  const auto kept = nn::clip_by_global_norm({full({2}, 3)}, 1e300);
  EXPECT_EQ(kept[0].to_vector<float>(), (std::vector<float>{3, 3}));
}

}  // namespace
}  // namespace tenure
