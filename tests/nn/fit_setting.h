#pragma once

#include <unistd.h>

#include <filesystem>
#include <string>
#include <utility>

#include "tenure/tenure.h"

namespace tenure::test {

inline Tensor loss_of(const Tensor& prediction, const Tensor& target) {
  return cross_entropy(prediction, target);
}

inline nn::Sequential make_model() {
  seed(5);
  return nn::Sequential(nn::Dense(2, 16), nn::Tanh(), nn::Dropout(0.1), nn::Dense(16, 2));
}

/// Points inside and outside of a circle.
inline data::Dataset points(std::int64_t n) {
  Generator generator(3);
  const Tensor x = uniform({n, 2}, -1, 1, DType::float32, &generator);
  const Tensor target = cast(sum(square(x), {1}) < 0.6, DType::int64);
  return data::from_tensors({x, target});
}

/// Everything a test needs to train.
struct Setting {
  explicit Setting(nn::TrainerOptions options = {.metrics = {nn::accuracy()}})
      : model(make_model()),
        adam(model.trainable(), 0.02),
        trainer(model, loss_of, adam, std::move(options)) {}
  nn::Sequential model;
  nn::Adam adam;
  nn::Trainer trainer;
};

inline constexpr auto kQuiet = nn::Progress::none;

inline std::string temporary(const char* name) {
  return (std::filesystem::temp_directory_path() /
          (std::string("tenure_") + std::to_string(getpid()) + "_" + name))
      .string();
}

}  // namespace tenure::test
