#include <gtest/gtest.h>

#include <filesystem>
#include <memory>

#include "tenure/tenure.h"
#include "tests/nn/fit_setting.h"
#include "tests/support/expect.h"

// Callbacks that wait for better scores, and weights that are loaded into a model of another kind.

namespace tenure {
namespace {

using test::expect_throws;
using test::kQuiet;
using test::points;
using test::Setting;
using test::temporary;

std::vector<std::vector<float>> weights_of(const nn::Layer& model) {
  std::vector<std::vector<float>> all;
  for (const auto& [name, variable] : model.variables()) {
    all.push_back(variable.value().to_vector<float>());
  }
  return all;
}

TEST(ReduceOnPlateau, LowersTheRateWhenNothingGetsBetter) {
  const data::Dataset batches = points(64).batch(16);
  const auto rate_after = [&](int epochs, nn::ReduceOnPlateau::Options options) {
    Setting setting;
    setting.adam.set_learning_rate(0.5);
    options.score = "loss";
    options.least_change = 1e9;  // nothing is good enough
    options.factor = 0.5;
    nn::fit(setting.trainer, batches,
            {.epochs = epochs,
             .callbacks = {std::make_shared<nn::ReduceOnPlateau>(options)},
             .progress = kQuiet});
    return setting.adam.learning_rate();
  };
  EXPECT_EQ(rate_after(2, {.patience = 2}), 0.5);
  EXPECT_EQ(rate_after(3, {.patience = 2}), 0.25);
  EXPECT_EQ(rate_after(5, {.patience = 2}), 0.125);
  EXPECT_EQ(rate_after(5, {.patience = 2, .pause = 1}), 0.25);
  EXPECT_EQ(rate_after(6, {.patience = 2, .pause = 1}), 0.125);
  EXPECT_EQ(rate_after(5, {.patience = 1, .least_rate = 0.2}), 0.2);
}

TEST(ReduceOnPlateau, RefusesASecondMasterOfTheRate) {
  Setting setting;
  const auto plateau =
      std::make_shared<nn::ReduceOnPlateau>(nn::ReduceOnPlateau::Options{.score = "loss"});
  expect_throws<ValueError>(
      [&] {
        nn::fit(
            setting.trainer, points(32).batch(16),
            {.callbacks = {plateau}, .schedule = nn::schedule::constant(0.1), .progress = kQuiet});
      },
      {"FitOptions::schedule"});
  using Options = nn::ReduceOnPlateau::Options;
  EXPECT_THROW(nn::ReduceOnPlateau(Options{.factor = 1}), ValueError);
  EXPECT_THROW(nn::ReduceOnPlateau(Options{.patience = 0}), ValueError);
  EXPECT_THROW(nn::ReduceOnPlateau(Options{.least_rate = -1}), ValueError);
}

TEST(SaveBest, KeepsTheBestWeightsAndRestoresThem) {
  const std::string path = temporary("best.safetensors");
  const data::Dataset batches = points(128).batch(16);
  // The largest loss is that of the first epoch.
  const nn::SaveBest::Options worst{.score = "loss", .larger_is_better = true, .restore = true};
  const auto fit = [&](Setting& setting, int epochs,
                       std::vector<std::shared_ptr<nn::Callback>> callbacks) {
    seed(3);
    nn::fit(setting.trainer, batches,
            {.epochs = epochs, .callbacks = std::move(callbacks), .progress = kQuiet});
  };
  Setting one;
  fit(one, 1, {});
  Setting restored;
  fit(restored, 6, {std::make_shared<nn::SaveBest>(path, worst)});
  EXPECT_EQ(weights_of(restored.model), weights_of(one.model));
  Setting last;
  fit(last, 6, {});
  EXPECT_NE(weights_of(last.model), weights_of(one.model));
  nn::load_weights(last.model, path);
  EXPECT_EQ(weights_of(last.model), weights_of(one.model));
  std::filesystem::remove(path);
}

TEST(LoadWeights, TakesWhatFits) {
  const std::string path = temporary("lenient.safetensors");
  seed(1);
  const nn::Sequential saved(nn::Dense(3, 4), nn::Tanh(), nn::Dense(4, 2));
  nn::save_weights(saved, path);
  const nn::Sequential other(nn::Dense(3, 4), nn::Tanh(), nn::Dense(4, 5));
  const auto before = weights_of(other);
  EXPECT_THROW(nn::load_weights(other, path), nn::CheckpointError);
  EXPECT_THROW(nn::load_weights(other, path, {.cast = true}), nn::CheckpointError);
  EXPECT_EQ(weights_of(other), before);
  const nn::LoadReport report = nn::load_weights(other, path, {.partial = true});
  EXPECT_EQ(report.loaded, (std::vector<std::string>{"0/kernel", "0/bias"}));
  EXPECT_EQ(report.left_out,
            (std::vector<std::string>{"2/kernel: float32[4, 2] in the file, float32[4, 5] here",
                                      "2/bias: float32[2] in the file, float32[5] here"}));
  EXPECT_EQ(weights_of(other)[0], weights_of(saved)[0]);
  EXPECT_EQ(weights_of(other)[2], before[2]);
  const nn::Dense stranger(7, 7);
  EXPECT_THROW(nn::load_weights(stranger, path, {.partial = true}), nn::CheckpointError);

  const nn::DenseOptions narrow{.dtype = DType::bfloat16};
  const nn::Sequential half(nn::Dense(3, 4, narrow), nn::Tanh(), nn::Dense(4, 2, narrow));
  EXPECT_THROW(nn::load_weights(half, path), nn::CheckpointError);
  EXPECT_TRUE(nn::load_weights(half, path, {.cast = true}).left_out.empty());
  const Tensor expected = cast(saved.parameters()[0].variable.value(), DType::bfloat16);
  EXPECT_TRUE(all(equal(half.parameters()[0].variable.value(), expected)).item<bool>());
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace tenure
